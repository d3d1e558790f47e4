"""A graph of LangGraph: python agent.py localhost:9000, with OPENAI_MODEL, OPENAI_API_KEY and OPENAI_BASE_URL."""

import os
import sys

from langchain_core.tools import StructuredTool, ToolException
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from openai import APIConnectionError, InternalServerError, RateLimitError

from toolsandbox.agent import CallFailed, Session, Tool, Unavailable, chat_messages, loop_agent, serve

model = ChatOpenAI(model=os.environ["OPENAI_MODEL"])


def structured_tool(session: Session, tool: Tool) -> StructuredTool:
    async def function(**arguments: object) -> str:
        try:
            return await session.call(tool.name, arguments)
        except CallFailed as error:
            raise ToolException(str(error)) from error

    schema = dict(tool.parameters or {})
    return StructuredTool(name=tool.name, description=tool.description, args_schema=schema, coroutine=function, handle_tool_error=True)


async def run(session: Session) -> str:
    tools = [structured_tool(session, tool) for tool in session.tools]
    thinking = model.bind_tools(tools)

    async def think(state: MessagesState) -> dict:
        return {"messages": [await thinking.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    messages = (session.memory or []) + chat_messages(session.new)
    try:
        state = await graph.compile().ainvoke({"messages": messages}, {"recursion_limit": 100})
    except (APIConnectionError, InternalServerError, RateLimitError) as error:  # not the agent's fault
        raise Unavailable(str(error)) from error
    session.memory = state["messages"]
    return state["messages"][-1].text


serve(loop_agent(run), sys.argv[1])
