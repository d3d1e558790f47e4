"""Serves an agent at an address that the gateway dials."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from types import TracebackType

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer

from .conversation import Act, Unavailable
from .v1 import agent_pb2, agent_pb2_grpc
from .wire import MAX_MESSAGE_BYTES, Player, describe, on_interrupt

GRACE = 5.0
"""Seconds that turns may go on after the end of serving."""
WORKERS = 512
"""Turns at once that an agent written as a plain function plays; each has a thread, further ones wait."""


def serve(act: Act, address: str, *, workers: int = WORKERS, credentials: grpc.ServerCredentials | None = None) -> None:
    """Serves the agent on host:port, with grpc.health.v1 beside it, until the process is interrupted (SIGINT, SIGTERM). Turns that
    are under way then have five seconds; threads that still run do not keep the process from ending. The connection is plain text
    unless there are credentials: grpc.ssl_server_credentials(…) is for `--agent grpcs://host:port`. Call it from the main thread.
    Raises OSError if the address cannot be listened on.
    """
    asyncio.run(_until_interrupted(act, address, workers, credentials))


async def _until_interrupted(act: Act, address: str, workers: int, credentials: grpc.ServerCredentials | None) -> None:
    stop = asyncio.Event()
    on_interrupt(stop.set)
    async with _running(act, address, workers, credentials):
        await stop.wait()


async def serve_async(act: Act, address: str, *, workers: int = WORKERS, credentials: grpc.ServerCredentials | None = None) -> None:
    """Serves like serve, on the running event loop, until it is cancelled."""
    async with _running(act, address, workers, credentials):
        await asyncio.Event().wait()


class Server:
    """An agent that is served by a thread of its own, for tests and notebooks:

    with Server(act, "localhost:0") as server:
        print(server.address)
    """

    def __init__(self, act: Act, address: str, *, workers: int = WORKERS, credentials: grpc.ServerCredentials | None = None) -> None:
        self._act, self._wanted, self._workers, self._credentials = act, address, workers, credentials
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="agent server", daemon=True)
        self.address = address
        """Where it listens; the port is chosen if 0 was asked for."""

    def __enter__(self) -> Server:
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # __enter__ raises it where the caller sees it
            self._error = error
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with _running(self._act, self._wanted, self._workers, self._credentials) as port:
            self.address = f"{self._wanted.rpartition(':')[0]}:{port}"
            self._ready.set()
            await self._stop.wait()


@contextlib.asynccontextmanager
async def _running(act: Act, address: str, workers: int, credentials: grpc.ServerCredentials | None) -> AsyncIterator[int]:
    player = Player(act, workers)
    limits = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.aio.server(options=limits)
    agent_pb2_grpc.add_AgentServiceServicer_to_server(_Service(player), server)
    health = HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    try:
        port = server.add_insecure_port(address) if credentials is None else server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise OSError(f"serve agent: {error}") from error
    await health.set("", health_pb2.HealthCheckResponse.SERVING)
    await server.start()
    try:
        yield port
    finally:
        await health.enter_graceful_shutdown()
        await server.stop(GRACE)


class _Service(agent_pb2_grpc.AgentServiceServicer):
    def __init__(self, player: Player) -> None:
        self._player = player

    async def Act(self, request: agent_pb2.ActRequest, context: grpc.aio.ServicerContext[agent_pb2.ActRequest, agent_pb2.ActResponse]) -> agent_pb2.ActResponse:
        try:
            return await self._player.turn(request)
        except Exception as error:
            code = grpc.StatusCode.UNAVAILABLE if isinstance(error, Unavailable) else grpc.StatusCode.UNKNOWN
            await context.abort(code, describe(error))
            raise AssertionError("abort raises") from error
