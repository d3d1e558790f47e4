"""Adapters for existing agents: functions like OpenAI's chat completions, and LangChain-style
runnables."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, Union

from .conversation import Act, Conversation, Message, Reply, Speaker, ToolCall

ChatMessage = dict[str, Any]
"""A message of OpenAI's chat completions: role, content, and tool_calls or tool_call_id."""
_NOTIFIED = "[Notification on the phone] "
"""Begins a notification as chat models are shown it: as a text of the user's."""
ToolSchema = dict[str, Any]
"""A tool of OpenAI's chat completions: {"type": "function", "function": {"name", "description", "parameters"}}."""
ChatModel = Callable[[list[ChatMessage], list[ToolSchema]], Union[Any, Awaitable[Any]]]
"""Takes messages and tools and returns the assistant's message: a dict, or an object with content and tool_calls such as
`client.chat.completions.create(...).choices[0].message`."""


class Runnable(Protocol):
    """The interface of LangChain's chat models: `bind_tools(tools).invoke(messages)` returns a
    message with content, tool_calls, and invalid_tool_calls, whose arguments are raw text."""

    def bind_tools(self, tools: Sequence[ToolSchema], /) -> Any:
        """Returns a runnable with the tools."""

    def invoke(self, messages: Sequence[ChatMessage], /) -> Any:
        """Returns the model's message."""


def chat_agent(model: ChatModel) -> Act:
    """An agent from a chat completion function. The function sees one turn at a time. ToolSandbox
    executes the calls, and the results come with the next turn."""

    def act(conversation: Conversation) -> Reply | Awaitable[Reply]:
        answer = model(*to_chat(conversation))
        return _awaited(answer) if inspect.isawaitable(answer) else _reply(answer)

    return act


def runnable_agent(model: Runnable) -> Act:
    """An agent from a LangChain-style chat model."""

    def act(conversation: Conversation) -> Reply:
        messages, tools = to_chat(conversation)
        runnable = model.bind_tools(tools) if tools else model
        return _reply(runnable.invoke(messages))

    return act


def to_chat(conversation: Conversation) -> tuple[list[ChatMessage], list[ToolSchema]]:
    """The conversation and its tools in the form of OpenAI's chat completions."""
    tools = [
        {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters or {})}}
        for tool in conversation.tools
    ]
    return chat_messages(conversation.messages), tools


def chat_messages(messages: Iterable[Message]) -> list[ChatMessage]:
    """Messages in the form of OpenAI's chat completions."""
    return [_chat_message(message) for message in messages]


def _chat_message(message: Message) -> ChatMessage:
    if message.speaker is Speaker.TOOL:
        return {"role": "tool", "tool_call_id": message.call_id, "name": message.tool_name, "content": message.text}
    if message.calls:
        made = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": _written(c)}} for c in message.calls]
        return {"role": "assistant", "content": message.text, "tool_calls": made}
    if message.speaker is Speaker.NOTIFICATION:
        return {"role": "user", "content": _NOTIFIED + message.text}
    role = "assistant" if message.speaker is Speaker.AGENT else message.speaker.value
    return {"role": role, "content": message.text if message.code is None else message.code}


def _written(made: ToolCall) -> str:
    """Arguments as JSON text, as a model writes them."""
    if isinstance(made.arguments, str):
        return made.arguments
    return json.dumps(dict(made.arguments), ensure_ascii=False)


async def _awaited(answer: Awaitable[Any]) -> Reply:
    return _reply(await answer)


def _reply(answer: Any) -> Reply:
    made = [_tool_call(c) for c in _field(answer, "tool_calls") or ()]
    made += [_invalid_tool_call(c) for c in _field(answer, "invalid_tool_calls") or ()]
    if made:
        return Reply(calls=tuple(made))
    return Reply(text=_text(_field(answer, "content")) or _text(_field(answer, "refusal")))


def _tool_call(made: Any) -> ToolCall:
    function = _field(made, "function")
    if function is not None:  # OpenAI: arguments are JSON text
        return ToolCall(_field(function, "name"), _field(function, "arguments") or "{}", _field(made, "id") or "")
    return ToolCall(_field(made, "name"), _field(made, "args") or {}, _field(made, "id") or "")


def _invalid_tool_call(made: Any) -> ToolCall:
    """A call that LangChain could not parse. The environment answers it with an error."""
    return ToolCall(_field(made, "name") or "", _field(made, "args") or "", _field(made, "id") or "")


def _text(content: Any) -> str:
    """The text of a content that may be a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else str(_field(part, "text") or "") for part in content)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
