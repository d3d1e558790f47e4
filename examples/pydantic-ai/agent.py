"""An agent of pydantic-ai: python agent.py localhost:9000, with OPENAI_MODEL, OPENAI_API_KEY and OPENAI_BASE_URL."""

import os
import sys

from pydantic_ai import Agent, FunctionToolset, Tool, ToolFailed
from pydantic_ai.exceptions import ModelConnectionError, ModelRateLimitError, ModelServerError, ModelUnavailableError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel

from toolsandbox import agent as toolsandbox
from toolsandbox.agent import CallFailed, Message, Session, Speaker, Unavailable, chat_messages, loop_agent, serve

agent = Agent(OpenAIChatModel(os.environ["OPENAI_MODEL"]))


def function_tool(session: Session, tool: toolsandbox.Tool) -> Tool:
    async def function(**arguments: object) -> str:
        try:
            return await session.call(tool.name, arguments)
        except CallFailed as error:
            raise ToolFailed(str(error)) from error

    return Tool.from_schema(function, tool.name, tool.description, dict(tool.parameters or {}))


def model_message(message: Message) -> ModelMessage:
    """A message of the conversation as one of pydantic-ai."""
    if message.speaker is Speaker.AGENT:
        return ModelResponse([ToolCallPart(c.name, c.arguments_json, c.id) for c in message.calls] or [TextPart(message.text)])
    if message.speaker is Speaker.TOOL:
        outcome = "failed" if message.failed else "success"
        return ModelRequest([ToolReturnPart(message.tool_name, message.text, message.call_id, outcome=outcome)])
    [chat] = chat_messages([message])  # there a notification says that it is one
    return ModelRequest([(SystemPromptPart if message.speaker is Speaker.SYSTEM else UserPromptPart)(chat["content"])])


async def run(session: Session) -> str:
    history = (session.memory or []) + [model_message(message) for message in session.new]
    tools = FunctionToolset([function_tool(session, tool) for tool in session.tools])
    try:
        result = await agent.run(message_history=history, toolsets=[tools])
    except (ModelConnectionError, ModelRateLimitError, ModelServerError, ModelUnavailableError) as error:  # not the agent's fault
        raise Unavailable(str(error)) from error
    session.memory = result.all_messages()
    return result.output


serve(loop_agent(run), sys.argv[1])
