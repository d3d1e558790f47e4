"""Converts between the wire and an agent's types, and runs the agent."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
import math
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, Union

import grpc

from .conversation import Act, Conversation, Message, Reply, Speaker, Tool, ToolCall, Unavailable
from .v1 import agent_pb2

MAX_MESSAGE_BYTES = 16 << 20
"""The largest message on the wire in either direction."""
MAX_ANSWER_BYTES = 4 << 20
"""The largest turn, as at the gateway."""
MAX_ERROR_CHARACTERS = 4096
"""The longest error text of a failed turn."""

_Given = TypeVar("_Given")

log = logging.getLogger("toolsandbox.agent")
"""Logs failed turns with tracebacks, and lost connections. Unconfigured, Python writes them to
stderr."""

_SPEAKERS = {
    agent_pb2.SPEAKER_SYSTEM: Speaker.SYSTEM,
    agent_pb2.SPEAKER_USER: Speaker.USER,
    agent_pb2.SPEAKER_AGENT: Speaker.AGENT,
    agent_pb2.SPEAKER_TOOL: Speaker.TOOL,
    agent_pb2.SPEAKER_NOTIFICATION: Speaker.NOTIFICATION,
}


def conversation(request: agent_pb2.ActRequest) -> Conversation:
    """The agent's view of a request. Raises Unreadable for an unknown speaker or invalid
    parameters."""
    try:
        return Conversation(
            id=request.conversation_id,
            turn=request.turn,
            messages=tuple(_message(m) for m in request.messages),
            tools=tuple(Tool(t.name, t.description, json.loads(t.parameters_json or "{}")) for t in request.tools),
            traceparent=request.traceparent,
        )
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def _message(m: agent_pb2.Message) -> Message:
    if m.speaker not in _SPEAKERS:
        raise ValueError(f"unknown speaker {m.speaker}; a newer toolsandbox may know it")
    return Message(
        speaker=_SPEAKERS[m.speaker],
        text=m.text,
        calls=tuple(ToolCall(c.name, _arguments(c.arguments_json), c.id) for c in m.calls),
        call_id=m.call_id,
        tool_name=m.tool_name,
        failed=m.failed,
        value=json.loads(m.value_json) if m.HasField("value_json") else None,
        code=m.code if m.HasField("code") else None,
    )


def _arguments(text: str) -> Union[dict[str, Any], str]:
    """A JSON object as a dict. Any other text, and one with a number outside the float range,
    verbatim."""
    try:
        value = json.loads(text, parse_float=_finite)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def response(reply: object) -> agent_pb2.ActResponse:
    """The response for a reply. Raises TypeError for anything but a Reply of texts, ValueError for
    a too long turn."""
    if not isinstance(reply, Reply):
        raise TypeError(f"the agent returned {type(reply).__name__}, expected a Reply: use say, call, calls or code")
    try:
        made = tuple(reply.calls)
    except TypeError as error:
        raise TypeError(f"the agent's reply: calls is {type(reply.calls).__name__}, expected ToolCalls") from error
    for call in made:
        if not isinstance(call, ToolCall):
            raise TypeError(f"the agent's reply: a call is {type(call).__name__}, expected a ToolCall")
        if not isinstance(call.arguments, (str, Mapping)):
            raise TypeError(f"the agent's reply: arguments of a call is {type(call.arguments).__name__}, expected a mapping or str")
    texts = [("text", reply.text), *((f"{part} of a call", getattr(c, part)) for c in made for part in ("name", "id"))]
    for what, text in texts if reply.code is None else [*texts, ("code", reply.code)]:
        if not isinstance(text, str):
            raise TypeError(f"the agent's reply: {what} is {type(text).__name__}, expected str")
    if not isinstance(reply.confidence, (int, float, type(None))):
        raise TypeError(f"the agent's reply: confidence is {type(reply.confidence).__name__}, expected a number from 0 to 1")
    answer = agent_pb2.ActResponse(
        text=reply.text, calls=[agent_pb2.ToolCall(id=c.id, name=c.name, arguments_json=c.arguments_json) for c in made], code=reply.code,
        confidence=reply.confidence,
    )
    if answer.ByteSize() > MAX_ANSWER_BYTES:
        raise ValueError(f"the turn has {answer.ByteSize()} bytes, expected at most {MAX_ANSWER_BYTES}")
    return answer


class Unreadable(Exception):
    """This version cannot read the gateway's request. The agent is not at fault."""


class Contained(RuntimeError):
    """Replaces an exception that would end more than one conversation."""


class Player:
    """Runs an agent for many conversations concurrently: a coroutine function on the event loop,
    any other in threads."""

    def __init__(self, act: Act, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"workers: {workers} given, expected at least 1")
        if not callable(act):
            raise TypeError(f"the agent is {type(act).__name__}, expected a function of a conversation")
        self._act = act
        self._workers = asyncio.Semaphore(workers)

    async def turn(self, request: agent_pb2.ActRequest) -> agent_pb2.ActResponse:
        """Plays one turn. Raises and logs the agent's exception, always as an Exception."""
        try:
            return response(await self._reply(conversation(request)))
        except Unreadable as error:
            log.error("turn %d of conversation %s cannot be read: %s", request.turn, request.conversation_id, error)
            raise
        except Unavailable as error:
            log.warning("turn %d of conversation %s: the agent is unavailable, the gateway retries: %s", request.turn, request.conversation_id, error)
            raise
        except Exception:
            log.exception("turn %d of conversation %s failed", request.turn, request.conversation_id)
            raise

    async def _reply(self, seen: Conversation) -> object:
        if is_coroutine_function(self._act):
            reply: object = self._act(seen)
        else:
            async with self._workers:  # a cancelled turn releases its worker, even if its thread continues
                reply = await in_thread(self._act, seen)
        return await _awaited(reply) if inspect.isawaitable(reply) else reply


async def in_thread(function: Callable[[_Given], object], given: _Given) -> object:
    """Calls a plain function in its own daemon thread."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()

    def finish(reply: object, error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result((reply, error))

    def run() -> None:
        reply: object = None
        failed: BaseException | None = None
        try:
            reply = function(given)
        except BaseException as error:
            failed = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing awaits the result
            loop.call_soon_threadsafe(finish, reply, failed)

    try:
        threading.Thread(target=run, name="agent turn", daemon=True).start()
    except RuntimeError as cause:  # too many threads, in this process or on the machine
        raise Unavailable(str(cause)) from cause
    reply, error = await outcome
    if error is not None:
        raise contained(error)
    return reply


async def _awaited(reply: Awaitable[object]) -> object:
    """Awaits a coroutine of the agent in its own task, so that a cancellation from within only
    fails the turn."""

    async def run() -> object:
        try:
            return await reply
        except (SystemExit, KeyboardInterrupt) as error:  # they would end the event loop with all conversations
            raise contained(error) from error

    task = asyncio.ensure_future(run())
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.cancelled():
        raise RuntimeError("the agent's coroutine was cancelled")
    return task.result()


def contained(error: BaseException) -> Exception:
    """What an agent raised, as an exception that ends its conversation alone."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    contained = Contained(f"the agent raised {describe(error)}")
    contained.__cause__ = error
    return contained


def is_coroutine_function(function: Callable[..., object]) -> bool:
    """Whether a call of the function returns a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def raised(error: BaseException) -> agent_pb2.Raised:
    """What the gateway learns about an exception of the agent's own code."""
    if isinstance(error, Contained) and error.__cause__ is not None:
        error = error.__cause__
    return agent_pb2.Raised(exception_type=_sendable(type(error).__name__), text=_sendable(_text(error)))


def refusal(error: Exception) -> grpc.StatusCode | None:
    """The status that a turn ends with; None if the agent's own code failed, which is an answer."""
    if isinstance(error, Unavailable):
        return grpc.StatusCode.UNAVAILABLE
    if isinstance(error, Unreadable):
        return grpc.StatusCode.UNIMPLEMENTED
    return None


def describe(error: BaseException) -> str:
    """What a person reads about an exception."""
    return _sendable(": ".join(part for part in (type(error).__name__, _text(error)) if part))


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "its text cannot be read"


def _sendable(text: str) -> str:
    if len(text) > MAX_ERROR_CHARACTERS:
        text = text[:MAX_ERROR_CHARACTERS] + "…"
    return text.encode("utf-8", "replace").decode()


def on_interrupt(stop: Callable[[], object]) -> None:
    """Calls stop for SIGINT and SIGTERM, where the event loop can (not on Windows). For the main thread."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stop)
