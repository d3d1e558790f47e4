"""The input and output of an agent."""

from __future__ import annotations

import enum
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Optional, Union


class Speaker(enum.Enum):
    """The author of a message."""

    SYSTEM = "system"
    """The author of instructions."""
    USER = "user"
    """The person whom the agent helps."""
    AGENT = "agent"
    """The agent itself."""
    TOOL = "tool"
    """The result of a call."""
    NOTIFICATION = "notification"
    """The phone, which tells something that nobody asked for at this moment, e.g. that a timer is over. It answers no call."""


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool."""

    name: str
    """The tool's name, as in Conversation.tools."""
    arguments: Union[Mapping[str, Any], str] = field(default_factory=dict)
    """The arguments by name. A str is a model's text and is sent verbatim; empty means no
    arguments. In a conversation it is a dict, or a text if the model wrote no JSON object."""
    id: str = ""
    """Unique within the turn. If it is empty, the gateway chooses one."""

    @classmethod
    def of(cls, name: str, /, **arguments: Any) -> ToolCall:
        """A call with keyword arguments. Raises TypeError or ValueError for values that JSON cannot
        represent, including NaN."""
        json.dumps(arguments, allow_nan=False)
        return cls(name, arguments)

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text, or verbatim if they are text. Raises TypeError or ValueError
        for values that JSON cannot represent."""
        if isinstance(self.arguments, str):
            return self.arguments if self.arguments.strip() else "{}"
        return json.dumps(dict(self.arguments), allow_nan=False)


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    speaker: Speaker
    text: str = ""
    """The text. For a tool the result as Python prints it, or the error."""
    calls: tuple[ToolCall, ...] = ()
    """The agent's calls. Only for Speaker.AGENT."""
    call_id: str = ""
    """The id of the call that this message answers. Only for Speaker.TOOL."""
    tool_name: str = ""
    """The called tool. Only for Speaker.TOOL."""
    failed: bool = False
    """Whether the call failed. Only for Speaker.TOOL."""
    value: Any = None
    """The tool's return value, decoded from JSON; text is its printed form. None if the call
    failed, for code, and for a tool that returns nothing. Only for Speaker.TOOL."""
    code: Optional[str] = None
    """Python source that the agent sent. Only for Speaker.AGENT."""


@dataclass(frozen=True)
class Tool:
    """A tool that the agent may call."""

    name: str
    """The name to call it by. In some scenarios it does not describe the tool."""
    description: str = ""
    """The description. Empty in some scenarios."""
    parameters: Mapping[str, Any] | None = None
    """The JSON Schema (type object) of its arguments."""


@dataclass(frozen=True)
class Conversation:
    """Everything that an agent sees. It is immutable."""

    id: str
    """The same for all turns of one conversation."""
    turn: int
    """The number of turns that the agent has already taken."""
    messages: tuple[Message, ...]
    """The conversation so far, in order."""
    tools: tuple[Tool, ...]
    """The tools that the agent may call, in order."""
    traceparent: str = field(default="", compare=False)
    """The W3C traceparent of the turn, to which an agent may add spans. Empty if it is not traced. A
    repeated request for the turn has another one, so it does not count for equality."""

    @property
    def last(self) -> Message:
        """The newest message, which the agent answers. Raises IndexError for an empty conversation.
        """
        return self.messages[-1]

    def tool(self, name: str) -> Tool | None:
        """The tool of that name, None if there is none."""
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True)
class Reply:
    """One turn of an agent: a text for the user, calls, or code. Create it with say, call, calls or
    code. Calls take precedence over code, and code over text."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    code: Optional[str] = None
    confidence: Optional[float] = None

    def with_confidence(self, probability: float) -> Reply:
        """The same turn with the probability, from 0 to 1, that the task is done as the user wants
        when the conversation ends here. The last one of a conversation counts for the reliability
        card; none affects the score. Raises ValueError for one outside 0 to 1."""
        if not 0 <= probability <= 1:
            raise ValueError(f"confidence: {probability} given, expected 0 to 1")
        return replace(self, confidence=probability)


Act = Callable[[Conversation], Union[Reply, Awaitable[Reply]]]
"""The function that a team implements. It may be asked for the same turn again after a lost
connection. An exception, including SystemExit, ends this one conversation with a score of 0, and
its traceback is logged. Unavailable has the turn retried. A coroutine function is cancelled
when nobody waits for its turn any more. It must not block the event loop, which all conversations
share. A plain function keeps running in its thread, so bound the time of its waits."""


class Unavailable(Exception):
    """The agent cannot answer now, through no fault of its own. The gateway asks for the turn again
    a few times with growing waits. If all fail, the conversation has no score."""


def say(text: str) -> Reply:
    """A turn with a text for the user."""
    return Reply(text=text)


def call(name: str, /, **arguments: Any) -> Reply:
    """A turn that calls one tool. Raises TypeError or ValueError for arguments that JSON cannot
    represent."""
    return Reply(calls=(ToolCall.of(name, **arguments),))


def calls(*many: ToolCall) -> Reply:
    """A turn that calls several tools. They are executed as one batch, in no particular order."""
    return Reply(calls=many)


def code(source: str) -> Reply:
    """A turn that runs Python source in the session, with the tools as functions. The next message
    is its output, or the error that ended it. Raises TypeError for anything but a text."""
    if not isinstance(source, str):
        raise TypeError(f"source is {type(source).__name__}, expected str")
    return Reply(code=source)
