"""What an agent sees and what it answers."""

from __future__ import annotations

import enum
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, Union


class Speaker(enum.Enum):
    """Who wrote a message."""

    SYSTEM = "system"
    """Gives instructions."""
    USER = "user"
    """Whom the agent helps."""
    AGENT = "agent"
    """The agent itself."""
    TOOL = "tool"
    """The answer to a call."""
    NOTIFICATION = "notification"
    """The phone, which tells something that nobody asked for at this moment, e.g. that a timer is over. It answers no call."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool."""

    name: str
    """The tool's name, as in Conversation.tools."""
    arguments: Union[Mapping[str, Any], str] = field(default_factory=dict)
    """The arguments by name. A str is what a model wrote, sent as it is; empty stands for no arguments. In a conversation it is a
    dict, unless what was written is no JSON object: then it is that text."""
    id: str = ""
    """Unique within the turn. Empty lets the gateway choose one."""

    @classmethod
    def of(cls, name: str, /, **arguments: Any) -> ToolCall:
        """A call with arguments given by name. Raises TypeError or ValueError for what JSON cannot write, NaN among it."""
        json.dumps(arguments, allow_nan=False)
        return cls(name, arguments)

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text, or as the text that they are. Raises TypeError or ValueError for what JSON cannot write."""
        if isinstance(self.arguments, str):
            return self.arguments if self.arguments.strip() else "{}"
        return json.dumps(dict(self.arguments), allow_nan=False)


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    speaker: Speaker
    text: str = ""
    """What was said; of a tool the printed result in Python's syntax, or the error."""
    calls: tuple[ToolCall, ...] = ()
    """The calls that the agent made. Only for Speaker.AGENT."""
    call_id: str = ""
    """The id of the call that this answers. Only for Speaker.TOOL."""
    tool_name: str = ""
    """The tool that answers. Only for Speaker.TOOL."""
    failed: bool = False
    """Whether the call failed. Only for Speaker.TOOL."""
    value: Any = None
    """What the tool returned, as json.loads reads it; text is its printed form. None if the call failed, for code, and for a tool that
    returns nothing. Only for Speaker.TOOL."""
    code: Optional[str] = None
    """Python source that the agent sent. Only for Speaker.AGENT."""


@dataclass(frozen=True)
class Tool:
    """A tool that the agent may call."""

    name: str
    """How to call it. In some scenarios it says nothing about what the tool does."""
    description: str = ""
    """What the tool does; empty in some scenarios."""
    parameters: Mapping[str, Any] | None = None
    """The JSON Schema (type object) of its arguments."""


@dataclass(frozen=True)
class Conversation:
    """All that an agent sees. It is immutable."""

    id: str
    """The same for all turns of one conversation."""
    turn: int
    """How many turns the agent has taken, from 0."""
    messages: tuple[Message, ...]
    """The conversation so far, in order."""
    tools: tuple[Tool, ...]
    """The tools that the agent may call, in order."""

    @property
    def last(self) -> Message:
        """The newest message: the one to react to. Raises IndexError for an empty conversation."""
        return self.messages[-1]

    def tool(self, name: str) -> Tool | None:
        """The tool of that name, None if there is none."""
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True)
class Reply:
    """One turn of an agent: a text for the user, calls, or code. Make it with say, call, calls or code. Calls win over code, and code
    over text."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    code: Optional[str] = None


Act = Callable[[Conversation], Union[Reply, Awaitable[Reply]]]
"""What a team implements. It may be asked for the same turn of a conversation again after a lost connection. An exception, SystemExit
among them, ends this one conversation with a score of 0, and its traceback is logged; Unavailable has the turn asked again. A coroutine
function is cancelled when nobody waits for its turn any more, and must not block the event loop, which all conversations share. A
plain function goes on in its thread, so give what it waits for a time limit."""


class Unavailable(Exception):
    """Raise it when the agent cannot answer now, through no fault of its own: the gateway asks for the turn again, a few times, with growing
    waits, and in the end the conversation has no score."""


def say(text: str) -> Reply:
    """A turn that says something to the user."""
    return Reply(text=text)


def call(name: str, /, **arguments: Any) -> Reply:
    """A turn that calls one tool. Raises TypeError or ValueError for arguments that JSON cannot write."""
    return Reply(calls=(ToolCall.of(name, **arguments),))


def calls(*many: ToolCall) -> Reply:
    """A turn that calls several tools at once. They are executed as one batch, in no certain order."""
    return Reply(calls=many)


def code(source: str) -> Reply:
    """A turn that runs Python source in the session, with the tools as functions. The next message has what it printed, or the error that
    ended it."""
    return Reply(code=source)
