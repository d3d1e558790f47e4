"""Tools that are served, asked over gRPC."""

import json
import unittest
from typing import Optional

import grpc

from toolsandbox.tools import Server, Where, World, tool
from toolsandbox.tools.v1 import tools_pb2, tools_pb2_grpc


@tool(reads={"note": ["title"]}, writes=["note"], ids=1, clock=True)
def add_note(world: World, title: str, tags: list[str], pages: int = 1, colour: Optional[str] = None) -> str:
    """Writes a note
    down.

    Args:
        title: What it is called.
        tags (list): What it is
            about.
    """
    if {"title": title} in world.rows["note"]:
        raise ValueError(f"There is a note {title}")
    world.add("note", note_id=world.ids[0], title=title, pages=pages)
    world.update("note", Where("title", "old"), pages=2.5)
    world.remove("note", Where("pages", None))
    return f"{title} at {world.now}"


@tool
def broken() -> float:
    """Fails."""
    return float("nan")


class TestTools(unittest.TestCase):
    def setUp(self) -> None:
        server = Server("127.0.0.1:0")
        server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)
        channel = grpc.insecure_channel(server.address)
        self.addCleanup(channel.close)
        self.stub = tools_pb2_grpc.ToolServiceStub(channel)

    def call(self, name: str, arguments: dict[str, object]) -> tools_pb2.CallResponse:
        request = tools_pb2.CallRequest(tool=name, arguments_json=json.dumps(arguments), rows_json='{"note": [{"title": "tax"}]}', now=7.0, ids=["a"])
        response: tools_pb2.CallResponse = self.stub.Call(request)
        return response

    def test_list(self) -> None:
        add, _ = self.stub.ListTools(tools_pb2.ListToolsRequest()).tools
        self.assertEqual((add.name, add.description, add.ids, add.clock), ("add_note", "Writes a note down.", 1, True))
        self.assertEqual([(rows.table, list(rows.columns)) for rows in add.reads], [("note", ["title"])])
        self.assertEqual(
            json.loads(add.parameters_json),
            {
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "What it is called."},
                    "tags": {"type": "array", "items": {"type": "string"}, "description": "What it is about."},
                    "pages": {"type": "integer", "default": 1},
                    "colour": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                },
                "required": ["title", "tags"],
            },
        )

    def test_call(self) -> None:
        answer = self.call("add_note", {"title": "garden", "tags": []})
        self.assertEqual(json.loads(answer.value_json), "garden at 7.0")
        add, update, remove = answer.changes
        self.assertEqual(json.loads(add.add_json), {"note_id": "a", "title": "garden", "pages": 1})
        self.assertEqual((update.update.where.column, update.update.values_json), ("title", '{"pages": 2.5}'))
        self.assertEqual((remove.remove.column, remove.remove.value_json), ("pages", "null"))

    def test_raises(self) -> None:
        answer = self.call("add_note", {"title": "tax", "tags": []})
        self.assertEqual((answer.raised.type, answer.raised.text, len(answer.changes)), ("ValueError", "There is a note tax", 0))
        self.assertEqual(self.call("broken", {}).raised.type, "ValueError")
        self.assertEqual(self.call("add_note", {"unknown": 1}).raised.type, "TypeError")
        with self.assertRaises(grpc.RpcError) as caught:
            self.call("absent", {})
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_hints(self) -> None:
        with self.assertRaisesRegex(TypeError, "parameter when has no type hint"):
            tool(lambda when: when)


if __name__ == "__main__":
    unittest.main()
