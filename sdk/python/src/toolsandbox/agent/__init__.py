"""Plug your own agent into ToolSandbox: write one function, serve it, and name its address on the command line.

    from toolsandbox.agent import Conversation, Reply, call, say, serve

    def act(conversation: Conversation) -> Reply:
        if conversation.turn == 0:
            return call("set_wifi_status", on=False)
        return say("Wifi is off now.")

    serve(act, "localhost:9000")

and then `toolsandbox run --agent grpc://localhost:9000`. An agent that cannot be dialled opens the connection itself, with
`attach`. The function may be a coroutine function; either way it is called for many conversations at once.
"""

from .attaching import AttachError, attach, attach_async
from .chat import ChatMessage, ChatModel, Runnable, ToolSchema, chat_agent, chat_messages, runnable_agent, to_chat
from .conversation import Act, Conversation, Message, Reply, Speaker, Tool, ToolCall, Unavailable, call, calls, code, say
from .loop import Abandoned, CallFailed, Run, Session, loop_agent
from .serving import Server, serve, serve_async

__all__ = [
    "Abandoned",
    "Act",
    "AttachError",
    "CallFailed",
    "ChatMessage",
    "ChatModel",
    "Conversation",
    "Message",
    "Reply",
    "Run",
    "Runnable",
    "Server",
    "Session",
    "Speaker",
    "Tool",
    "ToolCall",
    "ToolSchema",
    "Unavailable",
    "attach",
    "attach_async",
    "call",
    "calls",
    "chat_agent",
    "chat_messages",
    "code",
    "loop_agent",
    "runnable_agent",
    "say",
    "serve",
    "serve_async",
    "to_chat",
]
