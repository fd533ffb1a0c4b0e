"""A run at a glance: its calls, files, repetitions and errors, and how it came out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from agentstepper_nb.core.final_words import Ending, LastTest, judge_ending
from agentstepper_nb.core.run_overview import OverviewFold
from agentstepper_nb.core.summaries import MAX_READ_CHARS
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    FileChange,
    HaltPoint,
    Run,
    RunEnding,
    RunState,
)
from agentstepper_nb.protocol.effects import (
    CheckRun,
    EffectMark,
    EffectReport,
    MarkSeverity,
    Repetition,
)
from agentstepper_nb.protocol.overview import RunOutcome, RunOverview

CHECK = CheckRun(command="pytest -q", exit_code=1, at=1.0)
#: Nested so deeply that its JSON can just be read.
NESTED: Any = []
for _ in range(600):
    NESTED = [NESTED]


def a_run(ending: RunEnding | None = RunEnding.FINISHED, **fields: Any) -> Run:
    state = RunState.STEP if ending is None else RunState.IDLE
    return Run(id="r", name="R", program="p", started_at=1.0, ending=ending, state=state, **fields)


class Recorder:
    """Tells a fold of a run, row by row."""

    def __init__(self) -> None:
        self.fold = OverviewFold()
        self.seq = 0

    def row(self, kind: EventKind, side: EventSide, data: Any, **fields: Any) -> HaltPoint:
        self.seq += 1
        point = HaltPoint(
            id=f"b{self.seq}",
            run="r",
            event=fields.pop("event", f"e{self.seq}"),
            seq=self.seq,
            side=side,
            kind=kind,
            at=1.0,
            data=json.dumps(data),
            **fields,
        )
        self.fold.add_row(point)
        return point

    def call(self, tool: str, arguments: Any, result: Any, *paths: str, **fields: Any) -> None:
        kind = EventKind.TOOL_INVOCATION
        begun = self.row(kind, EventSide.BEGIN, {"Tool": tool, "Argument": arguments}, name=tool)
        if paths:
            changes = [
                FileChange(path=path, kind=ChangeKind.CHANGED, added=2, removed=1) for path in paths
            ]
            commit = Commit(
                id=f"c{self.seq}",
                at=1.0,
                title="t",
                seq=self.seq,
                snapshot=True,
                event=begun.event,
                changes=tuple(changes),
            )
            self.fold.add_commit(commit)
        self.row(kind, EventSide.END, result, name=tool, event=begun.event, **fields)

    def answer(self, content: str, *tools: str) -> None:
        calls = [{"id": t, "function": {"name": t, "arguments": "{}"}} for t in tools]
        message = {"role": "assistant", "content": content, "tool_calls": calls}
        self.row(EventKind.LLM_QUERY, EventSide.END, message, name="m", duration=0.5)

    def make(self, run: Run | None = None) -> RunOverview:
        return self.fold.make(run or a_run())


def test_calls_are_counted_by_tool_with_failures_and_time() -> None:
    run = Recorder()
    run.call("run_tests", {}, "exit code 1\n1 failed", duration=2.0)
    run.call("run_tests", {}, "exit code 0\n1 passed", duration=1.5)
    run.call("fetch", {}, None, outcome=EventOutcome.ERROR, failure=Failure(type="E", message="m"))
    tests, fetch = run.make().tools
    assert (tests.name, tests.calls, tests.failures, tests.seconds) == ("run_tests", 2, 1, 3.5)
    assert (tests.first, tests.last) == (2, 4)
    assert (fetch.name, fetch.calls, fetch.failures) == ("fetch", 1, 1)


def test_files_have_their_first_and_last_row() -> None:
    run = Recorder()
    run.call("read_file", {"path": "a.py"}, "text")
    run.call("write_file", {"path": "b.py"}, "wrote", "b.py")
    run.call("read_file", {"path": "b.py"}, "text")
    run.call("write_file", {"path": "b.py"}, "wrote", "b.py")
    changed, read = run.make().files
    assert (changed.path, changed.changes, changed.reads) == ("b.py", 2, 1)
    assert (changed.added, changed.removed, changed.first, changed.last) == (4, 2, 4, 8)
    assert (read.path, read.changes, read.first, read.last) == ("a.py", 0, 2, 2)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", '{"path": "a.py"}'),  # JSON, as the model wrote it
        ("read_file", {"path": "a.py", "offset": 30}),  # a part of it
        ("ViewFile", {"file": "a.py", "lines": [3, 5]}),
    ],
)
def test_a_file_is_read_however_its_call_says_so(tool: str, arguments: Any) -> None:
    run = Recorder()
    run.call(tool, arguments, "text")
    run.call(tool, "no JSON", "text")
    (file,) = run.make().files
    assert (file.path, file.reads) == ("a.py", 1)


def test_errors_that_say_the_same_are_one() -> None:
    run = Recorder()
    for number in range(3):
        failure = Failure(type="OSError", message=f"[Errno 28] '/tmp/x{number}' is full")
        run.call("save", {}, None, outcome=EventOutcome.ERROR, failure=failure)
    run.call("load", {}, {"ok": False, "error": "no such key"})
    first, other = run.make().errors
    assert (first.source, first.count, first.first, first.last) == ("save", 3, 2, 6)
    assert other.text == "no such key"


def test_repeated_calls_and_marked_rows_are_listed() -> None:
    run = Recorder()
    again = Repetition(count=2, first=2, last=2, is_unchanged=True)
    mark = EffectMark(check="no_effect", message="It changed no file.")
    run.call("ls", {"path": "."}, "a")
    run.call("ls", {"path": "."}, "a", effects=EffectReport(repetition=again))
    run.call("write", {}, "wrote", effects=EffectReport(marks=(mark,)))
    made = run.make()
    (repeated,) = made.repeated
    assert (repeated.tool, repeated.row, repeated.repetition) == ("ls", 4, again)
    assert repeated.summary == 'ls("path":".")'
    (marked,) = made.marked
    assert (marked.row, marked.tool, marked.marks) == (6, "write", (mark,))
    assert [(each.text, each.row) for each in made.contradictions] == [
        ("write: It changed no file.", 6)
    ]


def test_a_note_is_listed_and_contradicts_nothing() -> None:
    run = Recorder()
    note = EffectMark(check="same_content", message="It is so.", severity=MarkSeverity.NOTE)
    for _ in range(101):
        run.call("write", {}, "wrote", effects=EffectReport(marks=(note,)))
    made = run.make()
    assert made.contradictions == ()
    assert (len(made.marked), made.tools[0].marked) == (100, 101)


def test_a_cycle_is_listed_once_as_it_last_came() -> None:
    run = Recorder()
    for count in (3, 4):
        again = Repetition(count=count, first=2 * count, last=4, cycle=2)
        run.call("edit", {}, "done", effects=EffectReport(repetition=again))
    (repeated,) = run.make().repeated
    assert (repeated.row, repeated.repetition.count) == (4, 4)


def test_repeated_calls_stay_bounded_and_known_ones_count_on() -> None:
    run = Recorder()
    for first, count in [*((each, 2) for each in range(1001)), (0, 9)]:
        again = Repetition(count=count, first=first, last=first)
        run.call("ls", {}, "a", effects=EffectReport(repetition=again))
    made = run.make()
    assert len(made.repeated) == 100
    assert made.repeated[0].repetition.count == 9


def test_many_tools_files_and_errors_stay_bounded() -> None:
    run = Recorder()
    for number in range(2500):
        run.call(f"t{number}", {}, f"error: {'x' * (number % 300)}", f"f{number}.py")
    made = run.make()
    assert len(made.tools) == 201
    assert made.tools[0].name == "other tools"
    assert (len(made.files), made.more_files) == (300, 2200)
    assert len(made.errors) == 100


def test_queries_and_custom_events_that_fail_are_errors() -> None:
    run = Recorder()
    failed = {"outcome": EventOutcome.ERROR, "failure": Failure(type="Timeout", message="30 s")}
    run.row(EventKind.LLM_QUERY, EventSide.END, None, name="m", **failed)
    run.row(EventKind.CUSTOM, EventSide.END, None, **failed)
    run.row(EventKind.CUSTOM, EventSide.END, "found", name="retrieval")
    made = run.make()
    assert [(each.source, each.text) for each in made.errors] == [
        ("m", "Timeout: 30 s"),
        ("custom", "Timeout: 30 s"),
    ]
    assert (made.queries, made.said) == (1, "Failed: Timeout: 30 s")


@pytest.mark.parametrize(
    ("ending", "said", "outcome"),
    [
        (RunEnding.FINISHED, "All tests pass now.", RunOutcome.FINISHED),
        (RunEnding.FINISHED, "Here is the summary you asked for.", RunOutcome.FINISHED),
        (RunEnding.FINISHED, "I could not fix the bug.", RunOutcome.GAVE_UP),
        (RunEnding.FINISHED, "I give up.", RunOutcome.GAVE_UP),
        (RunEnding.FINISHED, "Agent stopped: max iterations reached.", RunOutcome.GAVE_UP),
        (RunEnding.FINISHED, "I reached the turn limit.", RunOutcome.GAVE_UP),
        (RunEnding.FINISHED, "It first failed to build; it is fixed now.", RunOutcome.FINISHED),
        (RunEnding.STOPPED, "I give up.", RunOutcome.STOPPED),
        (RunEnding.CRASHED, "", RunOutcome.CRASHED),
        (RunEnding.LOST, "", RunOutcome.LOST),
        (None, "I give up.", RunOutcome.RUNNING),
    ],
)
def test_how_a_run_came_out(ending: RunEnding | None, said: str, outcome: RunOutcome) -> None:
    verdict = judge_ending(a_run(ending), Ending(said=said))
    assert verdict.outcome is outcome
    assert bool(verdict.reason) is (outcome is RunOutcome.GAVE_UP)


TALK = "It goes on. " * 1000


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (f"I give up. {TALK}", RunOutcome.GAVE_UP),
        (f"{TALK} I give up.", RunOutcome.GAVE_UP),
        (f"{TALK} I give up. {TALK}", RunOutcome.FINISHED),
    ],
    ids=["begin", "end", "middle"],
)
def test_of_many_words_those_at_their_begin_and_end_count(said: str, outcome: RunOutcome) -> None:
    assert judge_ending(a_run(), Ending(said=said)).outcome is outcome


def test_an_exception_of_a_limit_is_a_run_that_gave_up() -> None:
    failure = Failure(type="agents.exceptions.MaxTurnsExceeded", message="Max turns (10) exceeded")
    verdict = judge_ending(a_run(RunEnding.CRASHED, failure=failure), Ending())
    assert verdict.outcome is RunOutcome.GAVE_UP
    assert verdict.reason == "It reached a limit: Max turns (10) exceeded"


def test_a_loop_that_ended_while_the_model_asked_for_tools_gave_up() -> None:
    run = Recorder()
    for _ in range(3):
        run.answer("Let me look.", "look")
        run.call("look", {}, "nothing")
    made = run.make()
    assert (made.outcome, made.reason) == (
        RunOutcome.GAVE_UP,
        "It ended while the model still asked for tools",
    )
    run.answer("", "submit_answer")
    assert run.make().outcome is RunOutcome.FINISHED
    assert made.queries == 3


@pytest.mark.parametrize(
    "last", ["", "Done. " + "x" * (1 << 20)], ids=["empty", "too large to read"]
)
def test_a_last_answer_without_calls_asks_for_no_tools(last: str) -> None:
    run = Recorder()
    for _ in range(3):
        run.answer("Let me look.", "look")
        run.call("look", {}, "nothing")
    run.answer(last)
    assert run.make().outcome is RunOutcome.FINISHED


FAILED = LastTest(row=7, has_failed=True, line="2 failed")


def test_what_contradicts_success_is_said_with_its_row() -> None:
    ending = Ending(said="All tests pass.", test=FAILED, first_warning=5, warnings=2)
    ending = ending._replace(warning_text="write: it changed no file.")
    found = judge_ending(a_run(checks=(CHECK,)), ending).contradictions
    assert [(each.text, each.row) for each in found] == [
        ("It says that it succeeded, but its last tests failed: 2 failed.", 7),
        ("The check “pytest -q” exits with 1.", None),
        ("write: it changed no file. 1 more row is marked.", 5),
    ]


def test_without_a_claim_the_failure_alone_is_said() -> None:
    ending = Ending(said="That is all.", test=FAILED)
    (found,) = judge_ending(a_run(), ending).contradictions
    assert found.text == "Its last tests failed: 2 failed."


def test_nothing_contradicts_a_good_run() -> None:
    passed = LastTest(row=7, has_failed=False, line="3 passed")
    checked = a_run(checks=(CheckRun(command="c", exit_code=0, at=1.0),))
    assert judge_ending(checked, Ending(said="Done.", test=passed)).contradictions == ()
    assert a_run().checks is UNSET


def test_the_last_words_may_be_a_debug_message() -> None:
    run = Recorder()
    run.answer("Done.")
    data = json.dumps("The tests fail.")
    kind = EventKind.DEBUG_MESSAGE
    run.fold.add_row(Event(id="d", run="r", kind=kind, at=1.0, seq=2, data=data))
    made = run.make()
    assert (made.said, made.said_row, made.outcome) == ("The tests fail.", 2, RunOutcome.GAVE_UP)


def test_a_command_that_runs_tests_is_a_test() -> None:
    run = Recorder()
    result = {"exit_code": 1, "output": "1 failed, 2 passed"}
    run.call("run_command", {"command": "python -m pytest -q"}, result)
    run.answer("Everything is fixed.")
    (found,) = run.make().contradictions
    assert found.row == 2
    assert found.text.startswith("It says that it succeeded, but its last tests failed:")


@pytest.mark.parametrize(
    ("answer", "said"), [("I give up.", "I give up."), ({"verdict": "ok"}, '{"verdict":"ok"}')]
)
def test_an_answer_of_no_known_form_is_said_as_it_is(answer: Any, said: str) -> None:
    run = Recorder()
    run.row(EventKind.LLM_QUERY, EventSide.END, answer)
    assert (run.make().said, run.make().said_row) == (said, 1)


def test_an_empty_answer_leaves_the_words_before_it() -> None:
    run = Recorder()
    run.answer("Here it is.")
    run.answer("")
    made = run.make()
    assert (made.said, made.said_row, made.queries) == ("Here it is.", 1, 2)


@pytest.mark.parametrize("answer", ["x" * MAX_READ_CHARS, NESTED], ids=["huge", "nested"])
def test_an_answer_that_cannot_be_read_is_counted(answer: Any) -> None:
    run = Recorder()
    run.row(EventKind.LLM_QUERY, EventSide.END, answer, duration=2.0)
    made = run.make()
    assert (made.queries, made.query_seconds, made.outcome) == (1, 2.0, RunOutcome.FINISHED)
