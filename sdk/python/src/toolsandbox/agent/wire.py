"""Translates between the wire and what an agent sees, and runs the agent."""

from __future__ import annotations

import asyncio
import inspect
import json
from concurrent.futures import ThreadPoolExecutor

from .conversation import Act, Conversation, Message, Reply, Speaker, Tool, ToolCall
from .v1 import agent_pb2

MAX_MESSAGE_BYTES = 16 << 20
"""The largest message on the wire in either direction."""

_SPEAKERS = {
    agent_pb2.SPEAKER_SYSTEM: Speaker.SYSTEM,
    agent_pb2.SPEAKER_USER: Speaker.USER,
    agent_pb2.SPEAKER_AGENT: Speaker.AGENT,
    agent_pb2.SPEAKER_TOOL: Speaker.TOOL,
}


def conversation(request: agent_pb2.ActRequest) -> Conversation:
    """What the agent sees. Raises ValueError for a speaker that this version does not know or parameters that are no JSON."""
    return Conversation(
        id=request.conversation_id,
        turn=request.turn,
        messages=tuple(_message(m) for m in request.messages),
        tools=tuple(Tool(t.name, t.description, json.loads(t.parameters_json or "{}")) for t in request.tools),
    )


def _message(m: agent_pb2.Message) -> Message:
    if m.speaker not in _SPEAKERS:
        raise ValueError(f"unknown speaker {m.speaker}; a newer toolsandbox-agent may know it")
    return Message(
        speaker=_SPEAKERS[m.speaker],
        text=m.text,
        calls=tuple(ToolCall(c.name, c.arguments_json, c.id) for c in m.calls),
        call_id=m.call_id,
        tool_name=m.tool_name,
        failed=m.failed,
    )


def response(reply: object) -> agent_pb2.ActResponse:
    """What goes back. Raises TypeError for anything that is no Reply."""
    if not isinstance(reply, Reply):
        raise TypeError(f"the agent returned {type(reply).__name__}, expected a Reply: use say, call or calls")
    many = [agent_pb2.ToolCall(id=c.id, name=c.name, arguments_json=c.arguments) for c in reply.calls]
    return agent_pb2.ActResponse(text=reply.text, calls=many)


class Player:
    """Runs an agent for many conversations at once: a coroutine function on the event loop, any other in threads."""

    def __init__(self, act: Act, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"workers: {workers} given, expected at least 1")
        self._act = act
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="agent")

    async def turn(self, request: agent_pb2.ActRequest) -> agent_pb2.ActResponse:
        """One turn. Raises what the agent raises."""
        seen = conversation(request)
        if _is_coroutine_function(self._act):
            reply = self._act(seen)
        else:
            reply = await asyncio.get_running_loop().run_in_executor(self._threads, self._act, seen)
        if inspect.isawaitable(reply):
            reply = await reply
        return response(reply)

    def close(self) -> None:
        """Frees the threads; turns that are under way end on their own."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _is_coroutine_function(act: Act) -> bool:
    return inspect.iscoroutinefunction(act) or inspect.iscoroutinefunction(getattr(act, "__call__", None))


def describe(error: BaseException) -> str:
    """What a person reads about an exception of the agent."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
