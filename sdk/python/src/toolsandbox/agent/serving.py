"""Serves an agent at an address that the gateway dials."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import threading
from collections.abc import AsyncIterator
from types import TracebackType

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from .conversation import Act
from .v1 import agent_pb2, agent_pb2_grpc
from .wire import MAX_MESSAGE_BYTES, Player, describe, on_interrupt, raised, refusal

GRACE = 5.0
"""Seconds that turns may continue after serving ends."""
MAX_PORT = 65535
SCHEMES = ("dns", "ipv4", "ipv6", "unix", "unix-abstract", "vsock")
"""Beginnings of addresses in gRPC's own form."""
WORKERS = 512
"""Concurrent turns of an agent that is a plain function. Each has a thread; further ones wait."""


def serve(act: Act, address: str, *, workers: int = WORKERS, credentials: grpc.ServerCredentials | None = None) -> None:
    """Serves the agent on host:port, together with grpc.health.v1, until the process is interrupted
    (SIGINT, SIGTERM). Running turns then have five seconds. Running threads do not keep the process
    alive. The connection is plain text without credentials; grpc.ssl_server_credentials(…) serves
    `--agent grpcs://host:port`. Call it from the main thread. Prints the value of `--agent` on the
    standard error. Exits the program with a one-line error if it cannot listen on the address."""
    try:
        asyncio.run(_until_interrupted(act, address, workers, credentials))
    except ListenError as error:
        sys.exit(f"toolsandbox.agent: {error}")


async def _until_interrupted(act: Act, address: str, workers: int, credentials: grpc.ServerCredentials | None) -> None:
    stop = asyncio.Event()
    on_interrupt(stop.set)
    async with _running(act, address, workers, credentials) as port:
        _announce(address, port, credentials is not None)
        await stop.wait()


async def serve_async(act: Act, address: str, *, workers: int = WORKERS, credentials: grpc.ServerCredentials | None = None) -> None:
    """Like serve, on the running event loop, until it is cancelled. Raises OSError if it cannot
    listen on the address."""
    async with _running(act, address, workers, credentials) as port:
        _announce(address, port, credentials is not None)
        await asyncio.Event().wait()


def _announce(address: str, port: int, tls: bool) -> None:
    """Prints the value of --agent that plays an agent at an address."""
    if address.partition(":")[0] in SCHEMES:
        return
    host = address.rpartition(":")[0]
    if host in ("", "0.0.0.0", "[::]"):
        host = "localhost"
    print(f"agent serves: toolsandbox run --agent grpc{'s' if tls else ''}://{host}:{port}", file=sys.stderr, flush=True)


class Server:
    """An agent that is served by a thread of its own, for tests and notebooks:

    with Server(act, "localhost:0") as server:
        print(server.address)

    Raises OSError if the address cannot be listened on.
    """

    def __init__(self, act: Act, address: str, *, workers: int = WORKERS, credentials: grpc.ServerCredentials | None = None) -> None:
        self._act, self._wanted, self._workers, self._credentials = act, address, workers, credentials
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="agent server", daemon=True)
        self.address = address
        """The address; with port 0 the chosen one."""

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
    healthy = health.aio.HealthServicer()  # type: ignore[attr-defined]  # the stubs lack it
    health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    _check(address)
    try:
        port = server.add_insecure_port(address) if credentials is None else server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise ListenError(f"cannot listen on {address}: {error}") from error
    await healthy.set("", health_pb2.HealthCheckResponse.SERVING)
    await server.start()
    try:
        yield port
    finally:
        await healthy.enter_graceful_shutdown()
        await server.stop(GRACE)


class ListenError(OSError):
    """The address cannot be listened on."""


def _check(address: str) -> None:
    """Raises ListenError with the reason if it cannot listen on host:port. gRPC itself hides the
    reason, or logs it."""
    if address.partition(":")[0] in SCHEMES:
        return
    host, port = split(address)
    if port is None:
        raise ListenError(f"cannot listen on {address!r}: expected host:port, e.g. localhost:9000")
    reason: Exception | None = None
    try:
        found = socket.getaddrinfo(host.strip("[]") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        found, reason = [], error
    for family, kind, protocol, _, at in found:
        try:
            with socket.socket(family, kind, protocol) as tried:
                if sys.platform != "win32":  # where it lets two programs have one port
                    tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(at)
                return
        except OSError as error:
            reason = error
    text = getattr(reason, "strerror", None) or str(reason)
    raise ListenError(f"cannot listen on {address}: {text}") from reason


def split(address: str) -> tuple[str, int | None]:
    """The host and the port of host:port. The port is None if it is missing or is no port."""
    host, separator, port = address.rpartition(":")
    valid = bool(separator) and port.isascii() and port.isdigit() and int(port) <= MAX_PORT
    return host, int(port) if valid else None


class _Service(agent_pb2_grpc.AgentServiceServicer):
    def __init__(self, player: Player) -> None:
        self._player = player

    async def Act(self, request: agent_pb2.ActRequest, context: grpc.aio.ServicerContext[agent_pb2.ActRequest, agent_pb2.ActResponse]) -> agent_pb2.ActResponse:
        try:
            return await self._player.turn(request)
        except Exception as error:
            if (code := refusal(error)) is None:
                return agent_pb2.ActResponse(raised=raised(error))
            await context.abort(code, describe(error))
            raise AssertionError("abort raises") from error
