"""Tools that are served, asked over gRPC."""

import dataclasses
import json
import threading
import unittest
from typing import Optional

import grpc

from toolsandbox.tools import Server, Where, World, tool
from toolsandbox.tools.tool import registered
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


@tool
def in_daemon() -> bool:
    """Tells whether its thread keeps the process alive."""
    return threading.current_thread().daemon


@tool(writes=["note"])
def fail(world: World, how: str) -> None:
    """Fails in one of the ways of a user's code."""

    class Odd(Exception):
        def __str__(self) -> str:
            return {"local": "odd", "surrogate": "a\ud800b"}[how]

    if how == "exit":
        raise SystemExit("no licence")
    if how == "row":
        world.add("note", pages=float("inf"))
    raise Odd


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
        add, *_ = self.stub.ListTools(tools_pb2.ListToolsRequest()).tools
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

    def test_odd_failures(self) -> None:
        for how, kind, text in (
            ("exit", "SystemExit", "no licence"),
            ("row", "ValueError", "Out of range float values are not JSON compliant: inf"),
            ("local", "test_tools.Odd", "odd"),
            ("surrogate", "test_tools.Odd", "a?b"),
            ("unreadable", "test_tools.Odd", "its text cannot be read"),
        ):
            with self.subTest(how):
                answer = self.call("fail", {"how": how})
                self.assertEqual((answer.raised.type.replace("tests.", ""), len(answer.changes)), (kind, 0))
                self.assertIn(answer.raised.text, text)
        deep = self.stub.Call(tools_pb2.CallRequest(tool="broken", arguments_json="[" * 100_000, rows_json="{}"))
        self.assertEqual(deep.raised.type, "RecursionError")

    def test_a_call_does_not_keep_the_process_alive(self) -> None:
        self.assertEqual(self.call("in_daemon", {}).value_json, "true")

    def test_declarations(self) -> None:
        async def late() -> None: ...

        def many(*words: str) -> None: ...

        def never(at: float = float("inf")) -> None: ...

        for function, reason in ((late, "late is a coroutine function"), (many, r"parameter \*words"), (never, "default of parameter at is no JSON")):
            with self.subTest(reason), self.assertRaisesRegex(TypeError, reason):
                tool(function)
        with self.assertRaisesRegex(ValueError, "two tools are called broken"):
            Server("127.0.0.1:0", [registered[1], dataclasses.replace(registered[1])])

    def test_hints(self) -> None:
        with self.assertRaisesRegex(TypeError, "parameter when has no type hint"):
            tool(lambda when: when)


if __name__ == "__main__":
    unittest.main()
