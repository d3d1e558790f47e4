"""Agents behind a real gRPC server, and attached to a real gRPC gateway."""

import asyncio
import contextlib
import io
import math
import os
import pathlib
import tempfile
import threading
import unittest
from collections.abc import AsyncIterator, Coroutine
from types import SimpleNamespace
from typing import Any
from unittest import mock

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from toolsandbox import agent
from toolsandbox.agent.v1 import agent_pb2, agent_pb2_grpc

PATIENCE = 60.0
"""Seconds that bound every wait for something that must happen."""


def request(turn: int = 0, text: str = "hello") -> agent_pb2.ActRequest:
    return agent_pb2.ActRequest(
        conversation_id="c",
        turn=turn,
        messages=[
            agent_pb2.Message(speaker=agent_pb2.SPEAKER_SYSTEM, text="help"),
            agent_pb2.Message(speaker=agent_pb2.SPEAKER_USER, text=text),
            agent_pb2.Message(speaker=agent_pb2.SPEAKER_AGENT, calls=[agent_pb2.ToolCall(id="1", name="t", arguments_json='{"a": 1}')]),
            agent_pb2.Message(speaker=agent_pb2.SPEAKER_TOOL, text="None", call_id="1", tool_name="t", failed=True),
        ],
        tools=[agent_pb2.Tool(name="t", description="d", parameters_json='{"type": "object"}')],
    )


def ask(address: str, asked: agent_pb2.ActRequest) -> agent_pb2.ActResponse:
    with grpc.insecure_channel(address) as channel:
        answer: agent_pb2.ActResponse = agent_pb2_grpc.AgentServiceStub(channel).Act(asked, timeout=PATIENCE)
        return answer


def echo(conversation: agent.Conversation) -> agent.Reply:
    return agent.say(conversation.messages[1].text)


class Announcing(unittest.TestCase):
    def announced(self, serving: Coroutine[Any, Any, None]) -> str:
        async def run() -> None:
            task = asyncio.ensure_future(serving)
            while not task.done() and not printed.getvalue().endswith("\n"):
                await asyncio.sleep(0.01)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        with contextlib.redirect_stderr(io.StringIO()) as printed:
            asyncio.run(asyncio.wait_for(run(), PATIENCE))
        return printed.getvalue()

    def test_serving(self) -> None:
        self.assertRegex(self.announced(agent.serve_async(echo, "localhost:0")), r"^agent serves: toolsandbox run --agent grpc://localhost:[1-9][0-9]*\n$")
        self.assertRegex(self.announced(agent.serve_async(echo, "0.0.0.0:0")), r"^agent serves: toolsandbox run --agent grpc://localhost:[1-9][0-9]*\n$")

    def test_attaching(self) -> None:
        self.assertEqual(
            self.announced(agent.attach_async(echo, "localhost:1", "mine")).splitlines()[0],
            "agent attaches to localhost:1: toolsandbox run --agent attached:mine",
        )


class Serving(unittest.TestCase):
    def test_conversation(self) -> None:
        seen: list[agent.Conversation] = []

        def act(conversation: agent.Conversation) -> agent.Reply:
            seen.append(conversation)
            return agent.calls(agent.ToolCall.of("t", a="ä", on=True), agent.ToolCall("u", "[1]", "x"))

        with agent.Server(act, "localhost:0") as server:
            got = ask(server.address, request(turn=2))
        want = agent.Conversation(
            id="c",
            turn=2,
            messages=(
                agent.Message(agent.Speaker.SYSTEM, "help"),
                agent.Message(agent.Speaker.USER, "hello"),
                agent.Message(agent.Speaker.AGENT, calls=(agent.ToolCall("t", {"a": 1}, "1"),)),
                agent.Message(agent.Speaker.TOOL, "None", call_id="1", tool_name="t", failed=True),
            ),
            tools=(agent.Tool("t", "d", {"type": "object"}),),
        )
        self.assertEqual(seen, [want])
        self.assertEqual(want.last.text, "None")
        self.assertIsNotNone(want.tool("t"))
        self.assertIsNone(want.tool("u"))
        self.assertEqual([(c.id, c.name, c.arguments_json) for c in got.calls], [("", "t", '{"a": "\\u00e4", "on": true}'), ("x", "u", "[1]")])

    def test_values_and_code(self) -> None:
        seen: list[agent.Conversation] = []

        def act(conversation: agent.Conversation) -> agent.Reply:
            seen.append(conversation)
            return agent.code("print(1)")

        asked = request()
        asked.traceparent = "00-a-b-01"
        asked.messages[2].calls.add(id="2", name="t", arguments_json='{"a": 1e999}')
        asked.messages[2].calls.add(id="3", name="t", arguments_json='"{"')
        asked.messages.add(speaker=agent_pb2.SPEAKER_TOOL, text="[{'a': None}]", value_json='[{"a": null}]')
        asked.messages.add(speaker=agent_pb2.SPEAKER_AGENT, code="print(2)")
        with agent.Server(act, "localhost:0") as server:
            got = ask(server.address, asked)
        self.assertEqual(got, agent_pb2.ActResponse(code="print(1)"))
        self.assertEqual(seen[0].traceparent, "00-a-b-01")
        messages = seen[0].messages
        self.assertEqual([c.arguments for c in messages[2].calls], [{"a": 1}, '{"a": 1e999}', '"{"'])
        self.assertEqual([m.value for m in messages[3:]], [None, [{"a": None}], None])
        self.assertEqual([m.code for m in messages], [None, None, None, None, None, "print(2)"])

    def test_confidence(self) -> None:
        with agent.Server(lambda _: agent.say("done").with_confidence(0.75), "localhost:0") as server:
            self.assertEqual(ask(server.address, request()), agent_pb2.ActResponse(text="done", confidence=0.75))
        for wrong in (-0.1, 90, math.nan):
            with self.assertRaises(ValueError):
                agent.say("done").with_confidence(wrong)

    def test_coroutine(self) -> None:
        async def act(conversation: agent.Conversation) -> agent.Reply:
            await asyncio.sleep(0)
            return echo(conversation)

        with agent.Server(act, "localhost:0") as server:
            self.assertEqual(ask(server.address, request()).text, "hello")

    def test_empty_arguments(self) -> None:
        made = agent.calls(*(agent.ToolCall("t", arguments) for arguments in ("", " \n", "{}", "null")))

        def act(conversation: agent.Conversation) -> agent.Reply:
            return made

        async def act_async(conversation: agent.Conversation) -> agent.Reply:
            return made

        for function in (act, act_async):
            with self.subTest(function.__name__), agent.Server(function, "localhost:0") as server:
                got = ask(server.address, request())
                self.assertEqual([c.arguments_json for c in got.calls], ["{}", "{}", "{}", "null"])

    def test_many_at_once(self) -> None:
        together = threading.Barrier(8, timeout=PATIENCE)

        def act(conversation: agent.Conversation) -> agent.Reply:
            together.wait()  # passes only if eight conversations are served at once
            return echo(conversation)

        with agent.Server(act, "localhost:0") as server, grpc.insecure_channel(server.address) as channel:
            stub = agent_pb2_grpc.AgentServiceStub(channel)
            answers = [stub.Act.future(request(text=str(i)), timeout=PATIENCE) for i in range(8)]
            self.assertEqual([a.result().text for a in answers], [str(i) for i in range(8)])

    def test_errors(self) -> None:
        def broken(conversation: agent.Conversation) -> agent.Reply:
            raise KeyError("no model")

        def wrong(conversation: agent.Conversation) -> Any:
            return "text"

        for act, kind, text in ((broken, "KeyError", "'no model'"), (wrong, "TypeError", "the agent returned str, expected a Reply: use say, call, calls or code")):
            with self.subTest(text), agent.Server(act, "localhost:0") as server:
                got = ask(server.address, request())
                self.assertEqual(got, agent_pb2.ActResponse(raised=agent_pb2.Raised(exception_type=kind, text=text)))

    def test_arguments_that_json_cannot_write(self) -> None:
        with self.assertRaises(ValueError):
            agent.call("t", a=float("nan"))
        with self.assertRaises(TypeError):
            agent.call("t", a={1})

    def test_health(self) -> None:
        with agent.Server(echo, "localhost:0") as server, grpc.insecure_channel(server.address) as channel:
            got = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
            self.assertEqual(got.status, health_pb2.HealthCheckResponse.SERVING)

    def test_address_in_use(self) -> None:
        with agent.Server(echo, "localhost:0") as server, self.assertRaises(OSError):
            with agent.Server(echo, server.address):
                pass

    def test_no_workers(self) -> None:
        with self.assertRaises(ValueError):
            with agent.Server(echo, "localhost:0", workers=0):
                pass


class Gateway(agent_pb2_grpc.AttachServiceServicer):
    """A gateway that ends the first stream before it was answered and asks the same again on the second."""

    def __init__(self) -> None:
        self.streams = 0
        self.names: list[str] = []
        self.firsts: list[agent_pb2.AttachRequest] = []
        self.tokens: list[str | None] = []
        self.answers: dict[int, agent_pb2.AttachAnswer] = {}
        self.done = asyncio.Event()

    async def Attach(self, requests: AsyncIterator[agent_pb2.AttachRequest], context: Any) -> AsyncIterator[agent_pb2.AttachResponse]:
        self.streams += 1
        self.firsts.append(await requests.__anext__())
        self.names.append(self.firsts[-1].name)
        self.tokens.append(dict(context.invocation_metadata()).get("authorization"))
        if self.names[-1] == "taken":
            await context.abort(grpc.StatusCode.ALREADY_EXISTS, "the name is taken")
        if self.names[-1] == "secret":
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "the name has a secret")
        for i in range(3):
            yield agent_pb2.AttachResponse(request_id=i, request=request(text="fail" if i == 2 else str(i)))
        if self.streams == 1:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "restarting")
        async for answer in requests:
            self.answers[answer.answer.request_id] = answer.answer
            if len(self.answers) == 3:
                self.done.set()


class Attaching(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.gateway = Gateway()
        server = grpc.aio.server()
        agent_pb2_grpc.add_AttachServiceServicer_to_server(self.gateway, server)
        port = server.add_insecure_port("localhost:0")
        await server.start()
        self.addAsyncCleanup(server.stop, None)
        self.address = f"localhost:{port}"

    async def test_stream_is_opened_again(self) -> None:
        def act(conversation: agent.Conversation) -> agent.Reply:
            if conversation.messages[1].text == "fail":
                raise ValueError("no")
            return echo(conversation)

        attached = asyncio.ensure_future(agent.attach_async(act, self.address, "mine"))
        await asyncio.wait_for(self.gateway.done.wait(), PATIENCE)
        attached.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await attached
        self.assertEqual(self.gateway.names, ["mine", "mine"])
        self.assertEqual(self.gateway.tokens, [None, None])
        first, second = self.gateway.firsts
        self.assertTrue(first.instance)
        self.assertEqual(first.instance, second.instance)
        self.assertRegex(first.software, "^toolsandbox-python ")
        got = [(i, a.response.text, a.response.raised.exception_type) for i, a in sorted(self.gateway.answers.items())]
        self.assertEqual(got, [(0, "0", ""), (1, "1", ""), (2, "", "ValueError")])

    async def test_refused(self) -> None:
        with self.assertRaises(agent.AttachError) as raised:
            await asyncio.wait_for(agent.attach_async(echo, self.address, "taken"), PATIENCE)
        self.assertEqual(str(raised.exception), "attach taken: ALREADY_EXISTS: the name is taken")

    async def refused(self, variables: dict[str, str], token: str | None = None) -> str | None:
        """Attaches with variables and a token, and returns the metadata that arrives."""
        with mock.patch.dict(os.environ, variables), self.assertRaises(agent.AttachError) as raised:
            await asyncio.wait_for(agent.attach_async(echo, self.address, "secret", token=token, instance="given"), PATIENCE)
        self.assertEqual(str(raised.exception), "attach secret: PERMISSION_DENIED: the name has a secret")
        self.assertEqual(self.gateway.firsts[-1].instance, "given")
        return self.gateway.tokens[-1]

    async def test_token(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            file, empty = pathlib.Path(directory) / "token", pathlib.Path(directory) / "empty"
            file.write_text("of-the-file\n")
            empty.write_text("\n")
            variables = {"TOOLSANDBOX_ATTACH_TOKEN_FILE": str(file)}
            self.assertEqual(await self.refused(variables), "Bearer of-the-file")
            variables["TOOLSANDBOX_ATTACH_TOKEN"] = "of-the-variable"
            self.assertEqual(await self.refused(variables), "Bearer of-the-variable")
            self.assertEqual(await self.refused(variables, token="given"), "Bearer given")
            self.assertEqual(await self.refused({"TOOLSANDBOX_ATTACH_TOKEN": " "}), None)
            for variables, token, reason in [
                ({}, "", "token: empty, expected a token"),
                ({}, "two words", "token: expected printable ASCII without blanks"),
                ({"TOOLSANDBOX_ATTACH_TOKEN": "gehe\u00efm"}, None, "TOOLSANDBOX_ATTACH_TOKEN: expected printable ASCII without blanks"),
                ({"TOOLSANDBOX_ATTACH_TOKEN_FILE": str(empty)}, None, f"TOOLSANDBOX_ATTACH_TOKEN_FILE, {empty}: empty, expected a token"),
            ]:
                with mock.patch.dict(os.environ, variables), self.assertRaises(ValueError) as invalid:
                    await agent.attach_async(echo, self.address, "secret", token=token)
                self.assertEqual(str(invalid.exception), reason)

    async def test_gateway(self) -> None:
        for gateway in ["", "localhost", "localhost:", "localhost:0", "localhost:99999", "localhost:x", ":9100", "http://localhost:9100", "grpc://localhost", "grpcs://a@b:1"]:
            with self.subTest(gateway), self.assertRaises(ValueError) as invalid:
                await asyncio.wait_for(agent.attach_async(echo, gateway, "mine"), PATIENCE)
            self.assertEqual(str(invalid.exception), f"gateway {gateway!r}: expected host:port, grpc://host:port or grpcs://host:port")


class Chat(unittest.TestCase):
    def conversation(self) -> agent.Conversation:
        return agent.Conversation(
            id="c",
            turn=1,
            messages=(
                agent.Message(agent.Speaker.SYSTEM, "help"),
                agent.Message(agent.Speaker.USER, "hello"),
                agent.Message(agent.Speaker.AGENT, "hm"),
                agent.Message(agent.Speaker.AGENT, calls=(agent.ToolCall("t", {"a": 1}, "1"),)),
                agent.Message(agent.Speaker.TOOL, "None", call_id="1", tool_name="t"),
            ),
            tools=(agent.Tool("t", "d", {"type": "object"}),),
        )

    messages = [
        {"role": "system", "content": "help"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hm"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}]},
        {"role": "tool", "tool_call_id": "1", "name": "t", "content": "None"},
    ]
    tools = [{"type": "function", "function": {"name": "t", "description": "d", "parameters": {"type": "object"}}}]

    def test_chat_agent(self) -> None:
        made = {"id": "2", "type": "function", "function": {"name": "u", "arguments": '{"b":2}'}}
        as_object = SimpleNamespace(content=None, tool_calls=[SimpleNamespace(id="2", function=SimpleNamespace(name="u", arguments='{"b":2}'))])
        called = agent.Reply(calls=(agent.ToolCall("u", '{"b":2}', "2"),))
        for answer, want in (
            ({"role": "assistant", "content": "hi"}, agent.say("hi")),
            ({"content": None}, agent.say("")),
            ({"content": None, "refusal": "I cannot."}, agent.say("I cannot.")),
            (SimpleNamespace(content=None, refusal="I cannot.", tool_calls=None), agent.say("I cannot.")),
            ({"content": [{"type": "text", "text": "a"}, "b"]}, agent.say("ab")),
            ({"content": "not seen", "tool_calls": [made]}, called),
            (as_object, called),
        ):
            seen: list[Any] = []

            def model(messages: list[agent.ChatMessage], tools: list[agent.ToolSchema], answer: Any = answer) -> Any:
                seen.extend((messages, tools))
                return answer

            with self.subTest(answer):
                self.assertEqual(agent.chat_agent(model)(self.conversation()), want)
                self.assertEqual(seen, [self.messages, self.tools])

    def test_coroutine(self) -> None:
        async def model(messages: list[agent.ChatMessage], tools: list[agent.ToolSchema]) -> Any:
            return {"content": messages[1]["content"]}

        with agent.Server(agent.chat_agent(model), "localhost:0") as server:
            self.assertEqual(ask(server.address, request()).text, "hello")

    def test_runnable(self) -> None:
        class Model:
            bound: Any = None

            def bind_tools(self, tools: Any) -> "Model":
                self.bound = tools
                return self

            def invoke(self, messages: Any) -> Any:
                self.messages = messages
                return SimpleNamespace(content="", tool_calls=[{"name": "u", "args": {"b": 2}, "id": "2"}])

        model = Model()
        got = agent.runnable_agent(model)(self.conversation())
        self.assertEqual(got, agent.Reply(calls=(agent.ToolCall("u", {"b": 2}, "2"),)))
        self.assertEqual((model.messages, model.bound), (self.messages, self.tools))

    def test_runnable_with_invalid_calls(self) -> None:
        class Model:
            def bind_tools(self, tools: Any) -> "Model":
                return self

            def invoke(self, messages: Any) -> Any:
                valid = [{"name": "t", "args": {"a": 1}, "id": "1", "type": "tool_call"}]
                invalid = [
                    {"name": "t", "args": '{"a": 1', "id": "2", "error": "no JSON", "type": "invalid_tool_call"},
                    {"name": None, "args": None, "id": None, "error": None, "type": "invalid_tool_call"},
                ]
                return SimpleNamespace(content="dropped", tool_calls=valid, invalid_tool_calls=invalid)

        got = agent.runnable_agent(Model())(self.conversation())
        self.assertEqual(got, agent.Reply(calls=(agent.ToolCall("t", {"a": 1}, "1"), agent.ToolCall("t", '{"a": 1', "2"), agent.ToolCall("", "", ""))))


if __name__ == "__main__":
    unittest.main()
