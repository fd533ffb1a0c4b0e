"""Stops tried on recorded runs: they hit where they would have hit while those ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstepper_nb.core.breakpoints import (
    BreakpointEngine,
    ObservedPoint,
    check_breakpoint,
    dry_run,
    list_changed_paths,
)
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.breakpoint_rules import (
    BreakpointRule,
    CostBudget,
    DryRunOutcome,
    Reaction,
    Repeated,
    TokenBudget,
    Touched,
)
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    EventKind,
    EventOutcome,
    EventSide,
    FileChange,
    HaltPoint,
    Usage,
)
from agentstepper_nb.protocol.records import RunHistory

from .builders import (
    BEGIN,
    CUSTOM,
    END,
    LLM,
    TOOL,
    breakpoint,
    call,
    commit,
    history,
    point,
    recorded,
)

STARTED = point("coder", EventKind.PROGRAM_STARTED, name=None)
FINISHED = point(None, EventKind.PROGRAM_FINISHED, name=None)
RESULT = point("text", TOOL, END)


def test_where_it_would_have_hit() -> None:
    run = history(
        recorded(1, STARTED),
        recorded(3, call({"path": "a"})),  # 2 is a debug message
        recorded(4, RESULT),
        recorded(5, call({"path": "b"})),
        recorded(6, FINISHED),  # which the Core writes: agents have no such halt point
    )
    assert dry_run(breakpoint(), run) == DryRunOutcome(
        run="run", rows=4, hits=(1, 3, 4, 5), total=4
    )
    assert dry_run(breakpoint(kind=TOOL, side=BEGIN, hit_count=2), run).hits == (5,)
    assert dry_run(breakpoint(condition='args.path == "a"', reaction=Reaction.LOG), run).hits == (
        3,
    )


@pytest.mark.parametrize("fields", [{"program": "other"}, {"enabled": False}])
def test_it_need_not_be_for_that_program_nor_be_on(fields: dict[str, Any]) -> None:
    assert dry_run(breakpoint(**fields), history(recorded(1, STARTED))).hits == (1,)


def test_changes_count_at_the_row_that_follows_them() -> None:
    rows = [recorded(seq, RESULT) for seq in (1, 2, 4, 5)]
    touched = breakpoint(watch=Touched(path="*.py"))
    snapshot, asked = commit(0, "a.txt", snapshot=True), commit(2, "a.py", "b.txt")
    assert dry_run(touched, history(*rows, commits=(snapshot, asked))).hits == (4,)
    assert dry_run(touched, history(*rows, commits=(asked, commit(5, "a.py")))).hits == (4,)
    assert dry_run(touched, history(*rows, commits=(commit(0, "a.py"), asked))).hits == (1, 4)
    both = commit(1, "a.py"), commit(1, "b.py", id="d")
    assert dry_run(touched, history(*rows, commits=both)).hits == (2,)


def test_a_renamed_file_is_touched_under_both_names() -> None:
    renamed = FileChange(path="new.py", kind=ChangeKind.RENAMED, previous_path="old.py")
    added = FileChange(path="a", kind=ChangeKind.ADDED)
    assert list(list_changed_paths([renamed, added])) == ["new.py", "old.py", "a"]


def test_it_ends_where_the_condition_fails() -> None:
    points = [call({"n": 3}), call({"n": 1}), call({"n": "x"}), call({"n": 3})]
    run = history(*(recorded(seq, each) for seq, each in enumerate(points, 1)))
    said = "Breakpoint “args.n > 2”: > can't combine a text with a number"
    assert dry_run(breakpoint(condition="args.n > 2"), run) == DryRunOutcome(
        run="run", rows=3, hits=(1, 3), total=2, error=said
    )


def test_a_thousand_are_named_and_all_counted() -> None:
    run = history(*(recorded(seq, RESULT) for seq in range(1, 1203)))
    trial = dry_run(breakpoint(), run)
    assert (trial.hits, trial.total, trial.rows) == (tuple(range(1, 1001)), 1202, 1202)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"condition": "x"}, "there is no name “x”"),
        ({"kind": EventKind.DEBUG_MESSAGE}, "No agent can halt at a debug message."),
        ({"kind": EventKind.PROGRAM_FINISHED, "side": BEGIN}, "No agent can halt at its own end."),
    ],
)
def test_what_cannot_be_set_cannot_be_tried(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ProtocolError, match=why) as refused:
        dry_run(breakpoint(**fields), history())
    assert refused.value.code == "invalid_stop"
    assert (
        not run_live([STARTED, call(), RESULT], [breakpoint(**fields)]).verdicts
        or "condition" in fields
    )


@pytest.mark.parametrize("kind", [None, LLM, TOOL, CUSTOM])
@pytest.mark.parametrize("side", [None, BEGIN, END])
def test_what_can_be_set(kind: EventKind | None, side: EventSide | None) -> None:
    check_breakpoint(breakpoint(kind=kind, side=side))
    check_breakpoint(breakpoint(kind=kind, side=side, on_error=True))
    check_breakpoint(breakpoint(kind=EventKind.PROGRAM_STARTED, side=side))


def test_lenient_text_of_version_1_is_read_as_it_was() -> None:
    torn = replace(recorded(1, RESULT), data="NaN\ud800")
    assert dry_run(breakpoint(condition='text.startswith("NaN")'), history(torn)).hits == (1,)


# ---- live, recorded, and interrupted ----------------------------------------------------------------

KINDS = {LLM: ("small", "large"), TOOL: ("read", "write", None), CUSTOM: ("plan", "read")}
CONDITIONS = (
    "args.n > 1",
    "args.n < result",  # fails where both are there and don't go together
    'contains(data, "x")',
    "run.tokens % 3 == 1",
    "depth == 1 or outcome == 'error'",
    "args.n.lower() == 'a' or tool == 'read'",
)

points = st.sampled_from([*KINDS]).flatmap(
    lambda kind: st.builds(
        ObservedPoint,
        kind=st.just(kind),
        side=st.sampled_from([BEGIN, BEGIN, END]),
        name=st.sampled_from(KINDS[kind]),
        data=st.sampled_from(
            ['"x"', "1", '{"Tool":"t","Argument":{"n":2}}', '{"n":"a"}', "NaN"]
        ).map(str.encode),
        depth=st.integers(0, 2),
        outcome=st.sampled_from([None, EventOutcome.OK, EventOutcome.ERROR]),
        usage=st.none()
        | st.builds(
            Usage, input_tokens=st.none() | st.integers(0, 9), cost=st.none() | st.just(0.1)
        ),
    )
)
#: A halt point, or files that were changed; a number is a row that isn't a halt point.
runs = st.lists(
    points | st.sets(st.sampled_from(["a.py", "b.txt"]), min_size=1) | st.just(0), max_size=30
)
watches = st.one_of(
    st.builds(TokenBudget, limit=st.integers(1, 30)),
    st.builds(CostBudget, limit=st.sampled_from([0.0, 0.25])),
    st.builds(Repeated, times=st.integers(2, 3)),
    st.builds(Touched, path=st.sampled_from(["*", "*.py"])),
)
some_stop = st.builds(
    BreakpointRule,
    id=st.just("s"),
    kind=st.none() | st.sampled_from([*KINDS]),
    side=st.sampled_from([None, None, BEGIN, END]),
    name=st.none() | st.sampled_from(["*", "read", "[rs]*"]),
    on_error=st.sampled_from([False, False, True]),
    condition=st.none() | st.sampled_from(CONDITIONS),
    watch=st.none() | watches,
    hit_count=st.integers(1, 3),
    once=st.booleans(),
    reaction=st.sampled_from(Reaction),
)
several = st.lists(some_stop, max_size=4).map(
    lambda breakpoints: [replace(each, id=f"s{number}") for number, each in enumerate(breakpoints)]
)


@dataclass
class LiveRun:
    """A run while it goes on: breakpoints are told of it, and it is recorded."""

    breakpoints: BreakpointEngine
    seq: int = 0
    halt_points: list[HaltPoint] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    verdicts: list[tuple[int, tuple[str, ...], bool]] = field(default_factory=list)

    def apply(self, step: ObservedPoint | set[str] | int) -> None:
        if isinstance(step, ObservedPoint):
            self.seq += 1
            verdict = self.breakpoints.evaluate(step)
            self.halt_points.append(recorded(self.seq, step))
            if verdict.hits or verdict.halts:
                self.verdicts.append((self.seq, verdict.hits, verdict.halts))
        elif isinstance(step, set):
            self.commits.append(commit(self.seq, *sorted(step), id=f"c{len(self.commits)}-"))
            self.breakpoints.record_changed_paths(list_changed_paths(self.commits[-1].changes))
        else:
            self.seq += 1

    def history(self) -> RunHistory:
        return history(*self.halt_points, commits=tuple(self.commits))


def run_live(steps: list[Any], breakpoints: list[BreakpointRule]) -> LiveRun:
    live = LiveRun(BreakpointEngine("coder", breakpoints))
    for step in steps:
        live.apply(step)
    return live


def check_hits(steps: list[Any], one: BreakpointRule, cut: int) -> None:
    """Live, on the recorded run, and where the breakpoints come again on the way: the same hits."""
    live = run_live(steps[:cut], [one])
    live.breakpoints.set([replace(one)])
    for step in steps[cut:]:
        live.apply(step)
    assert live.verdicts == run_live(steps, [one]).verdicts
    trial = dry_run(one, live.history())
    where = [seq for seq, _, _ in live.verdicts]
    assert list(trial.hits) == where[: trial.total]
    assert trial.error is not None or trial.total == len(where)


@pytest.mark.slow
@given(runs, some_stop, st.integers(0, 30))
def test_live_it_hits_where_it_does_on_the_recorded_run(
    steps: list[Any], one: BreakpointRule, cut: int
) -> None:
    check_hits(steps, one, cut)


@pytest.mark.soak
@settings(max_examples=300)
@given(runs, some_stop, st.integers(0, 30))
def test_so_it_does_in_a_thousand_runs(steps: list[Any], one: BreakpointRule, cut: int) -> None:
    check_hits(steps, one, cut)


@pytest.mark.slow
@given(runs, several, st.integers(0, 30))
def test_setting_the_same_breakpoints_again_changes_nothing(
    steps: list[Any], breakpoints: list[BreakpointRule], cut: int
) -> None:
    """As where the lease comes again after the Core was away."""
    live = run_live(steps[:cut], breakpoints)
    live.breakpoints.set([replace(each) for each in breakpoints])
    for step in steps[cut:]:
        live.apply(step)
    assert live.verdicts == run_live(steps, breakpoints).verdicts


@pytest.mark.slow
@given(runs, several, several, st.integers(0, 30))
def test_breakpoints_do_not_know_of_each_other(
    steps: list[Any], breakpoints: list[BreakpointRule], more: list[BreakpointRule], cut: int
) -> None:
    """Each hits as it would alone, whatever others come and go."""
    more = [replace(each, id=f"more {each.id}") for each in more]
    live = run_live(steps[:cut], [*breakpoints, *more])
    live.breakpoints.set(breakpoints)
    for step in steps[cut:]:
        live.apply(step)
    ids = {each.id for each in breakpoints}
    together = {(seq, id) for seq, hits, _ in live.verdicts for id in hits if id in ids}
    alone = {
        (seq, id)
        for each in breakpoints
        for seq, hits, _ in run_live(steps, [each]).verdicts
        for id in hits
    }
    assert together == alone


@pytest.mark.slow
@given(runs, some_stop)
def test_the_numbers_of_rows_say_their_order(steps: list[Any], one: BreakpointRule) -> None:
    """However they are given, as long as the commits of one row keep theirs."""
    run = run_live(steps, []).history()
    commits = tuple(sorted(run.commits, key=lambda each: -each.seq))
    shuffled = history(*reversed(run.halt_points), commits=commits)
    assert dry_run(one, shuffled) == dry_run(one, run)
