"""One Debugger with a scripted agent and a scripted person, so that a test reads like a conversation."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from agentstepper_nb.core import (
    AnswerDecision,
    AnswerOutput,
    Debugger,
    LeaseGranted,
    Output,
    RecordOutput,
)
from agentstepper_nb.core.run_state import RunStates
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, Price
from agentstepper_nb.protocol.data_model import (
    AnswerKind,
    ApprovalPrompt,
    ChangeKind,
    Commit,
    Event,
    EventKind,
    EventSide,
    Failure,
    FileChange,
    HaltPoint,
    Risk,
    RowNote,
    Run,
    RunEnding,
    RunState,
)
from agentstepper_nb.protocol.edit_rules import EditRuleDefinition
from agentstepper_nb.protocol.records import AgentCredentials, Record, SummarySaved
from agentstepper_nb.protocol.step_targets import StepTarget

#: A tool call.
TOOL_CALL_JSON = '{"Tool": "ls", "Argument": {"path": "."}}'


class SentAnswer(NamedTuple):
    """What an agent was answered."""

    halt_point: str
    answer: AnswerKind = AnswerKind.RESUME
    edit: str | None = None
    run: str = "run"


class DebuggerHarness:
    """A debugger, a clock that only moves when told, and all that came out."""

    def __init__(self) -> None:
        self.debugger = Debugger()
        self.now = 1000.0
        self.records: list[Record] = []
        self.answers: list[SentAnswer] = []
        self.leases: list[LeaseGranted] = []
        self.sent_halt_points: list[HaltPoint] = []  # as they then stood
        self._ids = 0

    def new_id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}{self._ids}"

    def perform(self, outputs: list[Output]) -> None:
        """What the hub does: records are kept, replies are sent."""
        for output in outputs:
            if isinstance(output, RecordOutput):
                self.records.append(output.record)
                if output.halt_point is not None:
                    self.sent_halt_points.append(output.halt_point)
            elif isinstance(output, LeaseGranted):
                self.leases.append(output)
            else:
                assert isinstance(output, AnswerOutput)
                point = output.halt_point
                self.answers.append(SentAnswer(point.id, output.answer, point.edit, point.run))

    # ---- the agent ----------------------------------------------------------------------------------

    def start(self, run: str = "run", program: str = "P", **fields: Any) -> str:
        header = Run(id=run, name="", program=program, started_at=self.now, **fields)
        self.perform(self.debugger.start_run(header, AgentCredentials(secret="s", boot="b")))
        return run

    def begin(
        self,
        kind: EventKind = EventKind.LLM_QUERY,
        run: str = "run",
        id: str | None = None,
        **fields: Any,
    ) -> str:
        event = Event(id=id or self.new_id("e"), run=run, kind=kind, at=self.now, **fields)
        self.perform(self.debugger.begin_event(event))
        return event.id

    def reach(
        self,
        event: str,
        side: EventSide = EventSide.BEGIN,
        data: str = '"hello"',
        run: str = "run",
        id: str | None = None,
        leased: bool = False,
        **fields: Any,
    ) -> str:
        point = HaltPoint(
            id=id or self.new_id("b"),
            run=run,
            event=event,
            seq=0,
            side=side,
            kind=EventKind.PROGRAM_STARTED,
            at=self.now,
            data=data,
            **fields,
        )
        self.perform(self.debugger.reach_halt_point(point, self.now, leased=leased))
        return point.id

    def begin_query(self, run: str = "run") -> tuple[str, str]:
        """Begin an LLM query and reach its begin: the event and the halt point."""
        event = self.begin(run=run)
        return event, self.reach(event, run=run)

    def begin_tool_call(self, data: str, run: str = "run") -> str:
        """Begin a tool invocation and reach its begin."""
        return self.reach(self.begin(EventKind.TOOL_INVOCATION, run), data=data, run=run)

    def request_approval(
        self, run: str = "run", id: str | None = None, risk: Risk = Risk.MEDIUM, **fields: Any
    ) -> str:
        """Begin a tool invocation and reach its begin, which asks for an approval."""
        fields.setdefault("data", TOOL_CALL_JSON)
        event = self.begin(EventKind.TOOL_INVOCATION, run)
        asks = ApprovalPrompt(risk=risk, why="It deletes files.")
        return self.reach(event, run=run, id=id, approval=asks, **fields)

    def post_debug_message(self, text: str, run: str = "run") -> str:
        return self.begin(EventKind.DEBUG_MESSAGE, run, data=text)

    def commit(
        self,
        run: str = "run",
        id: str | None = None,
        snapshot: bool = False,
        changes: tuple[FileChange, ...] = (FileChange(path="a.py", kind=ChangeKind.ADDED),),
    ) -> None:
        commit = Commit(
            id=id or self.new_id("c"),
            run=run,
            at=self.now,
            title="Change",
            snapshot=snapshot,
            changes=changes,
        )
        self.perform(self.debugger.add_commit(commit))

    def withdraw(self, halt_point: str, run: str = "run") -> None:
        self.perform(self.debugger.withdraw(run, halt_point, self.now))

    def decide(
        self,
        halt_point: str,
        denied: str | None = None,
        edit: str | None = None,
        run: str = "run",
        *,
        always: bool = False,
    ) -> None:
        """Somebody at the agent approves, or denies with a reason."""
        answer = AnswerKind.RESUME if denied is None else AnswerKind.DENY
        verdict = AnswerDecision(answer, denied, always)
        self.perform(
            self.debugger.commands.answers.decide(run, self.now, halt_point, verdict, edit)
        )

    def await_message(self, run: str = "run") -> None:
        self.perform(self.debugger.await_message(run))

    def acknowledge(self, n: int, run: str = "run") -> None:
        self.perform(self.debugger.record_received(run, n))

    def detach(self, run: str = "run") -> None:
        self.perform(self.debugger.detach(run, self.now))

    def attach(self, run: str = "run", failure: Failure | None = None) -> None:
        self.perform(self.debugger.attach(run, failure))

    def finish(
        self,
        run: str = "run",
        ending: RunEnding = RunEnding.FINISHED,
        failure: Failure | None = None,
        exit_code: int | None = None,
    ) -> None:
        ids = (self.new_id("e"), self.new_id("b"))
        outputs = self.debugger.finish_run(run, ending, self.now, ids, failure, exit_code)
        self.perform(outputs)

    def report_exit(self, code: int, failure: Failure | None = None, run: str = "run") -> None:
        self.perform(self.debugger.report_exit(run, code, failure))

    # ---- the person ---------------------------------------------------------------------------------

    def step(
        self,
        halt_point: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
        run: str = "run",
        target: StepTarget | None = None,
    ) -> None:
        commands = self.debugger.commands
        self.perform(commands.step(run, self.now, halt_point, revision, edit, target))

    def end_scope(self, *scope: str, run: str = "run") -> None:
        """An agent, a task, a thread or a job has ended."""
        self.perform(self.debugger.end_scope(run, scope))

    def resume(
        self,
        halt_point: str | None = None,
        revision: int | None = None,
        edit: str | None = None,
        run: str = "run",
    ) -> None:
        self.perform(self.debugger.commands.resume(run, self.now, halt_point, revision, edit))

    def approve(
        self,
        halt_point: str,
        revision: int = 1,
        edit: str | None = None,
        run: str = "run",
        *,
        always: bool = False,
        confirmed: bool = False,
    ) -> None:
        said = {"always": always, "confirmed": confirmed}
        self.perform(
            self.debugger.commands.approve(run, self.now, halt_point, revision, edit, **said)
        )

    def deny(
        self, halt_point: str, revision: int = 1, reason: str = "Not today.", run: str = "run"
    ) -> None:
        self.perform(self.debugger.commands.deny(run, self.now, halt_point, revision, reason))

    def skip(self, halt_point: str, revision: int = 1, result: str = "7", run: str = "run") -> None:
        answers = self.debugger.commands.answers
        self.perform(answers.skip(run, self.now, halt_point, revision, result))

    def raise_error(
        self, halt_point: str, revision: int = 1, type: str = "ValueError", run: str = "run"
    ) -> None:
        answers = self.debugger.commands.answers
        self.perform(answers.raise_error(run, self.now, halt_point, revision, "no luck", type))

    def guide(self, halt_point: str, text: str, revision: int = 1, run: str = "run") -> None:
        answers = self.debugger.commands.answers
        self.perform(answers.guide(run, halt_point, revision, text))

    def set_edit_rule(self, rule: EditRuleDefinition) -> None:
        self.perform(self.debugger.commands.rules.set_edit_rule(rule))

    def delete_edit_rule(self, id: str) -> None:
        self.perform(self.debugger.commands.rules.delete_edit_rule(id))

    def halt(self, run: str = "run") -> None:
        self.perform(self.debugger.commands.halt(run))

    def stop(self, run: str = "run") -> None:
        self.perform(self.debugger.commands.stop(run, self.now))

    def set_breakpoint(self, breakpoint: BreakpointRule) -> None:
        self.perform(self.debugger.commands.rules.set_breakpoint(breakpoint))

    def delete_breakpoint(self, id: str) -> None:
        self.perform(self.debugger.commands.rules.delete_breakpoint(id))

    def set_prices(self, *prices: Price) -> None:
        self.perform(self.debugger.commands.rules.set_prices(prices))

    def edit(
        self, halt_point: str, edit: str | None, revision: int | None = None, run: str = "run"
    ) -> None:
        self.perform(self.debugger.commands.edit(run, halt_point, edit, revision))

    def rename(self, name: str, run: str = "run") -> None:
        self.perform(self.debugger.commands.rename(run, name))

    def tag(self, *tags: str, run: str = "run") -> None:
        self.perform(self.debugger.commands.tag(run, tags))

    def note(self, message: str, text: str, run: str = "run") -> None:
        note = RowNote(run=run, message=message, text=text, at=self.now)
        self.perform(self.debugger.commands.write_note(note))

    def record_summary(self, about: HaltPoint | Commit, text: str) -> None:
        made = SummarySaved(run=about.run, id=about.id, key=f"key of {text}", text=text)
        self.perform(self.debugger.commands.record_summary(made, about))

    def delete(self, run: str = "run") -> None:
        self.perform(self.debugger.commands.delete(run))

    # ---- looking ------------------------------------------------------------------------------------

    def run(self, run: str = "run") -> Run:
        return self.debugger.run(run)

    def state(self, run: str = "run") -> RunState:
        return self.run(run).state

    def find_halt_point(self, id: str) -> HaltPoint:
        """A halt point as the records tell it."""
        return last(
            record.halt_point for record in self.records if is_halt_point_record(record, id)
        )

    def find_event(self, id: str) -> Event:
        """An event as the records tell it."""
        return last(r.event for r in self.records if hasattr(r, "event") and r.event.id == id)


def is_halt_point_record(record: Any, id: str) -> bool:
    return isinstance(getattr(record, "halt_point", None), HaltPoint) and (
        record.halt_point.id == id
    )


def last(values: Any) -> Any:
    return list(values)[-1]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


def replay_states(records: list[Record]) -> RunStates:
    """The state of a Core that starts anew on these records."""
    debugger = Debugger()
    debugger.restore(records)
    return debugger._runs


def round_trip(records: list[Record]) -> list[Record]:
    """The records after a way through bytes."""
    return [_decoder.decode(_encoder.encode(record)) for record in records]
