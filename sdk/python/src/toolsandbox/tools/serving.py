"""Serves tools at an address that the tool host dials."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from types import TracebackType
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from .tool import Tool, World, registered
from .v1 import tools_pb2, tools_pb2_grpc

GRACE = 5.0
"""Seconds that calls may continue after the end of serving."""
MAX_MESSAGE_BYTES = 16 << 20
WORKERS = 32
"""Calls at once; further ones wait."""


def serve(address: str, tools: Sequence[Tool] | None = None, *, workers: int = WORKERS, credentials: grpc.ServerCredentials | None = None) -> None:
    """Serves the tools, all decorated ones unless some are given, on host:port, with grpc.health.v1 beside them, until the process is
    interrupted (SIGINT, SIGTERM). The connection is plain text unless there are credentials. Ends the program with one line if the
    address cannot be listened on. Call it from the main thread.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with Server(address, tools, workers=workers, credentials=credentials):
            stop.wait()
    except OSError as error:
        sys.exit(f"toolsandbox.tools: {error}")


class Server:
    """Tools that are served until the block ends, for tests:

    with Server("localhost:0") as server:
        print(server.address)

    Raises OSError if the address cannot be listened on, ValueError if two tools have one name.
    """

    def __init__(
        self, address: str, tools: Sequence[Tool] | None = None, *, workers: int = WORKERS, credentials: grpc.ServerCredentials | None = None
    ) -> None:
        served = list(registered if tools is None else tools)
        by_name: dict[str, Tool] = {}
        for tool in served:
            if by_name.setdefault(tool.declared.name, tool) is not tool:
                raise ValueError(f"two tools are called {tool.declared.name}")
        self._server = grpc.server(
            _Threads(workers),
            options=[
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.so_reuseport", 0),
            ],
        )
        tools_pb2_grpc.add_ToolServiceServicer_to_server(_Service(by_name), self._server)
        healthy = health.HealthServicer()
        healthy.set("", health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(healthy, self._server)
        try:
            port = self._server.add_insecure_port(address) if credentials is None else self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {address}: {error}") from error
        self.address = f"{address.rpartition(':')[0]}:{port}"
        """Where it listens; the port is chosen if 0 was asked for."""

    def __enter__(self) -> Server:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.stop(GRACE).wait()


class _Threads(futures.ThreadPoolExecutor):
    """Daemon threads, one for each call, so that a call that hangs does not keep the process alive."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._free = threading.Semaphore(workers)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        future: futures.Future[Any] = futures.Future()

        def run() -> None:
            with self._free:
                try:
                    future.set_result(function(*args, **kwargs))
                except BaseException as error:  # the future's owner sees it
                    future.set_exception(error)

        threading.Thread(target=run, name="tool call", daemon=True).start()
        return future


class _Service(tools_pb2_grpc.ToolServiceServicer):
    def __init__(self, tools: dict[str, Tool]) -> None:
        self._tools = tools

    def ListTools(self, request: Any, context: grpc.ServicerContext) -> tools_pb2.ListToolsResponse:  # noqa: N802
        return tools_pb2.ListToolsResponse(tools=[tool.declared for tool in self._tools.values()])

    def Call(self, request: Any, context: grpc.ServicerContext) -> tools_pb2.CallResponse:  # noqa: N802
        tool = self._tools.get(request.tool)
        if tool is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no tool {request.tool}")
            raise AssertionError  # abort has raised
        world = World(json.loads(request.rows_json), request.now if request.HasField("now") else None, request.ids)
        return tool.call(request.arguments_json, world)
