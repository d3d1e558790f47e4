"""Attaches an agent that cannot be dialled: opens one stream to the gateway and answers the turns
of many conversations on it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import random
import sys
import uuid
from typing import TYPE_CHECKING

import grpc

from .conversation import Act
from .serving import SCHEMES, WORKERS, split
from .v1 import agent_pb2, agent_pb2_grpc
from .wire import MAX_MESSAGE_BYTES, Player, describe, log, on_interrupt, raised, refusal

if TYPE_CHECKING:
    from collections.abc import Coroutine

    _Stream = grpc.aio.StreamStreamCall[agent_pb2.AttachRequest, agent_pb2.AttachResponse]

FIRST_WAIT = 0.5
"""Upper bound in seconds of the wait before the second connection attempt."""
LONGEST_WAIT = 10.0
"""Upper bound in seconds of the wait between connection attempts."""

_FINAL = (
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.UNIMPLEMENTED,
)


TOKEN_VARIABLE = "TOOLSANDBOX_ATTACH_TOKEN"
"""Environment variable with the token. TOKEN_VARIABLE_FILE names a file with it."""

_SOFTWARE = f"toolsandbox-python {platform.python_implementation()} {platform.python_version()}, grpcio {grpc.__version__}"


class AttachError(Exception):
    """The gateway rejects the agent, e.g. because its name is malformed or its token is wrong."""


def attach(
    act: Act,
    gateway: str,
    name: str,
    *,
    workers: int = WORKERS,
    credentials: grpc.ChannelCredentials | None = None,
    token: str | None = None,
    instance: str | None = None,
) -> None:
    """Attaches the agent under a name to the gateway until the process is interrupted (SIGINT,
    SIGTERM). `toolsandbox run --agent attached:NAME` plays it. Agents with the same name share its
    conversations, so choose a unique name. Call it from the main thread. Prints the value of
    `--agent` on the standard error. Raises AttachError if the gateway rejects the agent.

    The gateway is host:port or grpc://host:port for plain text, or grpcs://host:port for TLS with
    gRPC's bundled authorities. credentials, e.g. grpc.ssl_channel_credentials(root_certificates),
    turn TLS on with your own authority. Raises ValueError for an address of another form, which gRPC
    would retry for ever, or would dial at another port.

    token is the secret of the name, of 16 to 512 characters of printable ASCII, e.g. from openssl
    rand -hex 32; None means the environment variable TOOLSANDBOX_ATTACH_TOKEN, or else the file
    that TOOLSANDBOX_ATTACH_TOKEN_FILE names. The same token in one of these variables of
    `toolsandbox run` keeps everybody else away. The connection carries it, so use TLS unless it
    stays on one machine. Raises ValueError for a token that cannot be sent.

    instance is an id of this process for the run's files, of at most 64 letters, digits, dots, _
    and -. None means a random one.

    A lost stream is reopened with exponential backoff from half a second to ten, for as long as it
    takes, and that is logged. The gateway retries the turns of a lost stream. An interrupt
    cancels them. Running threads do not keep the process alive.
    """
    asyncio.run(_until_interrupted(attach_async(act, gateway, name, workers=workers, credentials=credentials, token=token, instance=instance)))


async def _until_interrupted(attaching: Coroutine[None, None, None]) -> None:
    attached = asyncio.ensure_future(attaching)
    on_interrupt(attached.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await attached


async def attach_async(
    act: Act,
    gateway: str,
    name: str,
    *,
    workers: int = WORKERS,
    credentials: grpc.ChannelCredentials | None = None,
    token: str | None = None,
    instance: str | None = None,
) -> None:
    """Like attach, on the running event loop, until it is cancelled."""
    first = agent_pb2.AttachRequest(name=name, instance=instance or uuid.uuid4().hex[:16], software=_SOFTWARE)
    metadata = _metadata(token)
    player = Player(act, workers)
    async with _channel(gateway, credentials) as channel:
        print(f"agent attaches to {gateway}: toolsandbox run --agent attached:{name}", file=sys.stderr, flush=True)
        wait = FIRST_WAIT
        while True:
            asked, reason = await _session(channel, first, metadata, player)
            if asked:
                wait = FIRST_WAIT
            log.warning("not attached to %s as %s, retrying: %s", gateway, name, reason)
            await asyncio.sleep(wait * random.uniform(0.5, 1))
            wait = min(2 * wait, LONGEST_WAIT)


def _metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    """Returns the metadata with the token. White space around it does not count. An error does not
    repeat it."""
    source = "token"
    if token is None:
        source = TOKEN_VARIABLE
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        file = os.environ.get(f"{TOKEN_VARIABLE}_FILE", "")
        if not token and not file:
            return ()
        if not token:
            source = f"{TOKEN_VARIABLE}_FILE, {file}"
            with open(file, encoding="utf-8") as opened:
                token = opened.read()
    token = token.strip()
    if not token:
        raise ValueError(f"{source}: empty, expected a token")
    if not all("!" <= character <= "~" for character in token):
        raise ValueError(f"{source}: expected printable ASCII without blanks")
    return (("authorization", f"Bearer {token}"),)


def _channel(gateway: str, credentials: grpc.ChannelCredentials | None) -> grpc.aio.Channel:
    options = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.initial_reconnect_backoff_ms", int(FIRST_WAIT * 1000)),
        ("grpc.max_reconnect_backoff_ms", int(LONGEST_WAIT * 500)),
    ]
    scheme, separator, address = gateway.partition("://")
    if not separator or scheme not in ("grpc", "grpcs"):
        address = gateway
    elif scheme == "grpcs" and credentials is None:
        credentials = grpc.ssl_channel_credentials()
    host, port = split(address)
    if address.partition(":")[0] not in SCHEMES and (not port or not host or any(c in "/@ " for c in host)):
        raise ValueError(f"gateway {gateway!r}: expected host:port, grpc://host:port or grpcs://host:port")
    if credentials is None:
        return grpc.aio.insecure_channel(address, options=options)
    return grpc.aio.secure_channel(address, credentials, options=options)


async def _session(channel: grpc.aio.Channel, first: agent_pb2.AttachRequest, metadata: tuple[tuple[str, str], ...], player: Player) -> tuple[bool, str]:
    """Serves one stream until it ends. Returns whether the gateway sent any request on it, and why
    it ended."""
    answers: asyncio.Queue[agent_pb2.AttachRequest] = asyncio.Queue()
    answers.put_nowait(first)
    turns: set[asyncio.Task[None]] = set()
    asked, reason = False, "the gateway ended the stream"
    stream = agent_pb2_grpc.AttachServiceStub(channel).Attach(metadata=metadata)
    sending = asyncio.ensure_future(_send(stream, answers))
    try:
        async for request in stream:
            asked = True
            turn = asyncio.ensure_future(_answer(player, request, answers))
            turns.add(turn)
            turn.add_done_callback(turns.discard)
    except grpc.aio.AioRpcError as error:
        reason = f"{error.code().name}: {error.details()}"
        if error.code() in _FINAL:
            raise AttachError(f"attach {first.name}: {reason}") from error
    finally:
        sending.cancel()
        for turn in turns:  # the gateway retries on the next stream
            turn.cancel()
    return asked, reason


async def _send(stream: _Stream, answers: asyncio.Queue[agent_pb2.AttachRequest]) -> None:
    """Sends until it is cancelled or the stream ends. After that gRPC would never resume an
    iterator of requests."""
    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # reading returns the error
        while True:
            await stream.write(await answers.get())


async def _answer(player: Player, asked: agent_pb2.AttachResponse, answers: asyncio.Queue[agent_pb2.AttachRequest]) -> None:
    """Plays one turn within the gateway's timeout. The gateway ignores later answers."""
    turn = asyncio.ensure_future(player.turn(asked.request))
    try:
        await asyncio.wait({turn}, timeout=asked.timeout_ms / 1000 or None)
    finally:
        turn.cancel()  # does nothing if it is done
    if not turn.done():
        log.warning("turn %d of conversation %s: given up after %d ms", asked.request.turn, asked.request.conversation_id, asked.timeout_ms)
        return
    answer = agent_pb2.AttachAnswer(request_id=asked.request_id)
    error = turn.exception()
    if error is None:
        answer.response.CopyFrom(turn.result())
    elif isinstance(error, Exception) and (code := refusal(error)) is not None:
        answer.error, answer.code = describe(error), code.value[0]
    else:
        answer.response.raised.CopyFrom(raised(error))
    answers.put_nowait(agent_pb2.AttachRequest(answer=answer))
