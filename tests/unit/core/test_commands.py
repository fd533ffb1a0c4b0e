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
from tests.helpers.stage import CALL, Answered, Stage


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.start()
    return stage


# ---- edits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", ['""', "{}", "[]", "0", "false", "null", "1.0", " 1", '"\\u00e9"'])
def test_every_json_value_is_an_edit(stage: Stage, edit: str) -> None:
    _, asked = stage.query()
    stage.step(asked, 1, edit)
    assert stage.answers == [Answered(asked, edit=edit)]


def test_the_same_text_is_no_edit(stage: Stage) -> None:
    _, asked = stage.query()
    stage.edit(asked, '"other"')
    stage.edit(asked, '"hello"')
    assert stage.debugger.pending("run")[0].edit is None
    stage.step()
    assert stage.answers == [Answered(asked)]


def test_the_same_value_in_other_words_is_an_edit(stage: Stage) -> None:
    asked = stage.reach(stage.begin(), data="[1]")
    stage.edit(asked, "[1 ]")
    assert stage.debugger.pending("run")[0].edit == "[1 ]"


def test_a_value_that_is_shown_by_its_repr_is_read_only(stage: Stage) -> None:
    mark = '{"$repr":"<a thing>","$ref":1,"$why":"its type has no fields"}'
    asked = stage.reach(stage.begin(), data=f"[{mark},1]")
    for edit in (
        f"[{mark.replace('thing', 'dog')},1]",
        '["a thing",1]',
        f'[{mark},{{"$repr":"","$ref":2}}]',
    ):
        with pytest.raises(ProtocolError, match="is read-only") as refused:
            stage.step(asked, 1, edit)
        assert refused.value.code == "invalid_edit"
    assert stage.answers == []
    stage.step(asked, 1, f"[2,{mark}]")
    assert stage.answers == [Answered(asked, edit=f"[2,{mark}]")]


def test_an_edit_is_taken_back(stage: Stage) -> None:
    _, asked = stage.query()
    stage.edit(asked, "1", 1)
    stage.edit(asked, None, 2)
    assert (stage.debugger.pending("run")[0].edit, stage.point(asked).data) == (None, '"hello"')
    stage.step()
    assert stage.answers == [Answered(asked)]


def test_an_edit_made_before_goes_with_a_later_step_or_continue(stage: Stage) -> None:
    _, first = stage.query()
    stage.edit(first, "1")
    stage.step()
    _, second = stage.query()
    stage.edit(second, "2")
    stage.resume()
    assert stage.answers == [Answered(first, edit="1"), Answered(second, edit="2")]


def test_each_edit_is_a_revision(stage: Stage) -> None:
    _, asked = stage.query()
    stage.edit(asked, "1", 1)
    stage.edit(asked, "2", 2)
    stage.resume(asked, 3, "3")
    assert stage.answers == [Answered(asked, edit="3")]


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
    ],
    ids=range(11),
)
def test_what_is_no_json_is_refused_at_its_place(stage: Stage, edit: str, place: str) -> None:
    _, asked = stage.query()
    with pytest.raises(AgentStepperError, match=place) as refused:
        stage.step(asked, 1, edit)
    assert refused.value.code == "invalid_edit"
    assert stage.run().pending == (asked,)
    assert stage.debugger.pending("run")[0].revision == 1


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
def test_a_tool_call_keeps_its_form(stage: Stage, edit: str) -> None:
    asked = stage.call(CALL)
    with pytest.raises(AgentStepperError, match="must stay of the form") as refused:
        stage.edit(asked, edit)
    assert refused.value.code == "invalid_edit"


def test_a_tool_call_of_another_form_may_go_on_unedited(stage: Stage) -> None:
    asked = stage.call('{"tool": "odd"}')
    stage.step(asked, 1, '{"tool": "odd"}')
    assert stage.answers == [Answered(asked)]


def test_a_tool_call_is_edited_and_its_result_has_no_form(stage: Stage) -> None:
    event = stage.begin(EventKind.TOOL_INVOCATION)
    asked = stage.reach(event, data=CALL)
    stage.step(asked, 1, '{"Argument": null, "Tool": ""}')
    result = stage.reach(event, EventSide.END)
    stage.step(result, 1, "[]")
    assert stage.answers == [
        Answered(asked, edit='{"Argument": null, "Tool": ""}'),
        Answered(result, edit="[]"),
    ]


@pytest.mark.parametrize("named", [(None, None), (None, 1), ("b2", None)])
def test_an_edit_says_what_it_belongs_to(
    stage: Stage, named: tuple[str | None, int | None]
) -> None:
    stage.query()
    with pytest.raises(AgentStepperError, match="halt point and revision") as refused:
        stage.step(*named, edit="1")
    assert refused.value.code == "invalid_message"


# ---- stale ------------------------------------------------------------------------------------------

Do = Callable[[Stage, str], object]
STALE: dict[str, Do] = {
    "step": lambda stage, id: stage.step(id, 1),
    "continue": lambda stage, id: stage.resume(id, 1),
    "edit": lambda stage, id: stage.edit(id, "1", 1),
    "step with an edit": lambda stage, id: stage.step(id, 1, "1"),
}


@pytest.mark.parametrize("does", STALE.values(), ids=STALE)
def test_who_is_second_is_told_so(stage: Stage, does: Do) -> None:
    _, asked = stage.query()
    stage.step(asked, 1)
    _, other = stage.query()
    before = list(stage.records)
    with pytest.raises(StaleError, match=r"has been answered already\. Look at the new state"):
        does(stage, asked)
    assert stage.records == before
    assert stage.run().pending == (other,)


@pytest.mark.parametrize("does", STALE.values(), ids=STALE)
def test_who_saw_another_revision_is_told_so(stage: Stage, does: Do) -> None:
    _, asked = stage.query()
    stage.edit(asked, '"mine"', 1)
    with pytest.raises(StaleError, match="has edited this message") as refused:
        does(stage, asked)
    assert (refused.value.code, refused.value.run, refused.value.halt_point) == (
        "stale",
        "run",
        asked,
    )
    assert stage.answers == []


def test_who_names_no_revision_takes_what_there_is(stage: Stage) -> None:
    _, asked = stage.query()
    stage.edit(asked, "1")
    stage.edit(asked, "2")
    stage.step(asked)
    assert stage.answers == [Answered(asked, edit="2")]


def test_in_continue_a_named_breakpoint_is_stale(stage: Stage) -> None:
    _, asked = stage.query()
    stage.resume()
    with pytest.raises(StaleError):
        stage.step(asked, 1)
    assert stage.state() is RunState.CONTINUE


def test_an_edit_of_what_is_not_pending(stage: Stage) -> None:
    with pytest.raises(CommandError, match="isn't waiting at a halt point") as refused:
        stage.edit("none", "1")
    assert refused.value.code == "not_pending"


# ---- stop --------------------------------------------------------------------------------------------


def test_stop_answers_all_that_is_pending(stage: Stage) -> None:
    points = [stage.query()[1] for _ in range(2)]
    stage.stop()
    assert stage.answers == [Answered(point, AnswerKind.STOP) for point in points]
    assert (stage.run().stopping, stage.run().agent_state) == (True, AgentActivity.RUNNING)


@pytest.mark.parametrize("continued", [False, True], ids=["step", "continue"])
def test_stop_waits_for_the_next_breakpoint_that_waits(stage: Stage, continued: bool) -> None:
    if continued:
        stage.resume()
    stage.stop()
    assert stage.answers == []
    passed = stage.reach(stage.begin(), waits=False)
    _, asked = stage.query()
    _, later = stage.query()
    assert stage.answers == [Answered(asked, AnswerKind.STOP), Answered(later, AnswerKind.STOP)]
    assert stage.point(passed).answer is AnswerKind.RESUME
    assert stage.run().pending == ()
    stage.finish()
    assert not stage.run().stopping


def test_agents_of_version_1_cannot_be_stopped(stage: Stage) -> None:
    stage.start("old", can_stop=False)
    _, asked = stage.query("old")
    with pytest.raises(CommandError, match="End the agent's process") as refused:
        stage.stop("old")
    assert refused.value.code == "cannot_stop"
    assert stage.run("old").pending == (asked,)
    assert not stage.run("old").stopping


# ---- runs as a whole --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "does",
    [
        lambda stage: stage.step(run="none"),
        lambda stage: stage.resume(run="none"),
        lambda stage: stage.halt("none"),
        lambda stage: stage.stop("none"),
        lambda stage: stage.edit("b", "1", run="none"),
        lambda stage: stage.rename("x", "none"),
        lambda stage: stage.delete("none"),
        lambda stage: stage.run("none"),
        lambda stage: stage.debugger.pending("none"),
    ],
    ids=["step", "continue", "halt", "stop", "edit", "rename", "delete", "run", "pending"],
)
def test_a_run_that_is_not_there(stage: Stage, does: Callable[[Stage], object]) -> None:
    with pytest.raises(CommandError, match="There is no run none: it may have been") as refused:
        does(stage)
    assert (refused.value.code, refused.value.run) == ("unknown_run", "none")


def test_a_long_id_is_cut_in_the_error(stage: Stage) -> None:
    with pytest.raises(CommandError) as refused:
        stage.step(run="x" * 10_000)
    assert len(str(refused.value)) < 200


def test_a_run_is_renamed_alive_and_after(stage: Stage) -> None:
    stage.rename("mine")
    _, asked = stage.query()
    assert (stage.run().name, stage.state()) == ("mine", RunState.HALTED)
    stage.step(asked)
    stage.finish()
    stage.rename("over")
    assert stage.run().name == "over"


@pytest.mark.parametrize("name", ["", " \n"])
def test_a_name_is_not_empty(stage: Stage, name: str) -> None:
    with pytest.raises(AgentStepperError, match="can't be empty"):
        stage.rename(name)
    assert stage.run().name == "Run #1 of P"


def test_only_a_run_that_ended_is_deleted(stage: Stage) -> None:
    with pytest.raises(CommandError, match="Stop the agent, or wait") as refused:
        stage.delete()
    assert refused.value.code == "run_is_live"
    stage.finish()
    stage.delete()
    assert stage.debugger.runs == []
    stage.start()
    assert stage.run().name == "Run #1 of P"


def test_an_imported_run_has_ended_and_counts(stage: Stage) -> None:
    header = Run(id="old", name="Old", program="P", started_at=0.0, state=RunState.IDLE)
    stage.perform(stage.debugger.commands.import_run(RunHistory(run=header)))
    assert stage.run("old") == header
    with pytest.raises(CommandError) as refused:
        stage.step(run="old")
    assert refused.value.code == "run_is_over"
    stage.start("new")
    assert stage.run("new").name == "Run #3 of P"
    stage.delete("old")


def test_the_active_run_is_the_live_one_that_halted_or_started_last(stage: Stage) -> None:
    def active() -> str | None:
        run = stage.debugger.active
        return run.id if run else None

    stage.start("second")
    assert active() == "second"
    stage.query("run")
    assert active() == "run"
    stage.start("third")
    assert active() == "third"
    stage.finish("third")
    assert active() == "run"
    stage.rename("x", "second")
    assert active() == "run"
    stage.finish("run")
    assert active() == "second"
    stage.delete("run")
    stage.finish("second")
    assert active() is None
