"""Attaches an agent that cannot be dialled: it opens one stream to the gateway and serves many conversations on it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from collections.abc import AsyncIterator

import grpc

from .conversation import Act
from .serving import WORKERS
from .v1 import agent_pb2, agent_pb2_grpc
from .wire import MAX_MESSAGE_BYTES, Player, describe

LONGEST_WAIT = 30.0
"""Seconds between two attempts to reach the gateway, at most."""

_FINAL = (
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNIMPLEMENTED,
)


class AttachError(Exception):
    """The gateway refuses the agent, e.g. because its name is malformed."""


def attach(act: Act, gateway: str, name: str, *, workers: int = WORKERS, credentials: grpc.ChannelCredentials | None = None) -> None:
    """Attaches the agent under a name to the gateway at host:port until the process is interrupted (SIGINT, SIGTERM). A lost
    stream is opened again. Then `toolsandbox run --agent attached:NAME` plays it. Without credentials the connection is plain.
    Call it from the main thread. Raises AttachError if the gateway refuses the agent.
    """
    asyncio.run(_until_interrupted(act, gateway, name, workers, credentials))


async def _until_interrupted(act: Act, gateway: str, name: str, workers: int, credentials: grpc.ChannelCredentials | None) -> None:
    attached = asyncio.ensure_future(attach_async(act, gateway, name, workers=workers, credentials=credentials))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, attached.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await attached


async def attach_async(act: Act, gateway: str, name: str, *, workers: int = WORKERS, credentials: grpc.ChannelCredentials | None = None) -> None:
    """Attaches like attach, on the running event loop, until it is cancelled."""
    player = Player(act, workers)
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES), ("grpc.keepalive_time_ms", 30_000)]
    try:
        async with _channel(gateway, credentials, options) as channel:
            wait = 0.5
            while True:
                if await _session(channel, name, player):
                    wait = 0.5
                await asyncio.sleep(wait * random.uniform(0.5, 1))
                wait = min(2 * wait, LONGEST_WAIT)
    finally:
        player.close()


def _channel(gateway: str, credentials: grpc.ChannelCredentials | None, options: list[tuple[str, int]]) -> grpc.aio.Channel:
    if credentials is None:
        return grpc.aio.insecure_channel(gateway, options=options)
    return grpc.aio.secure_channel(gateway, credentials, options=options)


async def _session(channel: grpc.aio.Channel, name: str, player: Player) -> bool:
    """One stream until it ends. Says whether the gateway asked anything on it."""
    answers: asyncio.Queue[agent_pb2.AttachRequest] = asyncio.Queue()
    answers.put_nowait(agent_pb2.AttachRequest(name=name))
    turns: set[asyncio.Task[None]] = set()
    asked = False
    try:
        async for request in agent_pb2_grpc.AttachServiceStub(channel).Attach(_outgoing(answers)):
            asked = True
            turn = asyncio.ensure_future(_answer(player, request, answers))
            turns.add(turn)
            turn.add_done_callback(turns.discard)
    except grpc.aio.AioRpcError as error:
        if error.code() in _FINAL:
            raise AttachError(f"attach {name}: {error.code().name}: {error.details()}") from error
    finally:
        for turn in turns:  # the gateway asks again on the next stream
            turn.cancel()
    return asked


async def _outgoing(answers: asyncio.Queue[agent_pb2.AttachRequest]) -> AsyncIterator[agent_pb2.AttachRequest]:
    while True:
        yield await answers.get()


async def _answer(player: Player, asked: agent_pb2.AttachResponse, answers: asyncio.Queue[agent_pb2.AttachRequest]) -> None:
    answer = agent_pb2.AttachAnswer(request_id=asked.request_id)
    try:
        answer.response.CopyFrom(await player.turn(asked.request))
    except Exception as error:
        answer.error = describe(error)
    answers.put_nowait(agent_pb2.AttachRequest(answer=answer))
