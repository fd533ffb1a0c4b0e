"""What people do: edits, stale commands, stop, and runs as a whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentstepper_nb.errors import AgentStepperError, CommandError, ProtocolError, StaleError
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    EventKind,
    EventSide,
    Run,
    RunState,
)
from agentstepper_nb.protocol.records import RunHistory
from tests.helpers.debugger_harness import TOOL_CALL_JSON, DebuggerHarness, SentAnswer


@pytest.fixture
def harness() -> DebuggerHarness:
    harness = DebuggerHarness()
    harness.start()
    return harness


# ---- edits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", ['""', "{}", "[]", "0", "false", "null", "1.0", " 1", '"\\u00e9"'])
def test_every_json_value_is_an_edit(harness: DebuggerHarness, edit: str) -> None:
    _, asked = harness.begin_query()
    harness.step(asked, 1, edit)
    assert harness.answers == [SentAnswer(asked, edit=edit)]


def test_the_same_text_is_no_edit(harness: DebuggerHarness) -> None:
    _, asked = harness.begin_query()
    harness.edit(asked, '"other"')
    harness.edit(asked, '"hello"')
    assert harness.debugger.pending("run")[0].edit is None
    harness.step()
    assert harness.answers == [SentAnswer(asked)]


def test_the_same_value_in_other_words_is_an_edit(harness: DebuggerHarness) -> None:
    asked = harness.reach(harness.begin(), data="[1]")
    harness.edit(asked, "[1 ]")
    assert harness.debugger.pending("run")[0].edit == "[1 ]"


def test_a_value_that_is_shown_by_its_repr_is_read_only(harness: DebuggerHarness) -> None:
    mark = '{"$repr":"<a thing>","$ref":1,"$why":"its type has no fields"}'
    asked = harness.reach(harness.begin(), data=f"[{mark},1]")
    for edit in (
        f"[{mark.replace('thing', 'dog')},1]",
        '["a thing",1]',
        f'[{mark},{{"$repr":"","$ref":2}}]',
    ):
        with pytest.raises(ProtocolError, match="is read-only") as refused:
            harness.step(asked, 1, edit)
        assert refused.value.code == "invalid_edit"
    assert harness.answers == []
    harness.step(asked, 1, f"[2,{mark}]")
    assert harness.answers == [SentAnswer(asked, edit=f"[2,{mark}]")]


@pytest.mark.parametrize("key", ["$repr", "\\u0024repr", "$r\\u0065pr"])
def test_an_edit_makes_no_mark(harness: DebuggerHarness, key: str) -> None:
    """Nor one whose key is written with escapes."""
    _, asked = harness.begin_query()
    with pytest.raises(ProtocolError, match="is read-only") as refused:
        harness.step(asked, 1, f'{{"{key}": "<a thing>", "$ref": 1}}')
    assert refused.value.code == "invalid_edit"
    assert harness.answers == []


def test_an_edit_is_taken_back(harness: DebuggerHarness) -> None:
    _, asked = harness.begin_query()
    harness.edit(asked, "1", 1)
    harness.edit(asked, None, 2)
    assert (harness.debugger.pending("run")[0].edit, harness.find_halt_point(asked).data) == (
        None,
        '"hello"',
    )
    harness.step()
    assert harness.answers == [SentAnswer(asked)]


def test_an_edit_made_before_goes_with_a_later_step_or_continue(harness: DebuggerHarness) -> None:
    _, first = harness.begin_query()
    harness.edit(first, "1")
    harness.step()
    _, second = harness.begin_query()
    harness.edit(second, "2")
    harness.resume()
    assert harness.answers == [SentAnswer(first, edit="1"), SentAnswer(second, edit="2")]


def test_each_edit_is_a_revision(harness: DebuggerHarness) -> None:
    _, asked = harness.begin_query()
    harness.edit(asked, "1", 1)
    harness.edit(asked, "2", 2)
    harness.resume(asked, 3, "3")
    assert harness.answers == [SentAnswer(asked, edit="3")]


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        ("", "line 1, column 1"),
        ('{"a": }', "line 1, column 7"),
        ("[1,\n 2,\n x]", "line 3, column 2"),
        ("{'a': 1}", "line 1, column 2"),
        ("1 2", "line 1, column 3"),
        ("NaN", "line 1, column 1: NaN is valid in Python, but not in JSON"),
        (
            '["NaN \\" NaN",\n -Infinity]',
            "line 2, column 2: -Infinity is valid in Python, but not in JSON",
        ),
        ('"\\ud800"', "it contains half of a surrogate pair"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("[" * 800 + "]" * 800, "nested too deeply"),
        ("9" * 5000, "a number has more than 4300 digits"),
        ("1], [2", "line 1, column 2"),
        ('"\ud800"', "it contains half of a surrogate pair"),
    ],
    ids=range(13),
)
def test_what_is_no_json_is_refused_at_its_place(
    harness: DebuggerHarness, edit: str, place: str
) -> None:
    _, asked = harness.begin_query()
    with pytest.raises(AgentStepperError, match=place) as refused:
        harness.step(asked, 1, edit)
    assert refused.value.code == "invalid_edit"
    assert harness.run().pending == (asked,)
    assert harness.debugger.pending("run")[0].revision == 1


@pytest.mark.parametrize(
    "edit",
    [
        "null",
        "[]",
        "{}",
        '{"Tool": "ls"}',
        '{"Argument": 1}',
        '{"Tool": 1, "Argument": 1}',
        '{"Tool": "ls", "Argument": 1, "More": 1}',
        '{"tool": "ls", "argument": 1}',
    ],
)
def test_a_tool_call_keeps_its_form(harness: DebuggerHarness, edit: str) -> None:
    asked = harness.begin_tool_call(TOOL_CALL_JSON)
    with pytest.raises(AgentStepperError, match="must stay of the form") as refused:
        harness.edit(asked, edit)
    assert refused.value.code == "invalid_edit"


def test_a_tool_call_of_another_form_may_go_on_unedited(harness: DebuggerHarness) -> None:
    asked = harness.begin_tool_call('{"tool": "odd"}')
    harness.step(asked, 1, '{"tool": "odd"}')
    assert harness.answers == [SentAnswer(asked)]


def test_a_tool_call_is_edited_and_its_result_has_no_form(harness: DebuggerHarness) -> None:
    event = harness.begin(EventKind.TOOL_INVOCATION)
    asked = harness.reach(event, data=TOOL_CALL_JSON)
    harness.step(asked, 1, '{"Argument": null, "Tool": ""}')
    result = harness.reach(event, EventSide.END)
    harness.step(result, 1, "[]")
    assert harness.answers == [
        SentAnswer(asked, edit='{"Argument": null, "Tool": ""}'),
        SentAnswer(result, edit="[]"),
    ]


@pytest.mark.parametrize("named", [(None, None), (None, 1), ("b2", None)])
def test_an_edit_says_what_it_belongs_to(
    harness: DebuggerHarness, named: tuple[str | None, int | None]
) -> None:
    harness.begin_query()
    with pytest.raises(AgentStepperError, match="halt point and revision") as refused:
        harness.step(*named, edit="1")
    assert refused.value.code == "invalid_message"


# ---- stale ------------------------------------------------------------------------------------------

Do = Callable[[DebuggerHarness, str], object]
STALE: dict[str, Do] = {
    "step": lambda harness, id: harness.step(id, 1),
    "continue": lambda harness, id: harness.resume(id, 1),
    "edit": lambda harness, id: harness.edit(id, "1", 1),
    "step with an edit": lambda harness, id: harness.step(id, 1, "1"),
}


@pytest.mark.parametrize("does", STALE.values(), ids=STALE)
def test_who_is_second_is_told_so(harness: DebuggerHarness, does: Do) -> None:
    _, asked = harness.begin_query()
    harness.step(asked, 1)
    _, other = harness.begin_query()
    before = list(harness.records)
    with pytest.raises(StaleError, match=r"has been answered already\. Look at the new state"):
        does(harness, asked)
    assert harness.records == before
    assert harness.run().pending == (other,)


@pytest.mark.parametrize("does", STALE.values(), ids=STALE)
def test_who_saw_another_revision_is_told_so(harness: DebuggerHarness, does: Do) -> None:
    _, asked = harness.begin_query()
    harness.edit(asked, '"mine"', 1)
    with pytest.raises(StaleError, match="has edited this message") as refused:
        does(harness, asked)
    assert (refused.value.code, refused.value.run, refused.value.halt_point) == (
        "stale",
        "run",
        asked,
    )
    assert harness.answers == []


def test_who_names_no_revision_takes_what_there_is(harness: DebuggerHarness) -> None:
    _, asked = harness.begin_query()
    harness.edit(asked, "1")
    harness.edit(asked, "2")
    harness.step(asked)
    assert harness.answers == [SentAnswer(asked, edit="2")]


def test_in_continue_a_named_breakpoint_is_stale(harness: DebuggerHarness) -> None:
    _, asked = harness.begin_query()
    harness.resume()
    with pytest.raises(StaleError):
        harness.step(asked, 1)
    assert harness.state() is RunState.CONTINUE


def test_an_edit_of_what_is_not_pending(harness: DebuggerHarness) -> None:
    with pytest.raises(CommandError, match="isn't waiting at a halt point") as refused:
        harness.edit("none", "1")
    assert refused.value.code == "not_pending"


# ---- stop --------------------------------------------------------------------------------------------


def test_stop_answers_all_that_is_pending(harness: DebuggerHarness) -> None:
    points = [harness.begin_query()[1] for _ in range(2)]
    harness.stop()
    assert harness.answers == [SentAnswer(point, AnswerKind.STOP) for point in points]
    assert (harness.run().stopping, harness.run().agent_state) == (True, AgentActivity.RUNNING)


@pytest.mark.parametrize("continued", [False, True], ids=["step", "continue"])
def test_stop_waits_for_the_next_breakpoint_that_waits(
    harness: DebuggerHarness, continued: bool
) -> None:
    if continued:
        harness.resume()
    harness.stop()
    assert harness.answers == []
    passed = harness.reach(harness.begin(), waits=False)
    _, asked = harness.begin_query()
    _, later = harness.begin_query()
    assert harness.answers == [
        SentAnswer(asked, AnswerKind.STOP),
        SentAnswer(later, AnswerKind.STOP),
    ]
    assert harness.find_halt_point(passed).answer is AnswerKind.RESUME
    assert harness.run().pending == ()
    harness.finish()
    assert not harness.run().stopping


def test_agents_of_version_1_cannot_be_stopped(harness: DebuggerHarness) -> None:
    harness.start("old", can_stop=False)
    _, asked = harness.begin_query("old")
    with pytest.raises(CommandError, match="End the agent's process") as refused:
        harness.stop("old")
    assert refused.value.code == "cannot_stop"
    assert harness.run("old").pending == (asked,)
    assert not harness.run("old").stopping


# ---- runs as a whole --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "does",
    [
        lambda harness: harness.step(run="none"),
        lambda harness: harness.resume(run="none"),
        lambda harness: harness.halt("none"),
        lambda harness: harness.stop("none"),
        lambda harness: harness.edit("b", "1", run="none"),
        lambda harness: harness.rename("x", "none"),
        lambda harness: harness.delete("none"),
        lambda harness: harness.run("none"),
        lambda harness: harness.debugger.pending("none"),
    ],
    ids=["step", "continue", "halt", "stop", "edit", "rename", "delete", "run", "pending"],
)
def test_a_run_that_is_not_there(
    harness: DebuggerHarness, does: Callable[[DebuggerHarness], object]
) -> None:
    with pytest.raises(CommandError, match="There is no run none: it may have been") as refused:
        does(harness)
    assert (refused.value.code, refused.value.run) == ("unknown_run", "none")


def test_a_long_id_is_cut_in_the_error(harness: DebuggerHarness) -> None:
    with pytest.raises(CommandError) as refused:
        harness.step(run="x" * 10_000)
    assert len(str(refused.value)) < 200


def test_a_run_is_renamed_alive_and_after(harness: DebuggerHarness) -> None:
    harness.rename("mine")
    _, asked = harness.begin_query()
    assert (harness.run().name, harness.state()) == ("mine", RunState.HALTED)
    harness.step(asked)
    harness.finish()
    harness.rename("over")
    assert harness.run().name == "over"


@pytest.mark.parametrize("name", ["", " \n"])
def test_a_name_is_not_empty(harness: DebuggerHarness, name: str) -> None:
    with pytest.raises(AgentStepperError, match="can't be empty"):
        harness.rename(name)
    assert harness.run().name == "Run #1 of P"


def test_only_a_run_that_ended_is_deleted(harness: DebuggerHarness) -> None:
    with pytest.raises(CommandError, match="Stop the agent, or wait") as refused:
        harness.delete()
    assert refused.value.code == "run_is_live"
    harness.finish()
    harness.delete()
    assert harness.debugger.runs == []
    harness.start()
    assert harness.run().name == "Run #1 of P"


def test_an_imported_run_has_ended_and_counts(harness: DebuggerHarness) -> None:
    header = Run(id="old", name="Old", program="P", started_at=0.0, state=RunState.IDLE)
    harness.perform(harness.debugger.commands.import_run(RunHistory(run=header)))
    assert harness.run("old") == header
    with pytest.raises(CommandError) as refused:
        harness.step(run="old")
    assert refused.value.code == "run_is_over"
    harness.start("new")
    assert harness.run("new").name == "Run #3 of P"
    harness.delete("old")


def test_the_active_run_is_the_live_one_that_halted_or_started_last(
    harness: DebuggerHarness,
) -> None:
    def active() -> str | None:
        run = harness.debugger.active
        return run.id if run else None

    harness.start("second")
    assert active() == "second"
    harness.begin_query("run")
    assert active() == "run"
    harness.start("third")
    assert active() == "third"
    harness.finish("third")
    assert active() == "run"
    harness.rename("x", "second")
    assert active() == "run"
    harness.finish("run")
    assert active() == "second"
    harness.delete("run")
    harness.finish("second")
    assert active() is None
