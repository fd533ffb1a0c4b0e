"""Runs as a debugger leaves them, by chance, and one in which every field says something."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from msgspec.structs import replace

from agentstepper_nb.errors import NeedsApprovalError
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AgentLabel,
    AnswerKind,
    ApprovalPrompt,
    BreakpointHits,
    ChangeKind,
    Commit,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    FileBody,
    FileChange,
    HaltPoint,
    Risk,
    RowNote,
    Run,
    RunEnding,
    RunMode,
    RunState,
    SampleTotals,
    Usage,
)
from agentstepper_nb.protocol.effects import (
    CheckRun,
    EffectCounts,
    EffectMark,
    EffectReport,
    Repetition,
)
from agentstepper_nb.protocol.inspection import SourceLocation
from agentstepper_nb.protocol.records import Record, RunHistory
from agentstepper_nb.protocol.replay_marks import ReplayMark, ReplayRole
from agentstepper_nb.protocol.seams import FoundBy, FoundTool, RunSeams, Seam, SeamKind
from agentstepper_nb.protocol.start_methods import ForkOrigin
from agentstepper_nb.store import MemoryStore
from tests.helpers.debugger_harness import DebuggerHarness

TEXTS = (
    '"hello"',
    '"größe 😀\\n\\u0000"',
    "null",
    "[1, 1.0, 1e400]",
    '{"a": [12345678901234567890]}',
)


def rows_of(history: RunHistory) -> list[HaltPoint | Event]:
    """What of a run has a row, by number."""
    said = [event for event in history.events if event.kind is EventKind.DEBUG_MESSAGE]
    return sorted([*history.halt_points, *said], key=lambda row: row.seq)


def make_random_records(seed: int, run: str = "run", steps: int = 20) -> list[Record]:
    """What a debugger saves of a run in which an agent and a person do what chance says."""
    return _RandomRun(random.Random(seed), run).records(steps)


def make_random_history(seed: int, run: str = "run", steps: int = 20) -> RunHistory:
    """The same run as a store has it in the end."""
    return fold_records(make_random_records(seed, run, steps), run)


def fold_records(records: list[Record], run: str = "run") -> RunHistory:
    """A run as a store has it after these records."""
    store = MemoryStore()
    store.append(records)
    history = asyncio.run(store.history(run))
    store.close()
    return history


class _RandomRun:
    def __init__(self, chance: random.Random, run: str) -> None:
        self._random = chance
        self._run = run
        self._harness = DebuggerHarness()

    def records(self, steps: int) -> list[Record]:
        harness = self._harness
        harness.start(self._run, workspace="/tmp/w", pid=7, host="h")
        for _ in range(steps):
            harness.now += self._random.random()
            self._random.choice(
                (
                    *(
                        self._begin_query,
                        self._begin_query,
                        self._begin_tool_call,
                        self._request_approval,
                    ),
                    *(self._post_debug_message, self._commit, self._annotate),
                )
            )()
        if self._random.random() < 0.8:
            self._step_all()
            failure = self._random.choice((None, Failure(type="ValueError", message="no")))
            harness.finish(self._run, self._random.choice(list(RunEnding)), failure)
        return harness.records

    def _pick_data(self) -> str:
        return self._random.choice(TEXTS)

    def _step_all(self) -> None:
        while self._harness.run(self._run).pending:
            try:
                self._harness.step(run=self._run)
            except NeedsApprovalError as asks:
                self._harness.deny(asks.halt_point, run=self._run)

    def _begin_query(self) -> None:
        event = self._harness.begin(EventKind.LLM_QUERY, self._run, name="model")
        asked = self._harness.reach(event, data=self._pick_data(), run=self._run, summary="asks")
        if self._random.random() < 0.5:
            self._harness.edit(asked, self._pick_data(), run=self._run)
        self._step_all()
        usage = self._random.choice((None, Usage(input_tokens=3), Usage(output_tokens=4)))
        self._harness.reach(event, EventSide.END, self._pick_data(), self._run, usage=usage)
        if self._random.random() < 0.8:
            self._step_all()

    def _begin_tool_call(self) -> None:
        point = self._harness.begin_tool_call('{"Tool": "ls", "Argument": null}', self._run)
        chance = self._random.random()
        if chance < 0.3:
            self._harness.withdraw(point, self._run)
        elif chance < 0.4:
            self._harness.skip(point, result='{"a": 1.0}', run=self._run)
        elif chance < 0.5:
            self._harness.raise_error(point, run=self._run)

    def _request_approval(self) -> None:
        asked = self._harness.request_approval(self._run)
        always = self._random.random() < 0.5
        self._random.choice(
            (
                lambda: self._harness.approve(asked, run=self._run, always=always),
                lambda: self._harness.deny(asked, reason=self._pick_data(), run=self._run),
                lambda: self._harness.decide(
                    asked, edit='{"Tool": "ls", "Argument": 1}', run=self._run
                ),
                lambda: None,  # it still waits
            )
        )()

    def _post_debug_message(self) -> None:
        self._harness.post_debug_message(self._pick_data(), self._run)

    def _commit(self) -> None:
        self._harness.commit(self._run, snapshot=self._random.random() < 0.5)

    def _annotate(self) -> None:
        points = [r.halt_point for r in self._harness.records if hasattr(r, "halt_point")]
        points = [point for point in points if isinstance(point, HaltPoint)]
        self._harness.tag("blue", "größe", run=self._run)
        self._harness.rename(f"Named {self._random.random()}", self._run)
        if points:
            point = self._random.choice(points)
            self._harness.note(point.id, self._random.choice(("a note", "")), self._run)
            self._harness.record_summary(point, "It asks.")


def make_full_history() -> RunHistory:
    """A run that ended, in which no field is left at its default."""
    failure = Failure(type="builtins.OSError", message="gone")
    run = Run(
        id="r",
        name="Night run",
        program="solver",
        notice="Full access: nothing holds its commands.",
        started_at=1.5,
        ended_at=9.25,
        state=RunState.IDLE,
        agent_state=AgentActivity.FINISHED,
        mode=RunMode.CONTINUE,
        ending=RunEnding.CRASHED,
        failure=failure,
        can_stop=False,
        can_stick_edits=True,
        rows=4,
        commits=1,
        workspace="/w",
        pid=4,
        host="h",
        tags=("a", "b"),
        usage=Usage(input_tokens=1, output_tokens=2, cost=0.5, estimated=True),
        halted_s=2.5,
        detached_at=8.0,
        exit_code=-9,
        last_event="Calls ls",
        hits=(BreakpointHits(breakpoint="s", count=2, last=2),),
        seams=RunSeams(
            seams=(Seam(library="httpx", kind=SeamKind.QUERIES, version="0.28", is_active=True),),
            tools=(FoundTool(name="ls", found_by=FoundBy.ADAPTER),),
            discovery_off_reason="Nobody asked for it.",
        ),
        effects=EffectCounts(rows=1, warnings=1, first=2),
        checks=(CheckRun(command="pytest", exit_code=1, at=9.5, line="1 failed", rows=4),),
        forked_from=ForkOrigin(run="parent", row=4),
        samples=SampleTotals(count=2, usage=Usage(input_tokens=3, output_tokens=4)),
    )
    event = Event(
        id="e",
        run="r",
        kind=EventKind.CUSTOM,
        at=2.0,
        parent="p",
        depth=1,
        name="retrieval",
        scope=("agent:planner:1", "task:2"),
        label=AgentLabel(name="planner", node="draft", parent="editor"),
        content_hash="5ca1ab1e",
        data='"x"',
        outcome=EventOutcome.ERROR,
        ended_at=3.0,
        location=SourceLocation(file="/a.py", line=42, function="ask", cell=3),
    )
    said = Event(id="d", run="r", kind=EventKind.DEBUG_MESSAGE, at=4.0, seq=3, data='"said"')
    begin = HaltPoint(
        id="b",
        run="r",
        event="e",
        seq=1,
        replay=ReplayMark(role=ReplayRole.LIVE, event="old", note="Nothing is recorded."),
        effects=EffectReport(
            marks=(EffectMark(check="no_effect", message="It changed no file."),),
            repetition=Repetition(count=2, first=1, last=1, is_unchanged=True, cycle=2),
        ),
        side=EventSide.BEGIN,
        kind=EventKind.CUSTOM,
        name="retrieval",
        depth=1,
        scope=("agent:planner:1", "task:2"),
        label=AgentLabel(name="planner", node="draft", parent="editor"),
        location=SourceLocation(file="/a.py", line=42, function="ask", cell=3),
        at=2.0,
        data='[1.0, NaN, "😀"]',
        waits=False,
        is_strict_json=False,
        agent="core",
        summary="asks",
        revision=3,
        edit="null",
        sticky=True,
        supplied='{"a": 1.0}',
        raised=Failure(type="ValueError", message="no"),
        guides=("Look first.",),
        edit_rules=("x",),
        schema='{"type": "object"}',
        result_type="a.Found",
        signal='{"type": "a.Done"}',
        model_summary="It asks.",
        answer=AnswerKind.DENY,
        answered_at=2.5,
        breakpoints=("s",),
        breakpoint_error="no number",
        reason="Not today.",
    )
    end = replace(
        begin,
        id="c",
        seq=2,
        side=EventSide.END,
        around="p",
        outcome=EventOutcome.ERROR,
        failure=failure,
        traceback='  File "solve.py", line 3, in größe\n    raise OSError("gone")',
        usage=Usage(input_tokens=5, output_tokens=6, cost=0.125),
        duration=0.5,
        reason=None,
    )
    call = Event(
        id="t", run="r", kind=EventKind.TOOL_INVOCATION, at=6.0, name="ls", found_by=FoundBy.ADAPTER
    )
    asked = HaltPoint(
        id="a",
        run="r",
        event="t",
        seq=4,
        side=EventSide.BEGIN,
        kind=EventKind.TOOL_INVOCATION,
        name="ls",
        at=6.0,
        data='{"Tool": "ls", "Argument": null}',
        answer=AnswerKind.RESUME,
        answered_at=6.5,
        approval=ApprovalPrompt(risk=Risk.HIGH, why="It lists secrets.", rule="ls *"),
        always=True,
    )
    return RunHistory(
        run=run,
        events=(event, said, call),
        halt_points=(begin, end, asked),
        commits=(_commit(),),
        notes=(RowNote(run="r", message="d", text="why?", at=5.0),),
    )


def _commit(**fields: Any) -> Commit:
    body = FileBody(diff="+new\n", content="new\n", previous_content="old\n")
    changes = (
        FileChange(
            path="a.py",
            kind=ChangeKind.RENAMED,
            previous_path="b.py",
            added=1,
            removed=1,
            body=body,
        ),
        FileChange(path="c.bin", kind=ChangeKind.ADDED, binary=True, size=9, digest="d" * 40),
    )
    return Commit(
        id="c0ffee",
        run="r",
        at=3.5,
        title="Mend it",
        description="It was broken.",
        event="e",
        seq=2,
        snapshot=True,
        has_rule_title=True,
        model_summary="It mends a.py.",
        changes=changes,
    )
