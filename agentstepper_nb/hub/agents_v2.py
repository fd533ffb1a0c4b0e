"""Runs of agents of version 2, as the hub meets them: each may have one connection after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from ..core import LeaseGranted, Output
from ..core.summaries import extract_first_line
from ..errors import ProtocolError
from ..protocol import agent as v2
from ..protocol.answers import ResumeAnswer
from ..protocol.data_model import AnswerKind, EventKind, HaltPoint, Run
from ..protocol.delta_decoding import decode_contents
from ..protocol.delta_encoding import DeltaDecoder
from ..protocol.envelope import Envelope, decode_envelope_header
from ..protocol.records import AgentCredentials
from . import agent_messages, end_reasons, hello_messages, program_requests
from .agent_liveness import AgentProcess
from .agent_messages import AcknowledgementTimer, MessageQueue, MessageSequence
from .agent_questions import AgentQuestions
from .agent_timeline import make_timeline
from .agents import AgentPeerSession, describe_commit
from .connection import AccessRights, Connection
from .hello_checks import ALREADY_GREETED, check_version, find_resumed_run
from .run_service import RunService

_BYE_RECEIVED: Final = "This run has ended by bye. Open a new connection for a new run."
_ENDS_WITH_BYE: Final = "A run of protocol version 2 ends with the message bye. Send bye instead."


class AgentPeerSessionV2(AgentPeerSession):
    """The session of one run on a connection of a version 2 agent, which opens or resumes the run.

    Args:
        hub: The Core's service.
        connection: The agent's connection.
        rights: The rights of the agent's token.
        name: The run that messages of this session name; None: they name none.
        close: Closes the connection with a code and a reason; returns False if other runs share it.
    """

    def __init__(
        self,
        hub: RunService,
        connection: Connection,
        rights: AccessRights,
        name: str | None,
        close: Callable[[int, str], bool],
    ) -> None:
        super().__init__(hub, connection)
        self._rights = rights
        self._name = name
        self._close_connection = close
        self.greeted_run: str | None = None  # the run whose hello was taken
        self.is_shared = False  # whether that hello lets other runs say hello on the connection
        self.is_disconnected = False  # its messages are refused until it says hello again
        self._sent = 0
        self._is_over = False  # it said bye, or has another connection
        self._agent_process = AgentProcess(0, "", "")
        self._sequence = MessageSequence()
        self._acknowledgements = AcknowledgementTimer(
            lambda n: self._send(v2.MessagesAcknowledged(received=n)), hub.limits
        )
        self._is_welcomed = False
        self._lease: LeaseGranted | None = None  # the last that is recorded
        self._epoch = 0
        self._turns = MessageQueue(self._refuse)
        self._decoder = DeltaDecoder(max_content_bytes=hub.limits.max_content_bytes)
        self._unsent_answers: set[str] = set()  # halt points whose answers it may have missed
        self._waiting: frozenset[str] = frozenset()  # that it waited for when it came back
        self._caught_up = asyncio.Event()  # what it had sent before has been sent again
        self._last_sent_before = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions = AgentQuestions(hub.new_id, self._send)

    def on_closed(self) -> None:
        """Handle the connection's end."""
        self._release()
        super().on_closed()

    def on_replaced(self) -> None:
        """Detach this connection: the agent has opened another one for its run."""
        self.run = None
        self._is_over = True
        self._release()
        self.close(1000, "The agent has connected again.")

    def reply(self, halt_point: HaltPoint, answer: AnswerKind) -> None:
        """Send a halt point's answer, or hold it back until the welcome is sent."""
        if not self._is_welcomed:
            self._unsent_answers.add(halt_point.id)
            return
        self._unsent_answers.discard(halt_point.id)
        encoded = agent_messages.encode_answer(halt_point, answer)
        self._send(v2.AnswerMessage(halt_point=halt_point.id, answer=encoded))

    def send_lease(self, lease: LeaseGranted) -> None:
        """Send a lease, or hold it back until the welcome is sent."""
        self._lease = lease
        if self._is_welcomed:
            self._epoch += 1
            self._send(agent_messages.encode_lease(lease, self._epoch))

    def on_core_closed(self) -> None:
        """Acknowledge the recorded messages."""
        self._acknowledgements.flush()
        self._release()

    # ---- messages -----------------------------------------------------------------------------------

    def receive_message(self, envelope: Envelope, text: str) -> None:
        """Handle a message whose envelope is decoded."""
        if self.is_disconnected:
            return
        try:
            message = v2.from_agent.decode_body(envelope)
            if isinstance(message, v2.HaltPointReached) and message.pieces is not UNSET:
                message = decode_contents(message, self._decoder)
        except ProtocolError as error:
            if error.code == "unknown_content":
                self._reset_connection(error)
            else:
                self.receive_unreadable(text, error)
        else:
            self._turns.process(text, partial(self._dispatch, envelope, message, text))

    def receive_unreadable(self, text: str, error: ProtocolError) -> None:
        """Handle a message whose envelope or body can't be decoded."""
        self._turns.process(text, partial(self._accept_unreadable, text, error))

    def _accept_unreadable(self, text: str, error: ProtocolError) -> None:
        if self.run is not None and self._sequence.accept_unreadable(
            decode_envelope_header(text).n
        ):
            self._record(self.run, [], len(text))
        raise error

    def _dispatch(self, envelope: Envelope, message: object, text: str) -> None:
        run, id = self.run, None if envelope.id is UNSET else envelope.id
        if run is None or isinstance(message, v2.Hello | program_requests.ProgramRequest):
            self._dispatch_without_run(envelope.n, message, id, text)
        elif (
            # This Core has yet to read what the run's effect checks, or its breakpoints, saw.
            isinstance(message, v2.HaltPointReached)
            and self.hub.debugger.halt_policy.needs_history(run)
        ):
            self._turns.defer(text, partial(self._dispatch, envelope, message, text))
            self._run_task(partial(self._replay_history, run))
        elif self._sequence.accept(envelope.n):
            outputs: list[Output] = []
            try:
                outputs = self._execute(run, message, id, text)
            finally:  # a message that is refused was received, too
                size = max(len(text), agent_messages.count_content_bytes(message))
                self._record(run, outputs, size)

    def _dispatch_without_run(self, n: int, message: object, id: str | None, text: str) -> None:
        """Process a message that concerns no run, or that opens one."""
        if isinstance(message, program_requests.ProgramRequest):
            self._run_task(partial(self._answer, message, id), text)
        elif isinstance(message, v2.Hello):
            self._hello(message, n)
        elif self._is_over:
            raise ProtocolError("run_ended", _BYE_RECEIVED)
        else:
            raise ProtocolError(
                "hello_expected", "This connection hasn't begun. Send the message hello first."
            )

    def _reset_connection(self, error: ProtocolError) -> None:
        """Close the connection because the two sides' content caches differ; the agent then resends."""
        self.hub.log.warning("an agent's connection is closed: %s", error.message)
        self.close(1003, "unknown_content: send the content again on a new connection.")

    def _record(self, run: str, outputs: list[Output], size: int) -> None:
        """Perform a message's outputs, and record with them that the message was received."""
        n = self._sequence.last_received
        received = self.hub.debugger.record_received(run, n)
        acknowledge = partial(self._acknowledgements.acknowledge, n, size)
        self.hub.perform([*outputs, *received], on_synced=acknowledge)
        if n >= self._last_sent_before:
            self._caught_up.set()

    def _execute(self, run: str, message: object, id: str | None, text: str) -> list[Output]:
        debugger, now = self.hub.debugger, self.hub.clock()
        match message:
            case v2.EventBegun(kind=EventKind.PROGRAM_FINISHED):
                raise ProtocolError("invalid_message", _ENDS_WITH_BYE)
            case v2.EventBegun():
                return debugger.begin_event(
                    agent_messages.decode_event(message, run), message.seams
                )
            case v2.HaltPointReached():
                reached = agent_messages.decode_point(message, run)
                was_sent_before = self._sequence.last_received <= self._last_sent_before
                if was_sent_before and reached.id not in self._waiting:
                    # Its agent may have its answer, which the store lost.
                    reached = replace(reached, waits=False)
                return debugger.reach_halt_point(reached, now, leased=message.epoch > 0)
            case v2.Withdraw():
                return debugger.withdraw(run, message.halt_point, now)
            case v2.DecideApproval(halt_point=decided, data=data):
                decision = agent_messages.decode_decision(message)
                edit = None if data is UNSET else str(data, "utf-8")
                return debugger.commands.answers.decide(run, now, decided, decision, edit)
            case v2.EditChecked() | v2.HaltPointInspected() | v2.SampleMade():
                self._questions.resolve(message)
                return []
        return self._execute_other(run, message, id, text)

    def _execute_other(self, run: str, message: object, id: str | None, text: str) -> list[Output]:
        """Execute a message that concerns neither an event nor a halt point."""
        match message:
            case v2.CommitMade():
                commit = agent_messages.decode_commit(message, run)
                self.hub.log.info("%s", describe_commit(commit))
                return self.hub.debugger.add_commit(commit)
            case v2.UserMessageAwaited():
                return self.hub.debugger.await_message(run)
            case v2.ScopeEnded(scope=scope):
                return self.hub.debugger.end_scope(run, scope)
            case v2.GetTimeline():
                self._run_task(partial(self._send_timeline, run, id), text)
            case v2.ProcessEnded():
                ended = self._agent_process._replace(pid=message.pid)
                self.hub.agent_liveness.on_process_ended(ended, message.code)
            case v2.Bye():
                self._bye(run, message)
        return []

    def _bye(self, run: str, bye: v2.Bye) -> None:
        self._is_over = True
        self.run = None
        self._acknowledgements.set_immediate()
        self._questions.end()
        self.hub.unregister_agent(run)
        self.hub.finish(run, bye.ending, bye.failure)

    # ---- hello --------------------------------------------------------------------------------------

    def _hello(self, hello: v2.Hello, n: int) -> None:
        check_version(hello)
        if self._is_over or self.run is not None:
            if self.run is not None:
                self._sequence.accept(n)  # it was received, as all that is refused
            raise ProtocolError("already_open", ALREADY_GREETED)
        liveness = self.hub.agent_liveness
        credentials = hello_messages.make_credentials(hello, self._rights, liveness)
        known = self.hub.find(hello.run)
        if known is None and not hello.sent:
            outputs = self._start_run(hello, n, credentials)
        else:
            run = find_resumed_run(self.hub.debugger, known, hello, n, credentials.secret)
            outputs = self._resume_run(hello, n, run)
        self._agent_process = AgentProcess(hello.pid, hello.host, hello.boot)
        self._questions.on_hello(hello)
        self.run = self.greeted_run = hello.run
        self.is_shared = hello.shares_connection is True
        self.hub.register_agent(hello.run, self)
        self._lease = self.hub.debugger.lease(hello.run)
        outputs += self.hub.debugger.record_received(hello.run, self._sequence.last_received)
        # It forgets what it is told is kept, and what it sends next goes on from there.
        stored = self.hub.debugger.agent_credentials(hello.run)
        welcome = hello_messages.make_welcome(
            hello, self._sequence.last_received, None if stored is None else stored.hash_key
        )
        self.hub.perform(outputs, on_synced=partial(self._welcome, welcome))

    def _welcome(self, welcome: v2.Welcome) -> None:
        if self.run is None:
            return  # it has hung up meanwhile
        self._send(welcome)
        self._is_welcomed = True
        self.hub.agent_questions[self.run] = self._questions
        if self._lease is not None:
            self.send_lease(self._lease)
        if self._unsent_answers:
            self._run_task(self._resend_answers)

    def _start_run(self, hello: v2.Hello, n: int, credentials: AgentCredentials) -> list[Output]:
        self.hub.check_store()
        self._sequence = MessageSequence(n)
        outputs = self.hub.debugger.start_run(
            hello_messages.make_run(hello, self.hub.clock()), credentials
        )
        self.hub.log.info(
            "run %s of %s started", extract_first_line(hello.run), extract_first_line(hello.program)
        )
        return outputs

    def _resume_run(self, hello: v2.Hello, n: int, run: Run) -> list[Output]:
        """Take over the run from its earlier connection."""
        last_received = self.hub.debugger.last_received(run.id)
        failure = None
        if hello.acknowledged > last_received:
            failure = end_reasons.describe_damaged_run(hello.acknowledged - last_received)
            self.hub.log.error("run %s: %s", extract_first_line(run.id), failure.message)
        self._sequence = MessageSequence(max(last_received, hello.acknowledged))
        self._last_sent_before = hello.sent
        self._waiting = frozenset(hello.waiting)
        if self._sequence.last_received >= hello.sent:
            self._caught_up.set()
        self._unsent_answers = set(hello.waiting).difference(run.pending)
        self.hub.replace_agent(run.id)
        self.hub.log.info("run %s: its agent has reconnected", extract_first_line(run.id))
        outputs = self.hub.debugger.attach(run.id, failure)
        for id in run.pending:
            if id not in self._waiting:  # it has its answer, which the store lost, or gave up
                outputs += self.hub.debugger.withdraw(run.id, id, self.hub.clock())
        return outputs

    async def _resend_answers(self) -> None:
        """Send the answers made while the agent was disconnected, or just before it left."""
        for id in list(self._unsent_answers):
            await self._answer_from_store(id)
        await self._caught_up.wait()
        for id in list(self._unsent_answers):
            if not await self._answer_from_store(id):
                # The store has lost this one, and its agent would wait for ever.
                self._unsent_answers.discard(id)
                self._send(v2.AnswerMessage(halt_point=id, answer=ResumeAnswer()))

    async def _answer_from_store(self, id: str) -> bool:
        """Send a halt point's stored answer; False if the run has no such halt point."""
        if self.run is None:
            return True
        found = await self.hub.store.message(self.run, id)
        if not isinstance(found, HaltPoint):
            return False
        if id in self._unsent_answers and found.answer not in (None, AnswerKind.WITHDRAWN):
            self.reply(found, found.answer)
        self._unsent_answers.discard(id)
        return True

    # ---- what takes its time ------------------------------------------------------------------------

    async def _send_timeline(self, run: str, id: str | None) -> None:
        """Answer with the timeline of all that the agent sent before this request."""
        await self.hub.wait_recorded()
        self._send(await make_timeline(self.hub, run), id)

    async def _answer(self, question: program_requests.ProgramRequest, id: str | None) -> None:
        self._send(await program_requests.answer_request(self.hub, question, self._rights), id)

    async def _replay_history(self, run: str) -> None:
        """Replay the run's history to its checks and breakpoints, then process the held messages."""
        history = None
        try:
            history = await self.hub.history(run)
        except Exception as error:  # hurt, or deleted meanwhile
            self.hub.log.warning(
                "run %s: its effect checks, and the hit counts of its breakpoints, begin anew: %s",
                extract_first_line(run),
                error,
            )
        self.hub.debugger.halt_policy.restore_history(run, history)
        self._turns.resume()

    def _run_task(self, work: Callable[[], Coroutine[Any, Any, None]], text: str = "") -> None:
        task = asyncio.ensure_future(self._guarded(work, text))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]], text: str) -> None:
        try:
            await work()
        except Exception as error:  # ended and deleted meanwhile, say
            self._refuse(error, text)

    def _release(self) -> None:
        self._acknowledgements.end()
        self._questions.end()
        for task in self._tasks:
            task.cancel()

    def _handle_disconnect(self, run: str) -> None:
        self.hub.mark_detached(run)

    # ---- sending ------------------------------------------------------------------------------------

    def _send(self, message: v2.CoreToAgent, id: str | None = None) -> None:
        self._sent += 1
        self.connection.send(v2.to_agent.encode(message, self._sent, id, self._name))

    def close(self, code: int, reason: str) -> None:
        """End the connection for this run; the agent may say hello again."""
        self.is_disconnected = True
        if not self._close_connection(code, reason):
            self._send(v2.RunDisconnected(code=code, reason=reason))
            self.on_closed()

    def _send_error(self, code: str, message: str, text: str | None) -> None:
        number = None if text is None else decode_envelope_header(text).n
        self._send(v2.AgentError(code=code, message=message, n=number))
