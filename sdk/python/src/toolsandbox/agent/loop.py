"""Adapter for frameworks with their own loop: one run calls tools as functions until it has a text
for the user."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Optional, Union

from .conversation import Act, Conversation, Message, Reply, Speaker, Tool, ToolCall, Unavailable, say
from .wire import contained, in_thread, is_coroutine_function, log

IDLE = 600.0
"""Seconds after which an inactive conversation is dropped and its run cancelled."""
SETTLE = 0.02
"""Seconds without a further call after which the pending calls are sent as one step."""
PASSES = 50
"""Iterations of the event loop that must also pass without a further call, so that a busy machine
does not split a step."""
MAX_CALLS = 128
"""The largest number of calls of one turn, as at the gateway. Further ones are sent with the next
turn."""

Run = Callable[["Session"], Union[str, Awaitable[str]]]
"""One run of a framework: answers session.new with tool calls and returns the text for the user. A
coroutine function runs as a task of the serving event loop and must not block it. A plain function
runs in its own thread."""


def loop_agent(run: Run, *, idle: float = IDLE, settle: float = SETTLE) -> Act:
    """An agent from a framework with its own loop. Each message of the user starts one run. A tool
    call in it becomes the agent's turn, and returns when the next turn brings the result. An
    exception of the run ends the conversation as one of act does. Unavailable has the turn asked
    again, and restarts the run.

    Calls are sent together when no further one follows for `settle` seconds. A conversation without
    a request for `idle` seconds is dropped and its run cancelled. If it continues after all, a new
    run gets the whole conversation as session.new.
    """
    sessions: dict[str, Session] = {}

    async def act(conversation: Conversation) -> Reply:
        session = sessions.get(conversation.id)
        if session is None or not session._accept(conversation):
            if session is not None:
                log.warning("turn %d of conversation %s does not follow the last one: its run is ended and a new one started", conversation.turn, conversation.id)
                session._close()
            session = sessions[conversation.id] = Session(run, conversation, settle)
        session._asking += 1
        try:
            return await asyncio.shield(session._answer)
        finally:
            session._asking -= 1
            _forget_later(sessions, session, idle)

    return act


def _forget_later(sessions: dict[str, Session], session: Session, idle: float) -> None:
    def forget() -> None:
        if session._asking == 0:
            session._close()
            if sessions.get(session.id) is session:
                del sessions[session.id]

    if session._timer is not None:
        session._timer.cancel()
    session._timer = asyncio.get_running_loop().call_later(idle, forget)


class CallFailed(Exception):
    """The environment answered a call with an error. The text is what the model should read."""


class Abandoned(BaseException):
    """Raised by Session.wait when the conversation is over. It is no Exception, so that frameworks
    do not show it to their models. Do not catch it."""


class _Waiting:
    """A call with the result that its caller awaits."""

    def __init__(self, call: ToolCall, result: asyncio.Future[str]) -> None:
        self.call, self.result = call, result

    def settle(self, answer: Message) -> None:
        if self.result.done():  # the framework cancelled the call
            return
        if answer.failed:
            self.result.set_exception(CallFailed(answer.text))
        else:
            self.result.set_result(answer.text)


class Session:
    """One conversation as the runs of a framework see it."""

    id: str
    """The same for all runs of the conversation."""
    tools: tuple[Tool, ...]
    """The tools to give to the framework, in order."""
    new: tuple[Message, ...]
    """The messages that memory does not cover, or the whole conversation if memory is None. They
    end with a message of the user, or with results of calls if the run that made them was lost."""
    memory: Any
    """State that a run leaves for the next one, e.g. the framework's messages. None in the first
    run, and in the first one after this process was restarted or has dropped the conversation. The
    state of a failed run is discarded."""

    def __init__(self, run: Run, conversation: Conversation, settle: float) -> None:
        self.id, self.tools, self.memory = conversation.id, conversation.tools, None
        self._run, self._wait_for_more = run, settle
        self._loop = asyncio.get_running_loop()
        self._pending: list[_Waiting] = []  # calls to send
        self._sent: list[_Waiting] = []  # calls of the last answer
        self._changes = 0
        self._saved_memory: Any = None  # memory after the last successful run
        self._saved_messages = 0  # number of messages that it covers
        self._missed: tuple[Message, ...] = ()  # notifications that came while a run waited for results
        self._outcome: Union[Reply, Exception, None] = None  # of a run that ended while no turn was requested
        self._asking = 0
        self._timer: Optional[asyncio.TimerHandle] = None
        self._closed = False
        self._expect(conversation)
        self._start()

    async def call(self, name: str, arguments: Union[Mapping[str, Any], str, None] = None) -> str:
        """Calls a tool and waits for its printed result. Arguments that are text are sent verbatim.
        Raises CallFailed with the environment's error, and TypeError or ValueError for arguments
        that JSON cannot represent."""
        made = ToolCall(name, {} if arguments is None else arguments)
        _ = made.arguments_json  # raises errors where the framework sees them
        if self._closed:
            raise asyncio.CancelledError
        waiting = _Waiting(made, self._loop.create_future())
        self._pending.append(waiting)
        self._send_when_settled()
        try:
            return await waiting.result
        finally:
            if waiting in self._pending:  # cancelled before it was sent
                self._pending.remove(waiting)

    def wait(self, name: str, arguments: Union[Mapping[str, Any], str, None] = None) -> str:
        """Like call, from a thread, for runs that are plain functions. Raises Abandoned when the
        conversation is over."""
        try:
            here: Optional[asyncio.AbstractEventLoop] = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            raise RuntimeError("Session.wait would block the event loop, expected `await session.call(…)` here")
        calling = self.call(name, arguments)
        try:
            called = asyncio.run_coroutine_threadsafe(calling, self._loop)
        except RuntimeError as closed:
            calling.close()
            raise Abandoned from closed
        try:
            return called.result()
        except concurrent.futures.CancelledError as error:
            raise Abandoned from error

    def _accept(self, conversation: Conversation) -> bool:
        """Accepts a turn: a repetition of the last one, or the one that follows it. False if it is
        neither."""
        if self._closed or asyncio.get_running_loop() is not self._loop:
            return False
        if conversation == self._seen:
            if self._answer.done() and isinstance(self._answer.exception(), Unavailable):
                self._expect(conversation)
                self._start()
            return True
        further = self._further(conversation)
        if further is None:
            return False
        results = _results(further)
        if results is None or [c.name for c in further[0].calls] != [w.call.name for w in self._sent]:
            return False
        spoken = len(self._seen.messages) + 1
        self._expect(conversation)
        sent, self._sent = self._sent, []
        for waiting, result in zip(sent, results):
            waiting.settle(result)
        if self._outcome is not None or not self._task.done():
            self._missed += tuple(m for m in further if m.speaker is Speaker.NOTIFICATION)
        if self._outcome is not None:
            self._deliver(self._outcome)
        elif self._task.done():
            self._saved_messages = spoken
            self._start()
        elif self._pending:
            self._send_when_settled()
        return True

    def _further(self, conversation: Conversation) -> Optional[tuple[Message, ...]]:
        """The messages after the last turn, the agent's own first. None if the conversation
        differs."""
        old = self._seen.messages
        if conversation.turn != self._seen.turn + 1 or conversation.messages[: len(old)] != old:
            return None
        if not self._answer.done() or self._answer.exception() is not None:
            return None
        further = conversation.messages[len(old) :]
        return further if further and further[0].speaker is Speaker.AGENT and further[0].code is None else None

    def _expect(self, conversation: Conversation) -> None:
        """Starts to expect an answer to a turn."""
        self._seen = conversation
        self._answer: asyncio.Future[Reply] = self._loop.create_future()
        self._answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())  # mark the exception as retrieved

    def _start(self) -> None:
        self.memory = self._saved_memory
        self.new = self._seen.messages if self.memory is None else self._missed + self._seen.messages[self._saved_messages :]
        self._missed = ()
        self._task = asyncio.ensure_future(self._play())

    async def _play(self) -> None:
        """Runs the framework once."""
        outcome: Union[Reply, Exception]
        try:
            text: object = self._run(self) if is_coroutine_function(self._run) else await in_thread(self._run, self)
            if inspect.isawaitable(text):
                text = await text
            if not isinstance(text, str):
                raise TypeError(f"the run returned {type(text).__name__}, expected str: the text for the user")
            outcome = say(text)
            self._saved_memory = self.memory
        except BaseException as error:  # SystemExit would end the event loop with all conversations
            outcome = contained(error)
        self._release()
        if not self._closed:
            self._deliver(outcome)

    def _deliver(self, outcome: Union[Reply, Exception]) -> None:
        """Answers with the outcome of a run, or saves it for the next turn if none is requested."""
        if self._answer.done():
            self._outcome = outcome
            return
        self._outcome = None
        if isinstance(outcome, Exception):
            self._answer.set_exception(outcome)
        else:
            self._answer.set_result(outcome)

    def _send_when_settled(self) -> None:
        """Sends the pending calls when no further one follows."""
        self._changes += 1
        self._loop.call_later(self._wait_for_more, self._pass, self._changes, PASSES)

    def _pass(self, changes: int, passes: int) -> None:
        if changes != self._changes or self._answer.done() or not self._pending:
            return
        if passes:
            self._loop.call_soon(self._pass, changes, passes - 1)
            return
        self._sent, self._pending = self._pending[:MAX_CALLS], self._pending[MAX_CALLS:]
        self._answer.set_result(Reply(calls=tuple(waiting.call for waiting in self._sent)))

    def _release(self) -> None:
        """Cancels the waiting calls."""
        for waiting in [*self._pending, *self._sent]:
            waiting.result.cancel()
        self._pending = []

    def _close(self) -> None:
        """Cancels the run. Pending requests for a turn fail as retryable."""
        self._closed = True
        self._task.cancel()
        self._release()
        if self._timer is not None:
            self._timer.cancel()
        if not self._answer.done():
            self._answer.set_exception(Unavailable("the conversation began anew"))


def _results(further: tuple[Message, ...]) -> Optional[list[Message]]:
    """The results of the calls of the first message, in the order of the calls. None if one is missing."""
    made = [call.id for call in further[0].calls]
    found = {message.call_id: message for message in further[1:] if message.speaker is Speaker.TOOL}
    if len(set(made)) != len(made) or any(id not in found for id in made):
        return None
    return [found[id] for id in made]
