"""Agents that misbehave: what they do costs their own turn, and nothing keeps the process from ending."""

import asyncio
import concurrent.futures
import contextlib
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import unittest
from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest import mock

import grpc

from toolsandbox import agent
from toolsandbox.agent import attaching
from toolsandbox.agent.v1 import agent_pb2, agent_pb2_grpc

PATIENCE = 60.0
"""Seconds that bound every wait for something that must happen."""
SOURCE = pathlib.Path(__file__).parent.parent / "src"


def request(conversation: str, turn: int = 0) -> agent_pb2.ActRequest:
    message = agent_pb2.Message(speaker=agent_pb2.SPEAKER_USER, text=conversation)
    return agent_pb2.ActRequest(conversation_id=conversation, turn=turn, messages=[message])


UNREADABLE = agent_pb2.ActRequest(conversation_id="x", messages=[agent_pb2.Message(speaker=99)])  # type: ignore[arg-type]
"""What this version does not know."""


class Unreadable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def misbehave(what: str) -> agent.Reply:
    if what == "exit":
        sys.exit("enough")
    if what == "interrupt":
        raise KeyboardInterrupt
    if what == "stop":
        next(iter(()))
    if what == "cancel":
        raise asyncio.CancelledError
    if what == "surrogate":
        return agent.say("\ud800")
    if what == "surrogate in a reason":
        raise ValueError("\ud800")
    if what == "flood":
        return agent.say("x" * (20 << 20))
    if what == "flood of reasons":
        raise ValueError("x" * (20 << 20))
    if what == "nothing":
        return None  # type: ignore[return-value]
    if what == "unreadable reason":
        raise Unreadable
    if what == "none":
        return agent.say(None)  # type: ignore[arg-type]
    if what == "source":
        return agent.code(None)  # type: ignore[arg-type]
    if what == "confidence":
        return agent.Reply("sure", confidence="0.9")  # type: ignore[arg-type]
    if what == "dict":
        return agent.Reply(calls=({"name": "look"},))  # type: ignore[arg-type]
    if what == "no calls":
        return agent.Reply(calls=None)  # type: ignore[arg-type]
    if what == "generator":
        return agent.Reply(calls=(agent.ToolCall(name) for name in ("look",)))  # type: ignore[arg-type]
    if what == "busy":
        raise agent.Unavailable("warming up")
    return agent.say("fine")


def plain(conversation: agent.Conversation) -> agent.Reply:
    return misbehave(conversation.id)


async def coroutine(conversation: agent.Conversation) -> agent.Reply:
    await asyncio.sleep(0)
    return misbehave(conversation.id)


REASONS = {
    "exit": "SystemExit: enough",
    "interrupt": "KeyboardInterrupt: ",
    "stop": "StopIteration",
    "cancel": "Error: ",
    "surrogate": "surrogates not allowed",
    "surrogate in a reason": "ValueError: ?",
    "flood": "ValueError: the turn has 20971525 bytes, expected at most 4194304",
    "flood of reasons": "xxx…",
    "unreadable reason": "Unreadable: its text cannot be read",
    "none": "TypeError: the agent's reply: text is NoneType, expected str",
    "source": "TypeError: source is NoneType, expected str",
    "confidence": "TypeError: the agent's reply: confidence is str, expected a number from 0 to 1",
    "dict": "TypeError: the agent's reply: a call is dict, expected a ToolCall",
    "no calls": "TypeError: the agent's reply: calls is NoneType, expected ToolCalls",
    "nothing": "TypeError: the agent returned NoneType, expected a Reply",
}
"""What is told of what agents raise, by what they are asked."""


def told(answer: agent_pb2.ActResponse) -> str:
    return f"{answer.raised.exception_type}: {answer.raised.text}" if answer.HasField("raised") else ""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps the expected tracebacks from the output."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


class Served(unittest.TestCase):
    def test_misbehaviour_is_one_turns(self) -> None:
        for act in (plain, coroutine):
            with quiet(), agent.Server(act, "localhost:0") as server, grpc.insecure_channel(server.address) as channel:
                stub = agent_pb2_grpc.AgentServiceStub(channel)
                for what, reason in REASONS.items():
                    with self.subTest(what, act=act.__name__):
                        self.assertIn(reason, told(stub.Act(request(what), timeout=PATIENCE)))
                for asked, code, reason in ((request("busy"), grpc.StatusCode.UNAVAILABLE, "warming up"), (UNREADABLE, grpc.StatusCode.UNIMPLEMENTED, "unknown speaker 99")):
                    with self.assertRaises(grpc.RpcError) as raised:
                        stub.Act(asked, timeout=PATIENCE)
                    self.assertEqual(raised.exception.code(), code)
                    self.assertIn(reason, raised.exception.details() or "")
                self.assertEqual(stub.Act(request("well"), timeout=PATIENCE).text, "fine")
                self.assertEqual([call.name for call in stub.Act(request("generator"), timeout=PATIENCE).calls], ["look"])

    def test_no_function(self) -> None:
        with self.assertRaisesRegex(TypeError, "the agent is str, expected a function"), agent.Server("act", "localhost:0"):  # type: ignore[arg-type]
            pass

    def test_traceback_is_logged(self) -> None:
        with agent.Server(plain, "localhost:0") as server, grpc.insecure_channel(server.address) as channel:
            with self.assertLogs("toolsandbox.agent") as logged:
                agent_pb2_grpc.AgentServiceStub(channel).Act(request("none", turn=3), timeout=PATIENCE)
        self.assertIn("turn 3 of conversation none failed", logged.output[0])
        self.assertIn("Traceback", logged.output[0])

    def test_five_hundred_at_once(self) -> None:
        together = threading.Barrier(500, timeout=PATIENCE)
        waiting = 0

        def in_thread(conversation: agent.Conversation) -> agent.Reply:
            together.wait()  # passes only if all are played at once
            return agent.say(conversation.id)

        async def on_loop(conversation: agent.Conversation) -> agent.Reply:
            nonlocal waiting
            waiting += 1
            while waiting < 500:
                await asyncio.sleep(0.01)
            return agent.say(conversation.id)

        for act in (in_thread, on_loop):
            with self.subTest(act.__name__), agent.Server(act, "localhost:0") as server, grpc.insecure_channel(server.address) as channel:
                stub = agent_pb2_grpc.AgentServiceStub(channel)
                answers = [stub.Act.future(request(str(i)), timeout=PATIENCE) for i in range(500)]
                self.assertEqual([a.result().text for a in answers], [str(i) for i in range(500)])

    def test_hung_turns_free_their_places(self) -> None:
        hang = threading.Event()

        def act(conversation: agent.Conversation) -> agent.Reply:
            if conversation.id == "hang":
                hang.wait(2 * PATIENCE)
            return agent.say("fine")

        with agent.Server(act, "localhost:0", workers=2) as server, grpc.insecure_channel(server.address) as channel:
            stub = agent_pb2_grpc.AgentServiceStub(channel)
            hung = [stub.Act.future(request("hang"), timeout=0.5) for _ in range(4)]
            for turn in hung:
                self.assertIs(turn.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
            self.assertEqual(stub.Act(request("well"), timeout=PATIENCE).text, "fine")
            hang.set()

    def test_no_more_threads(self) -> None:
        with agent.Server(plain, "localhost:0") as server, grpc.insecure_channel(server.address) as channel:
            stub = agent_pb2_grpc.AgentServiceStub(channel)
            with quiet(), mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
                with self.assertRaises(grpc.RpcError) as raised:
                    stub.Act(request("well"), timeout=PATIENCE)
            self.assertIs(raised.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertIn("can't start new thread", raised.exception.details() or "")
            self.assertEqual(stub.Act(request("well"), timeout=PATIENCE).text, "fine")


class Gateway(agent_pb2_grpc.AttachServiceServicer):
    """A gateway that asks what it is told and hands answers to the test."""

    def __init__(self) -> None:
        self.ask: asyncio.Queue[agent_pb2.AttachResponse | None] = asyncio.Queue()
        self.answers: asyncio.Queue[agent_pb2.AttachAnswer] = asyncio.Queue()

    async def Attach(self, requests: AsyncIterator[agent_pb2.AttachRequest], context: Any) -> AsyncIterator[agent_pb2.AttachResponse]:
        await requests.__anext__()

        async def listen() -> None:
            async for message in requests:
                self.answers.put_nowait(message.answer)

        listening = asyncio.ensure_future(listen())
        try:
            while (asked := await self.ask.get()) is not None:
                yield asked
        finally:
            listening.cancel()


class Attached(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.gateway = Gateway()
        server = grpc.aio.server()
        agent_pb2_grpc.add_AttachServiceServicer_to_server(self.gateway, server)
        self.address = f"localhost:{server.add_insecure_port('localhost:0')}"
        await server.start()
        self.addAsyncCleanup(server.stop, None)

    async def attach(self, act: agent.Act) -> None:
        attached = asyncio.ensure_future(agent.attach_async(act, f"grpc://{self.address}", "mine"))

        async def leave() -> None:
            attached.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await attached

        self.addAsyncCleanup(leave)

    async def turn(self, conversation: str, number: int = 1, timeout_ms: int = 0) -> agent_pb2.AttachAnswer:
        self.gateway.ask.put_nowait(agent_pb2.AttachResponse(request_id=number, request=request(conversation), timeout_ms=timeout_ms))
        return await asyncio.wait_for(self.gateway.answers.get(), PATIENCE)

    async def misbehave(self, act: agent.Act) -> None:
        await self.attach(act)
        with quiet():
            for number, (what, reason) in enumerate(REASONS.items()):
                with self.subTest(what):
                    got = await self.turn(what, number)
                    self.assertIn(reason, told(got.response))
                    self.assertEqual((got.request_id, got.code, got.error), (number, 0, ""))
            busy = await self.turn("busy", 99)
            self.assertEqual((busy.code, busy.error), (14, "Unavailable: warming up"))
            self.gateway.ask.put_nowait(agent_pb2.AttachResponse(request_id=100, request=UNREADABLE))
            self.assertEqual((await asyncio.wait_for(self.gateway.answers.get(), PATIENCE)).code, 12)
            self.assertEqual((await self.turn("well")).response.text, "fine")

    async def test_misbehaviour_of_a_function_is_one_turns(self) -> None:
        await self.misbehave(plain)

    async def test_misbehaviour_of_a_coroutine_is_one_turns(self) -> None:
        await self.misbehave(coroutine)

    async def test_turns_end_in_time(self) -> None:
        cancelled = asyncio.Event()

        async def act(conversation: agent.Conversation) -> agent.Reply:
            if conversation.id == "slow":
                try:
                    await asyncio.sleep(2 * PATIENCE)
                finally:
                    cancelled.set()
            return agent.say("fine")

        await self.attach(act)
        self.gateway.ask.put_nowait(agent_pb2.AttachResponse(request_id=1, request=request("slow"), timeout_ms=50))
        with quiet():
            await asyncio.wait_for(cancelled.wait(), PATIENCE)
            got = await self.turn("well", 2, 60_000)
        self.assertEqual((got.request_id, got.response.text), (2, "fine"))

    async def test_hung_turn_does_not_hold_up_the_next_stream(self) -> None:
        hang = threading.Event()
        self.addCleanup(hang.set)
        entered = asyncio.Event()
        loop = asyncio.get_running_loop()

        def act(conversation: agent.Conversation) -> agent.Reply:
            if conversation.id == "hang":
                loop.call_soon_threadsafe(entered.set)
                hang.wait(2 * PATIENCE)
            return agent.say("fine")

        await self.attach(act)
        self.gateway.ask.put_nowait(agent_pb2.AttachResponse(request_id=1, request=request("hang")))
        await asyncio.wait_for(entered.wait(), PATIENCE)
        with quiet():
            self.gateway.ask.put_nowait(None)  # the stream ends
            self.assertEqual((await self.turn("well")).response.text, "fine")

    async def test_lost_streams_leave_nothing(self) -> None:
        with quiet(), mock.patch.multiple(attaching, FIRST_WAIT=0.001, LONGEST_WAIT=0.001):
            await self.attach(plain)
            for number in range(3):
                await self.turn("well", number)
            before = len(asyncio.all_tasks())
            for number in range(20):
                self.gateway.ask.put_nowait(None)  # the stream ends
                await self.turn("well", number)

            async def ended() -> None:  # the tasks of the last streams are about to end
                while len(asyncio.all_tasks()) >= before + 5 + 1:  # this one counts
                    await asyncio.sleep(0.01)

            await asyncio.wait_for(ended(), PATIENCE)


PROGRAM = """
import sys, threading
from toolsandbox.agent import attach, say, serve, serving

serving.GRACE = 0.2

def act(conversation):
    print("entered", flush=True)
    threading.Event().wait()

attach(act, sys.argv[2], "mine") if sys.argv[1] == "attach" else serve(act, sys.argv[2])
"""


class Busy(unittest.TestCase):
    """Addresses that cannot be listened on."""

    def test_one_line(self) -> None:
        with socket.create_server(("localhost", 0)) as taken:
            for address, reason in (
                (f"localhost:{taken.getsockname()[1]}", "Address already in use" if sys.platform == "linux" else ""),
                ("nonsense", "expected host:port, e.g. localhost:9000"),
                ("localhost:99999", "expected host:port"),
            ):
                with self.subTest(address):
                    host = address.replace("localhost", "127.0.0.1")
                    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
                    ended = subprocess.run([sys.executable, "-c", PROGRAM, "serve", host], capture_output=True, env=environment, text=True, timeout=PATIENCE)
                    self.assertEqual((ended.returncode, len(ended.stderr.splitlines()), ended.stdout), (1, 1, ""), ended.stderr)
                    self.assertIn("cannot listen on", ended.stderr)
                    self.assertIn(reason, ended.stderr)
                    with self.assertRaises(OSError), agent.Server(plain, host):
                        pass


class Interrupted(unittest.TestCase):
    """Programs with a turn that never ends, which are interrupted."""

    def run_program(self, mode: str, address: str) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        program = subprocess.Popen([sys.executable, "-c", PROGRAM, mode, address], stdout=subprocess.PIPE, env=environment, text=True)
        self.addCleanup(program.stdout.close if program.stdout else lambda: None)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program

    def interrupt(self, program: "subprocess.Popen[str]") -> None:
        assert program.stdout is not None
        self.assertEqual(program.stdout.readline(), "entered\n")
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.wait(PATIENCE), 0)  # its turn would go on for ever

    def test_serve(self) -> None:
        with socket.socket() as kept:
            # Bound, but not listening: on Linux nobody else is given the port, and the program, which names it, can listen on it.
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            kept.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{kept.getsockname()[1]}"
            if sys.platform == "linux":
                self.serve_until_interrupted(address)
        if sys.platform != "linux":
            self.serve_until_interrupted(address)

    def serve_until_interrupted(self, address: str) -> None:
        program = self.run_program("serve", address)
        with grpc.insecure_channel(address) as channel:
            asked = agent_pb2_grpc.AgentServiceStub(channel).Act.future(request("x"), timeout=PATIENCE, wait_for_ready=True)
            self.interrupt(program)
            self.assertIsNotNone(asked.exception())

    def test_attach(self) -> None:
        class Asking(agent_pb2_grpc.AttachServiceServicer):
            def Attach(self, requests: Iterator[agent_pb2.AttachRequest], context: Any) -> Iterator[agent_pb2.AttachResponse]:
                next(requests)
                yield agent_pb2.AttachResponse(request_id=1, request=request("x"))
                for _ in requests:  # until the agent is gone
                    pass

        server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        agent_pb2_grpc.add_AttachServiceServicer_to_server(Asking(), server)
        port = server.add_insecure_port("localhost:0")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        self.interrupt(self.run_program("attach", f"localhost:{port}"))


if __name__ == "__main__":
    unittest.main()
