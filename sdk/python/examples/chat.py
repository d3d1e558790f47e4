"""An agent around any server with OpenAI's chat completions: python chat.py localhost:9000 http://localhost:8000/v1 MODEL"""

import json
import os
import sys
import urllib.request

from toolsandbox.agent import ChatMessage, ToolSchema, chat_agent, serve

address, base, model = sys.argv[1:]


def complete(messages: list[ChatMessage], tools: list[ToolSchema]) -> ChatMessage:
    body = json.dumps({"model": model, "messages": messages, "tools": tools}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    with urllib.request.urlopen(urllib.request.Request(f"{base}/chat/completions", body, headers)) as answer:
        message: ChatMessage = json.load(answer)["choices"][0]["message"]
        return message


serve(chat_agent(complete), address)
