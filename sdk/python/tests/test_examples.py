"""The examples, without the frameworks that they are for."""

import os
import pathlib
import runpy
import sys
import unittest
from typing import Any
from unittest import mock

from toolsandbox import agent

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
RING = agent.Message(agent.Speaker.NOTIFICATION, "ring")
SHOWN = "[Notification on the phone] ring"


def load(name: str, *frameworks: str) -> "dict[str, Any]":
    """What an example defines."""
    modules = {framework: mock.MagicMock() for framework in frameworks}
    environment = {"OPENAI_MODEL": "m"}
    with mock.patch.dict(sys.modules, modules), mock.patch.dict(os.environ, environment), mock.patch.object(sys, "argv", ["agent.py", "a"]), mock.patch.object(agent, "serve"):
        return runpy.run_path(str(EXAMPLES / name / "agent.py"))


class Examples(unittest.TestCase):
    def test_notification_for_an_agent_that_writes_code(self) -> None:
        example = load("code", "openai")
        self.assertEqual(example["chat"](RING), {"role": "user", "content": SHOWN})

    def test_notification_for_the_openai_agents_sdk(self) -> None:
        example = load("openai-agents", "agents", "openai")
        self.assertEqual(example["items"](RING), [{"role": "user", "content": SHOWN}])

    def test_notification_for_pydantic_ai(self) -> None:
        example = load("pydantic-ai", "pydantic_ai", "pydantic_ai.exceptions", "pydantic_ai.messages", "pydantic_ai.models", "pydantic_ai.models.openai")
        example["model_message"](RING)
        example["UserPromptPart"].assert_called_once_with(SHOWN)


if __name__ == "__main__":
    unittest.main()
