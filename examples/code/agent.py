"""An agent that writes code: python agent.py localhost:9000, with OPENAI_MODEL, OPENAI_API_KEY and OPENAI_BASE_URL."""

import json
import os
import re
import sys

from openai import APIConnectionError, AsyncOpenAI, InternalServerError, RateLimitError

from toolsandbox.agent import Conversation, Message, Reply, Speaker, Tool, Unavailable, chat_messages, code, say, serve

INSTRUCTIONS = """To act, answer with one block of Python between ```python and ```, and nothing else. These functions can be called in it by
keyword; print what you want to see. To speak to the user, answer with plain text."""
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)

client = AsyncOpenAI()


def describe(tool: Tool) -> str:
    return f"{tool.name}: {tool.description}\narguments: {json.dumps(dict(tool.parameters or {}))}"


def chat(message: Message) -> dict[str, str]:
    """A message of the conversation as the model sees it: its own code as it wrote it, what that printed as a message to it."""
    if message.code is not None:
        return {"role": "assistant", "content": f"```python\n{message.code}```"}
    if message.speaker is Speaker.TOOL:
        return {"role": "user", "content": f"{'Error' if message.failed else 'Printed'}:\n{message.text}"}
    [other] = chat_messages([message])
    return other


async def act(conversation: Conversation) -> Reply:
    instructions = "\n\n".join([INSTRUCTIONS, *map(describe, conversation.tools)])
    messages = [{"role": "system", "content": instructions}, *map(chat, conversation.messages)]
    try:
        completion = await client.chat.completions.create(model=os.environ["OPENAI_MODEL"], messages=messages)
    except (APIConnectionError, InternalServerError, RateLimitError) as error:  # not the agent's fault
        raise Unavailable(str(error)) from error
    answer = completion.choices[0].message.content or ""
    block = BLOCK.search(answer)
    return code(block[1]) if block else say(answer)


serve(act, sys.argv[1])
