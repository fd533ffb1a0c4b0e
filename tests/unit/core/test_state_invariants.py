"""Whatever agents and people do: what `debugging_invariants` has always holds."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    initialize,
    precondition,
    rule,
)
from msgspec.structs import replace

from agentstepper_nb.errors import AgentStepperError
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, Price, Reaction
from agentstepper_nb.protocol.data_model import (
    ApprovalPrompt,
    EventKind,
    EventSide,
    Failure,
    Risk,
    Run,
    RunEnding,
    RunMode,
    RunState,
)
from agentstepper_nb.protocol.edit_rules import EditRuleDefinition, SetValue
from agentstepper_nb.protocol.records import (
    RunHistory,
)
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from tests.helpers.debugger_harness import (
    TOOL_CALL_JSON,
    is_halt_point_record,
)
from tests.unit.core.debugging_invariants import DebuggingInvariants, Named, is_rule, run_of

ASKED = {risk: ApprovalPrompt(risk=risk, why="It deletes files.") for risk in Risk}
RUNS = ("one", "two", "three", "four")
CALLS = [EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION, EventKind.CUSTOM]
KINDS = [*CALLS, EventKind.PROGRAM_STARTED, EventKind.DEBUG_MESSAGE]
EDITS = [None, None, "null", '""', '"hello"', '{"Tool": "ls", "Argument": 1}', "{", "NaN"]


run_ids = st.sampled_from(RUNS)
few = st.integers(0, 7)
revisions = st.sampled_from([None, 1, 1, 2, 3])
edits = st.sampled_from(EDITS)
reasons = st.sampled_from([None, None, "Not today.", ""])
breakpoint_ids = st.sampled_from(("s", "t", "u"))
SCOPES = [(), (), ("task:1",), ("task:2",), ("task:1", "thread:1")]
scopes = st.sampled_from(SCOPES)
aims = st.none() | st.builds(
    StepTarget,
    kind=st.sampled_from(StepKind),
    freeze_others=st.booleans(),
    event_kind=st.sampled_from([None, EventKind.LLM_QUERY]),
    side=st.sampled_from([None, EventSide.END]),
)


class RandomDebugging(DebuggingInvariants):
    """A few runs whose agents mostly do what they may; ids are few, so that the rest collides."""

    runs = Bundle("runs")
    events = Bundle("events")
    points = Bundle("points")

    def meant(self, point: Named, number: int) -> Named:
        """Mostly a pending halt point of that run; now and then the one that was drawn."""
        run, _ = point
        status = self.harness.debugger._runs.status.get(run)
        pending = list(status.pending) if status else []
        return (run, pending[number % len(pending)]) if number and pending else point

    def tries(self, does: Any, *args: Any, **named: Any) -> Any:
        """Do it. What is refused has changed nothing."""
        runs = self.harness.debugger._runs
        before = copy.deepcopy(runs), list(self.harness.records), list(self.harness.answers)
        try:
            return does(*args, **named)
        except AgentStepperError:
            assert (runs, self.harness.records, self.harness.answers) == before
            assert self.harness.debugger._transitions.outputs == []
            return None

    # ---- agents -------------------------------------------------------------------------------------

    @initialize(target=runs)
    def begin_one(self) -> str:
        return self.harness.start("one")

    @rule(target=runs, run=run_ids, old=st.booleans(), mode=st.sampled_from(RunMode))
    def start(self, run: str, old: bool, mode: RunMode) -> str:
        mode = RunMode.STEP if old else mode
        self.tries(self.harness.start, run, can_stop=not old, mode=mode)
        return run

    @rule(
        target=points,
        run=runs,
        kind=st.sampled_from(CALLS),
        waits=st.sampled_from([1, 1, 0]),
        scope=scopes,
        around=few,
    )
    def call(
        self, run: str, kind: EventKind, waits: int, scope: tuple[str, ...], around: int
    ) -> Named:
        status = self.harness.debugger._runs.status.get(run)
        opened = list(status.open_events) if status else []
        parent = opened[around] if around < len(opened) else None
        event = self.tries(
            self.harness.begin, kind, run, name="retrieval", parent=parent, scope=scope
        )
        point = event and self.tries(self.harness.reach, event, run=run, waits=bool(waits))
        return run, point or "none"

    @rule(target=points, run=runs, number=few, waits=st.sampled_from([1, 1, 0]))
    def end_call(self, run: str, number: int, waits: int) -> Named:
        """End one of the events that are open."""
        status = self.harness.debugger._runs.status.get(run)
        begun = [id for id, each in status.open_events.items() if each.has_begun] if status else []
        event = begun[number % len(begun)] if begun else "none"
        point = self.tries(self.harness.reach, event, EventSide.END, run=run, waits=bool(waits))
        return run, point or "none"

    @rule(target=events, run=runs, kind=st.sampled_from(KINDS), number=few, parent=few)
    def begin(self, run: str, kind: EventKind, number: int, parent: int) -> Named:
        id = f"e{number}"
        self.tries(self.harness.begin, kind, run, id=id, parent=f"e{parent}", name="retrieval")
        return run, id

    @rule(target=points, event=events, side=st.sampled_from(EventSide), number=st.integers(0, 30))
    def reach(self, event: Named, side: EventSide, number: int) -> Named:
        run, event_id = event
        self.tries(self.harness.reach, event_id, side, run=run, id=f"b{number}")
        return run, f"b{number}"

    @rule(
        target=points,
        run=runs,
        waits=st.booleans(),
        breakpoints=st.lists(breakpoint_ids, max_size=2),
        error=st.sampled_from([None, None, None, "no number"]),
    )
    def leased(self, run: str, waits: bool, breakpoints: list[str], error: str | None) -> Named:
        """A halt point whose agent has decided whether it waits."""
        event = self.tries(self.harness.begin, EventKind.TOOL_INVOCATION, run)
        said = {"waits": waits, "breakpoints": tuple(breakpoints), "breakpoint_error": error}
        point = event and self.tries(self.harness.reach, event, run=run, leased=True, **said)
        return run, point or "none"

    @rule(
        target=points,
        run=runs,
        waits=st.sampled_from([1, 1, 1, 0]),
        leased=st.booleans(),
        risk=st.sampled_from(Risk),
    )
    def request_approval(self, run: str, waits: int, leased: bool, risk: Risk) -> Named:
        """A call that asks for an approval."""
        event = self.tries(self.harness.begin, EventKind.TOOL_INVOCATION, run)
        said = {
            "waits": bool(waits),
            "leased": leased,
            "approval": ASKED[risk],
            "data": TOOL_CALL_JSON,
        }
        point = event and self.tries(self.harness.reach, event, run=run, **said)
        return run, point or "none"

    @rule(point=points, number=few, denied=reasons, edit=edits, always=st.booleans())
    def decide(
        self, point: Named, number: int, denied: str | None, edit: str | None, always: bool
    ) -> None:
        run, id = self.meant(point, number)
        answered = len(self.harness.answers)
        self.tries(self.harness.decide, id, denied, edit, run, always=always)
        self.heed_approval(run, id, answered)

    def heed_approval(self, run: str, id: str, answered: int) -> None:
        """Note what was approved just now, where more was answered than before."""
        if len(self.harness.answers) > answered:
            self.approved.add((run, id))

    @rule(point=points, number=few)
    def withdraw(self, point: Named, number: int) -> None:
        run, id = self.meant(point, number)
        self.tries(self.harness.withdraw, id, run)

    @rule(run=runs, scope=scopes)
    def end_scope(self, run: str, scope: tuple[str, ...]) -> None:
        self.tries(self.harness.end_scope, *scope, run=run)

    @rule(run=runs, number=few)
    def commit(self, run: str, number: int) -> None:
        self.tries(self.harness.commit, run, f"c{number}")

    @rule(run=runs, n=few)
    def acknowledge(self, run: str, n: int) -> None:
        self.tries(self.harness.acknowledge, n, run)

    @rule(run=runs)
    def detach(self, run: str) -> None:
        self.tries(self.harness.detach, run)

    @rule(run=runs, lost=st.booleans())
    def attach(self, run: str, lost: bool) -> None:
        failure = Failure(type="Damaged", message="Some is lost.") if lost else None
        self.tries(self.harness.attach, run, failure)

    @precondition(lambda self: len(self.live()) > 1)
    @rule(run=runs, ending=st.sampled_from(RunEnding))
    def finish(self, run: str, ending: RunEnding) -> None:
        self.tries(self.harness.finish, run, ending)

    @rule(seconds=st.floats(0, 10))
    def wait(self, seconds: float) -> None:
        self.harness.now += seconds

    # ---- people -------------------------------------------------------------------------------------

    @rule(run=runs, aim=aims)
    def step_any(self, run: str, aim: StepTarget | None) -> None:
        self.tries(self.harness.step, run=run, target=aim)

    @rule(point=points, number=few, revision=revisions, edit=edits, aim=aims)
    def step(
        self,
        point: Named,
        number: int,
        revision: int | None,
        edit: str | None,
        aim: StepTarget | None,
    ) -> None:
        run, id = self.meant(point, number)
        self.tries(self.harness.step, id, revision, edit, run, aim)

    @rule(run=runs)
    def resume_all(self, run: str) -> None:
        self.tries(self.harness.resume, run=run)

    @rule(point=points, number=few, revision=revisions, edit=edits)
    def resume(self, point: Named, number: int, revision: int | None, edit: str | None) -> None:
        run, id = self.meant(point, number)
        self.tries(self.harness.resume, id, revision, edit, run)

    @rule(point=points, number=few, revision=revisions, edit=edits)
    def edit(self, point: Named, number: int, revision: int | None, edit: str | None) -> None:
        run, id = self.meant(point, number)
        self.tries(self.harness.edit, id, edit, revision, run)

    @rule(
        point=points,
        number=few,
        revision=st.integers(1, 2),
        edit=edits,
        said=st.fixed_dictionaries({"always": st.booleans(), "confirmed": st.booleans()}),
    )
    def approve(
        self, point: Named, number: int, revision: int, edit: str | None, said: dict[str, bool]
    ) -> None:
        run, id = self.meant(point, number)
        answered = len(self.harness.answers)
        self.tries(self.harness.approve, id, revision, edit, run, **said)
        self.heed_approval(run, id, answered)
        if len(self.harness.answers) > answered and not said["confirmed"]:
            approval = self.harness.find_halt_point(id).approval
            assert approval is not None and approval.risk is not Risk.HIGH

    @rule(point=points, number=few, revision=st.integers(1, 2))
    def deny(self, point: Named, number: int, revision: int) -> None:
        run, id = self.meant(point, number)
        self.tries(self.harness.deny, id, revision, run=run)

    @rule(point=points, number=few, revision=st.integers(1, 2), result=edits)
    def skip(self, point: Named, number: int, revision: int, result: str | None) -> None:
        run, id = self.meant(point, number)
        self.tries(self.harness.skip, id, revision, result or "7", run)

    @rule(point=points, number=few, revision=st.integers(1, 2))
    def raise_error(self, point: Named, number: int, revision: int) -> None:
        run, id = self.meant(point, number)
        self.tries(self.harness.raise_error, id, revision, run=run)

    @rule(point=points, number=few, text=st.sampled_from(["look", "test"]), revision=revisions)
    def guide(self, point: Named, number: int, text: str, revision: int | None) -> None:
        run, id = self.meant(point, number)
        self.tries(self.harness.guide, id, text, revision or 1, run)

    @rule(id=breakpoint_ids, once=st.booleans(), on=st.booleans(), is_call=st.booleans())
    def set_edit_rule(self, id: str, once: bool, on: bool, is_call: bool) -> None:
        kind = EventKind.TOOL_INVOCATION if is_call else EventKind.LLM_QUERY
        path = "/Argument/path" if is_call else ""
        change = SetValue(value='"edited"')
        rule = EditRuleDefinition(
            id=id, kind=kind, side=EventSide.BEGIN, path=path, change=change, once=once, enabled=on
        )
        self.tries(self.harness.set_edit_rule, rule)

    @rule(id=breakpoint_ids)
    def delete_edit_rule(self, id: str) -> None:
        self.tries(self.harness.delete_edit_rule, id)

    @rule(run=runs)
    def halt(self, run: str) -> None:
        self.tries(self.harness.halt, run)

    @rule(run=runs, number=few)
    def stop(self, run: str, number: int) -> None:
        if number == 1:  # it leaves little to see
            self.tries(self.harness.stop, run)

    @rule(
        id=breakpoint_ids,
        reaction=st.sampled_from(Reaction),
        hit_count=st.integers(1, 3),
        on=st.booleans(),
    )
    def set_breakpoint(self, id: str, reaction: Reaction, hit_count: int, on: bool) -> None:
        kind = EventKind.TOOL_INVOCATION if hit_count > 1 else None
        self.tries(
            self.harness.set_breakpoint,
            BreakpointRule(id=id, kind=kind, hit_count=hit_count, reaction=reaction, enabled=on),
        )

    @rule(id=breakpoint_ids)
    def delete_breakpoint(self, id: str) -> None:
        self.tries(self.harness.delete_breakpoint, id)

    @rule(dollars=st.integers(1, 3))
    def price(self, dollars: int) -> None:
        self.tries(self.harness.set_prices, Price(model="*", input=dollars, output=dollars))

    @rule(run=runs, name=st.sampled_from(["", "x"]))
    def rename(self, run: str, name: str) -> None:
        self.tries(self.harness.rename, name, run)

    @rule(run=runs, tags=st.lists(st.sampled_from(["", "slow", "kept "]), max_size=3))
    def tag(self, run: str, tags: list[str]) -> None:
        self.tries(self.harness.tag, *tags, run=run)

    @rule(point=points, text=st.sampled_from(["", " ", "look"]))
    def note(self, point: Named, text: str) -> None:
        run, id = point
        self.tries(self.harness.note, id, text, run)

    @rule(point=points, number=few)
    def sentence(self, point: Named, number: int) -> None:
        run, id = self.meant(point, number)
        if any(
            is_halt_point_record(each, id) and run_of(each) == run for each in self.harness.records
        ):
            about = self.harness.find_halt_point(id)
            self.tries(self.harness.record_summary, replace(about, run=run), "It asks.")

    @rule(run=runs)
    def delete(self, run: str) -> None:
        self.tries(self.harness.delete, run)
        self.forget_the_dead()

    def forget_the_dead(self) -> None:
        """Records of deleted runs: a store forgets them, and so do the invariants."""
        known = {run.id for run in self.harness.debugger.runs}
        self.harness.records = [
            each for each in self.harness.records if is_rule(each) or run_of(each) in known
        ]
        self.harness.leases = [each for each in self.harness.leases if each.run in known]
        self.harness.answers = [each for each in self.harness.answers if each.run in known]

    @rule(number=few)
    def import_run(self, number: int) -> None:
        header = Run(id=f"i{number}", name="I", program="P", started_at=1.0, state=RunState.IDLE)
        if header.id not in {run.id for run in self.harness.debugger.runs}:
            self.harness.perform(self.harness.debugger.commands.import_run(RunHistory(run=header)))


RandomDebugging.TestCase.settings = settings(
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
TestAnything = RandomDebugging.TestCase
