"""Frameworks that own their loop, behind a real gRPC server."""

import asyncio
import concurrent.futures
import itertools
import json
import threading
import unittest
from collections.abc import Callable
from typing import Any, Optional
from unittest import mock

import grpc

from toolsandbox import agent
from toolsandbox.agent import loop
from toolsandbox.agent.v1 import agent_pb2, agent_pb2_grpc

PATIENCE = 60.0
"""Seconds that bound every wait for something that must happen."""
SHORT = 0.05
"""Seconds of a wait that is meant to run out."""


class Player:
    """Plays one conversation as the gateway does: answers calls with results and texts with the next message of the user."""

    def __init__(self, address: str, *users: str, id: str = "c", answer: Optional[Callable[[str, Any], agent_pb2.Message]] = None) -> None:
        self.address, self.id, self.answer = address, id, answer or double
        self.users = list(users)
        self.turn, self.traceparent = 0, ""
        self.messages = [agent_pb2.Message(speaker=agent_pb2.SPEAKER_SYSTEM, text="help")]
        self.calls: list[list[str]] = []
        self.said: list[str] = []
        self.speak()

    def speak(self) -> None:
        self.messages.append(agent_pb2.Message(speaker=agent_pb2.SPEAKER_USER, text=self.users.pop(0)))

    def request(self) -> agent_pb2.ActRequest:
        tools = [agent_pb2.Tool(name="double", description="d", parameters_json='{"type": "object"}')]
        return agent_pb2.ActRequest(conversation_id=self.id, turn=self.turn, messages=self.messages, tools=tools, traceparent=self.traceparent)

    def ask(self) -> agent_pb2.ActResponse:
        """One turn, which does not count as taken."""
        with grpc.insecure_channel(self.address) as channel:
            answer: agent_pb2.ActResponse = agent_pb2_grpc.AgentServiceStub(channel).Act(self.request(), timeout=PATIENCE)
            return answer

    def take(self, reply: agent_pb2.ActResponse) -> None:
        """Takes an answer into the conversation, and what follows it but for the user's message."""
        self.turn += 1
        if not reply.calls:
            self.said.append(reply.text)
            self.messages.append(agent_pb2.Message(speaker=agent_pb2.SPEAKER_AGENT, text=reply.text))
            return
        made = [agent_pb2.ToolCall(id=f"call_{self.turn}_{i}", name=c.name, arguments_json=c.arguments_json) for i, c in enumerate(reply.calls)]
        self.calls.append([c.arguments_json for c in reply.calls])
        self.messages.append(agent_pb2.Message(speaker=agent_pb2.SPEAKER_AGENT, calls=made))
        for call in reversed(made):
            message = self.answer(call.name, json.loads(call.arguments_json))
            message.speaker, message.call_id, message.tool_name = agent_pb2.SPEAKER_TOOL, call.id, call.name
            self.messages.append(message)

    def play(self) -> "list[str]":
        """Plays until the user has nothing more to say, and returns what the agent said."""
        while True:
            reply = self.ask()
            if reply.HasField("raised"):
                raise AssertionError(f"the agent raised {reply.raised}")
            self.take(reply)
            if not reply.calls:
                if not self.users:
                    return self.said
                self.speak()


def double(_: str, arguments: Any) -> agent_pb2.Message:
    if "n" not in arguments:
        return agent_pb2.Message(text="KeyError: 'n'", failed=True)
    return agent_pb2.Message(text=str(2 * arguments["n"]), value_json=str(2 * arguments["n"]))


def texts(messages: "tuple[agent.Message, ...]") -> "list[str]":
    return [message.text for message in messages]


class Loops(unittest.TestCase):
    def test_steps_and_memory(self) -> None:
        seen: list[Any] = []

        async def run(session: agent.Session) -> str:
            seen.append((session.memory, texts(session.new), [tool.name for tool in session.tools]))
            first = await asyncio.gather(*(session.call("double", {"n": n}) for n in (1, 2, 3)))
            last = await session.call("double", '{"n": 10}')
            session.memory = (session.memory or 0) + 1
            return ",".join([*first, last])

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            player = Player(server.address, "a", "b")
            self.assertEqual(player.play(), ["2,4,6,20", "2,4,6,20"])
        self.assertEqual(player.calls, 2 * [['{"n": 1}', '{"n": 2}', '{"n": 3}'], ['{"n": 10}']])
        self.assertEqual(seen, [(None, ["help", "a"], ["double"]), (1, ["b"], ["double"])])

    def test_notification_while_a_run_waits(self) -> None:
        seen: list[Any] = []

        async def run(session: agent.Session) -> str:
            seen.append([(m.speaker, m.text) for m in session.new])
            session.memory = True
            return await session.call("double", {"n": 1})

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            player = Player(server.address, "a", "b")
            player.take(player.ask())
            player.messages.append(agent_pb2.Message(speaker=agent_pb2.SPEAKER_NOTIFICATION, text="ring"))
            self.assertEqual(player.play(), ["2", "2"])
        self.assertEqual(seen[1:], [[(agent.Speaker.NOTIFICATION, "ring"), (agent.Speaker.USER, "b")]])

    def test_a_repeated_turn_with_another_span(self) -> None:
        runs = itertools.count(1)

        async def run(session: agent.Session) -> str:
            return f"run {next(runs)}: {await session.call('double', {'n': 1})}"

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            player = Player(server.address, "a")
            player.traceparent = "00-a-1-01"
            first = player.ask()
            player.traceparent = "00-a-2-01"
            self.assertEqual(player.ask(), first)
            self.assertEqual(player.play(), ["run 1: 2"])

    def test_without_memory_all_is_new(self) -> None:
        async def run(session: agent.Session) -> str:
            return " ".join(texts(session.new))

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            self.assertEqual(Player(server.address, "a", "b").play(), ["help a", "help a help a b"])

    def test_plain_function(self) -> None:
        def run(session: agent.Session) -> str:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                return ",".join(pool.map(lambda n: session.wait("double", {"n": n}), range(4)))

        with agent.Server(agent.loop_agent(run, settle=1), "localhost:0") as server:
            player = Player(server.address, "a")
            self.assertEqual(player.play(), ["0,2,4,6"])
        self.assertEqual([sorted(step) for step in player.calls], [[f'{{"n": {n}}}' for n in range(4)]])

    def test_failed_calls(self) -> None:
        async def run(session: agent.Session) -> str:
            good, bad = await asyncio.gather(session.call("double", {"n": 1}), session.call("double"), return_exceptions=True)
            with self.assertRaises(ValueError):
                await session.call("double", {"n": float("nan")})
            with self.assertRaises(RuntimeError):
                session.wait("double")
            return f"{good} {bad!r}"

        def plain(session: agent.Session) -> str:
            try:
                return session.wait("double")
            except agent.CallFailed as error:
                return repr(error)

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            self.assertEqual(Player(server.address, "a").play(), ["""2 CallFailed("KeyError: 'n'")"""])
        with agent.Server(agent.loop_agent(plain), "localhost:0") as server:
            self.assertEqual(Player(server.address, "a").play(), ["""CallFailed("KeyError: 'n'")"""])

    def test_late_calls_go_out_with_the_next_turn(self) -> None:
        gone_out = threading.Event()

        async def run(session: agent.Session) -> str:
            async def late() -> str:
                await asyncio.get_running_loop().run_in_executor(None, gone_out.wait)
                return await session.call("double", {"n": 2})

            return ",".join(await asyncio.gather(session.call("double", {"n": 1}), late()))

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            player = Player(server.address, "a")
            player.take(player.ask())
            gone_out.set()
            self.assertEqual(player.play(), ["2,4"])
        self.assertEqual(player.calls, [['{"n": 1}'], ['{"n": 2}']])

    def test_more_calls_than_a_turn_takes(self) -> None:
        async def run(session: agent.Session) -> str:
            return str(len(await asyncio.gather(*(session.call("double", {"n": n}) for n in range(300)))))

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            player = Player(server.address, "a")
            self.assertEqual(player.play(), ["300"])
        self.assertEqual([len(step) for step in player.calls], [128, 128, 44])

    def test_calls_that_the_framework_cancels(self) -> None:
        async def run(session: agent.Session) -> str:
            never = asyncio.ensure_future(session.call("double", {"n": 0}))
            await asyncio.sleep(0)
            never.cancel()  # does not go out
            given_up = asyncio.ensure_future(session.call("double", {"n": 1}))
            await asyncio.wait({given_up}, timeout=1)
            given_up.cancel()
            return "enough"

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            player = Player(server.address, "a", "b")
            self.assertEqual(player.play(), ["enough", "enough"])
        self.assertEqual(player.calls, [['{"n": 1}'], ['{"n": 1}']])

    def test_many_at_once(self) -> None:
        async def run(session: agent.Session) -> str:
            total = sum([int(await session.call("double", {"n": n})) for n in range(int(session.new[-1].text) % 5)])
            session.memory = (session.memory or 0) + total
            return str(session.memory)

        with agent.Server(agent.loop_agent(run), "localhost:0") as server, concurrent.futures.ThreadPoolExecutor(32) as pool:
            players = [Player(server.address, str(i), str(i + 1), id=str(i)) for i in range(64)]
            got = list(pool.map(Player.play, players))
        sums = [n * (n - 1) for n in range(5)]
        self.assertEqual(got, [[str(sums[i % 5]), str(sums[i % 5] + sums[(i + 1) % 5])] for i in range(64)])


class Again(unittest.TestCase):
    def test_same_turn_has_the_same_answer(self) -> None:
        runs = itertools.count(1)

        async def run(session: agent.Session) -> str:
            number = next(runs)
            return f"run {number}: {await session.call('double', {'n': number})}"

        with agent.Server(agent.loop_agent(run), "localhost:0") as server, concurrent.futures.ThreadPoolExecutor() as pool:
            player = Player(server.address, "a")
            first, second = pool.submit(player.ask), pool.submit(player.ask)  # both wait for it
            self.assertEqual(first.result(), second.result())
            self.assertEqual(player.ask(), first.result())
            player.take(player.ask())
            self.assertEqual([player.ask().text, player.ask().text], ["run 1: 2", "run 1: 2"])

    def test_client_that_is_gone(self) -> None:
        go_on, started = threading.Event(), threading.Event()

        async def run(session: agent.Session) -> str:
            started.set()
            await asyncio.get_running_loop().run_in_executor(None, go_on.wait)
            return "done"

        with agent.Server(agent.loop_agent(run), "localhost:0") as server, grpc.insecure_channel(server.address) as channel:
            player = Player(server.address, "a")
            lost = agent_pb2_grpc.AgentServiceStub(channel).Act.future(player.request(), timeout=PATIENCE)
            started.wait(PATIENCE)
            lost.cancel()
            started.clear()
            go_on.set()
            self.assertEqual(player.play(), ["done"])
            self.assertFalse(started.is_set(), "the run was started again")

    def test_restarted_process(self) -> None:
        seen: list[Any] = []

        async def run(session: agent.Session) -> str:
            seen.append((session.memory, session.new))
            session.memory = "kept"
            if session.new[-1].speaker is agent.Speaker.TOOL:
                return f"{session.new[-1].text} it is"
            return await session.call("double", {"n": 4})

        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            player = Player(server.address, "a", "b")
            player.take(player.ask())
        with agent.Server(agent.loop_agent(run), "localhost:0") as server:
            player.address = server.address
            self.assertEqual(player.play(), ["8 it is", "8"])
        call = agent.Message(agent.Speaker.AGENT, calls=(agent.ToolCall("double", {"n": 4}, "call_1_0"),))
        result = agent.Message(agent.Speaker.TOOL, "8", call_id="call_1_0", tool_name="double", value=8)
        start = (agent.Message(agent.Speaker.SYSTEM, "help"), agent.Message(agent.Speaker.USER, "a"))
        self.assertEqual(seen, [(None, start), (None, (*start, call, result)), ("kept", (agent.Message(agent.Speaker.USER, "b"),))])

    def test_another_conversation_of_the_same_id(self) -> None:
        ended = threading.Event()

        async def run(session: agent.Session) -> str:
            try:
                return await session.call("double", {"n": len(session.new)})
            finally:
                ended.set()

        with agent.Server(agent.loop_agent(run), "localhost:0") as server, self.assertLogs("toolsandbox.agent", "WARNING"):
            player = Player(server.address, "a")
            player.take(player.ask())
            self.assertEqual(Player(server.address, "other").play(), ["4"])
            self.assertTrue(ended.wait(PATIENCE))

    def test_unavailable_starts_the_run_again(self) -> None:
        seen: list[Any] = []

        async def run(session: agent.Session) -> str:
            seen.append((session.memory, texts(session.new)))
            if len(seen) == 2:
                session.memory = "of a failed run"
                await session.call("double", {"n": 2})
                raise agent.Unavailable("the provider is away")
            session.memory = "kept"
            return "done"

        with agent.Server(agent.loop_agent(run), "localhost:0") as server, self.assertLogs("toolsandbox.agent", "WARNING"):
            player = Player(server.address, "a", "b")
            player.take(player.ask())
            player.speak()
            player.take(player.ask())
            with self.assertRaises(grpc.RpcError) as raised:
                player.ask()
            self.assertEqual(raised.exception.code(), grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(player.play(), ["done", "done"])
        self.assertEqual(seen, [(None, ["help", "a"]), ("kept", ["b"]), ("kept", ["b", "", "4"])])


class Ends(unittest.TestCase):
    def test_exceptions(self) -> None:
        async def broken(session: agent.Session) -> str:
            await session.call("double", {"n": 1})
            raise KeyError("no model")

        def leaves(session: agent.Session) -> str:
            session.wait("double", {"n": 1})
            raise SystemExit("enough")

        async def cancels(session: agent.Session) -> str:
            await session.call("double", {"n": 1})
            raise asyncio.CancelledError

        async def nothing(session: agent.Session) -> Any:
            await session.call("double", {"n": 1})

        for run, kind in ((broken, "KeyError"), (leaves, "SystemExit"), (cancels, "CancelledError"), (nothing, "TypeError")):
            with self.subTest(kind), self.assertLogs("toolsandbox.agent", "ERROR"):
                with agent.Server(agent.loop_agent(run), "localhost:0") as server:
                    player = Player(server.address, "a")
                    player.take(player.ask())
                    self.assertEqual([player.ask().raised.exception_type, player.ask().raised.exception_type], [kind, kind])
                    self.assertEqual(len(Player(server.address, "a", id="other").ask().calls), 1, "the server goes on")

    def test_abandoned(self) -> None:
        for idle in (SHORT, PATIENCE):  # at first the time ends it, then the server
            ended, names = threading.Semaphore(0), []

            async def task(session: agent.Session) -> str:
                try:
                    return (await asyncio.gather(session.call("double", {"n": 1}), session.call("double", {"n": 2})))[0]
                except asyncio.CancelledError:
                    names.append("task")
                    ended.release()
                    raise

            def thread(session: agent.Session) -> str:
                try:
                    return session.wait("double", {"n": 1})
                except agent.Abandoned:
                    names.append("thread")
                    ended.release()
                    raise

            for run in (task, thread):
                with self.subTest(run.__name__, idle=idle), agent.Server(agent.loop_agent(run, idle=idle), "localhost:0") as server:
                    player = Player(server.address, "a")
                    player.take(player.ask())
                    if idle == SHORT:
                        self.assertTrue(ended.acquire(timeout=PATIENCE))
                        self.assertTrue(player.ask().calls, "a new run takes the conversation up")
                self.assertTrue(ended.acquire(timeout=PATIENCE))
            self.assertEqual(set(names), {"task", "thread"})

    def test_nothing_stays(self) -> None:
        made: list[loop.Session] = []

        class Kept(loop.Session):
            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments)
                made.append(self)

        async def run(session: agent.Session) -> str:
            return await session.call("double", {"n": 1})

        with mock.patch.object(loop, "Session", Kept):
            with agent.Server(agent.loop_agent(run, idle=20 * SHORT), "localhost:0") as server:
                for i in range(3):  # a player that is slow has a second session
                    Player(server.address, "a", id=str(i)).play()
                deadline = threading.Event()
                for _ in range(int(PATIENCE / SHORT)):
                    if all(session._closed for session in made):
                        break
                    deadline.wait(SHORT)
        self.assertGreaterEqual(len(made), 3)
        self.assertEqual([session._closed for session in made], len(made) * [True])


if __name__ == "__main__":
    unittest.main()
