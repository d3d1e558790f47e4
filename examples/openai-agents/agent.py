"""An agent of the OpenAI Agents SDK: python agent.py localhost:9000, with OPENAI_MODEL, OPENAI_API_KEY and OPENAI_BASE_URL."""

import os
import sys

from agents import Agent, FunctionTool, Runner, set_default_openai_api, set_tracing_disabled
from openai import APIConnectionError, InternalServerError, RateLimitError

from toolsandbox.agent import CallFailed, Message, Session, Speaker, Tool, Unavailable, chat_messages, loop_agent, serve

set_default_openai_api("chat_completions")
set_tracing_disabled(True)


def function_tool(session: Session, tool: Tool) -> FunctionTool:
    async def invoke(_, arguments: str) -> str:
        try:
            return await session.call(tool.name, arguments)
        except CallFailed as error:  # the model reads it, as with the SDK's own functions
            return str(error)

    return FunctionTool(tool.name, tool.description, dict(tool.parameters or {}), invoke, strict_json_schema=False)


def items(message: Message) -> list[dict]:
    """A message of the conversation as items of the SDK."""
    if message.speaker is Speaker.TOOL:
        return [{"type": "function_call_output", "call_id": message.call_id, "output": message.text}]
    if message.calls:
        return [{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments_json} for c in message.calls]
    [chat] = chat_messages([message])  # there a notification is a text of the user's
    return [{"role": chat["role"], "content": chat["content"]}]


async def run(session: Session) -> str:
    agent = Agent("assistant", model=os.environ["OPENAI_MODEL"], tools=[function_tool(session, tool) for tool in session.tools])
    new = [item for message in session.new for item in items(message)]
    try:
        result = await Runner.run(agent, (session.memory or []) + new, max_turns=50)
    except (APIConnectionError, InternalServerError, RateLimitError) as error:  # not the agent's fault
        raise Unavailable(str(error)) from error
    session.memory = result.to_input_list()
    return str(result.final_output)


serve(loop_agent(run), sys.argv[1])
