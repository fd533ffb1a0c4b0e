"""What each effect check marks, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.core.effects import BUILTIN_CHECKS, EffectCheck, EffectInput
from agentstepper_nb.protocol.data_model import EventOutcome
from agentstepper_nb.protocol.effects import EffectMark, MarkSeverity

from .tool_runs import ADDED, DELETED, ToolRun, changed

WRITE = {"path": "cart.py", "content": "def total(): ...\n"}


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("start_server", {}, {"exit_code": 1, "output": "Done."}),
        ("deploy", {}, "exit code: 2\nsuccessfully deployed"),
        ("run_tests", {}, "exit code 0\n1 failed, 3 passed"),
        ("run_command", {"command": "pytest -q"}, {"exit_code": 0, "output": "2 failed"}),
        ("start_container", {"name": "web"}, {"exit_code": 0, "error": "it did not start"}),
        ("start_container", {"name": "web"}, "exit code 0\nError: it did not start"),
    ],
)
def test_an_exit_code_and_a_text_that_say_different_things(
    tool: str, arguments: Any, result: Any
) -> None:
    (mark,) = ToolRun().call(tool, arguments, result)
    assert mark.check == "exit_code"
    assert mark.severity is MarkSeverity.WARNING
    assert "xit code" in mark.message


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("run_tests", {}, "exit code 0\n4 passed"),
        ("run_tests", {}, "exit code 1\n1 failed, 3 passed"),
        ("run_tests", {}, "exit code 0\n4 passed, 0 failed"),
        ("run_command", {"command": "pytest -q | tail -3"}, {"exit_code": 0, "output": "1 failed"}),
        ("run_command", {"command": "cat build.log"}, "exit code 0\nerror: no rule for target"),
        ("run_command", {"command": "grep -r foo"}, {"exit_code": 1, "stdout": "", "stderr": ""}),
        ("run_command", {"command": "false"}, {"exit_code": 1, "output": "created a, then failed"}),
        ("lookup", {"word": "exit code"}, "what an exit code is: a number"),
    ],
)
def test_what_fits_is_not_marked(tool: str, arguments: Any, result: Any) -> None:
    assert ToolRun().call(tool, arguments, result) == ()


def test_it_says_that_it_wrote_and_no_file_changed() -> None:
    run = ToolRun()
    (mark,) = run.call("write_file", WRITE, "wrote 17 characters to cart.py")
    assert mark == EffectMark(
        check="no_effect",
        message="It says “wrote 17 characters to cart.py”, but changed no file.",
    )
    (silent,) = run.call("write_file", {**WRITE, "path": "till.py"}, None)
    assert (silent.check, silent.severity) == ("no_effect", MarkSeverity.NOTE)
    assert silent.message == "It was to write till.py, and changed no file."
    assert run.names("delete_file", {"path": "old.py"}, "Deleted old.py") == ["no_effect"]


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        (WRITE, "No changes: cart.py is identical"),
        (WRITE, "Error: permission denied"),
        (WRITE, {"ok": False, "error": "read-only"}),
        ({**WRITE, "path": "/tmp/cart.py"}, "wrote 17 characters"),
        ({**WRITE, "path": "../cart.py"}, "wrote 17 characters"),
        ({**WRITE, "path": "build/cart.py"}, "wrote 17 characters"),
        ({**WRITE, "path": "agent.log"}, "wrote 17 characters"),
    ],
)
def test_a_write_that_may_have_had_no_effect(arguments: Any, result: Any) -> None:
    assert ToolRun().call("write_file", arguments, result) == ()


def test_without_snapshots_nothing_is_said_of_files() -> None:
    run = ToolRun()
    run.tracker._is_watched = False
    assert run.call("write_file", WRITE, "wrote 17 characters") == ()


def test_a_path_from_the_root_is_of_the_workspace() -> None:
    arguments = {**WRITE, "path": "/srv/shop/cart.py"}
    assert ToolRun().names("write_file", arguments, "wrote it") == ["no_effect"]
    assert ToolRun().names("write_file", arguments, "wrote it", changed("cart.py")) == []


def test_the_same_content_again_is_a_note_with_the_row_that_wrote_it() -> None:
    run = ToolRun()
    assert run.call("write_file", WRITE, "wrote", changed("cart.py", ADDED, WRITE["content"])) == ()
    (mark,) = run.call("write_file", WRITE, "wrote")
    assert (mark.check, mark.severity) == ("same_content", MarkSeverity.NOTE)
    assert mark.message == "It writes what cart.py holds already (row 2): nothing changed."


def test_what_was_read_is_known_to_stand_there() -> None:
    run = ToolRun()
    assert run.call("read_file", {"path": "cart.py"}, WRITE["content"]) == ()
    assert run.names("write_file", WRITE, "wrote 17 characters") == ["same_content"]


def test_other_files_changed_than_those_named() -> None:
    (mark,) = ToolRun().call("write_file", WRITE, "wrote cart.py", changed("till.py"))
    assert mark.check == "named_files"
    assert mark.message == "It names cart.py, but changed till.py."
    (kept,) = ToolRun().call("delete_file", {"path": "a.py"}, "deleted", changed("a.py"))
    assert kept.message == "It was to delete a.py, which is still there."


@pytest.mark.parametrize("path", ["src/cart.py", "cart.py", "./cart.py", "/srv/shop/src/cart.py"])
def test_a_file_is_the_same_whatever_folder_its_path_begins_in(path: str) -> None:
    call = ("edit_file", {"path": path, "old": "a", "new": "b"}, "edited")
    assert ToolRun().call(*call, changed("src/cart.py")) == ()


def test_a_file_among_several_is_enough() -> None:
    patch = "*** Update File: a.py\n*** Add File: b.py\n"
    assert ToolRun().call("apply_patch", {"patch": patch}, "Done", changed("a.py")) == ()
    assert ToolRun().names("apply_patch", {"patch": patch}, "Done") == ["no_effect"]


FIX = {"changes": [{"file_name": "cart.py", "line_number": 7, "new_line": "    return sum(x) * y"}]}
NEAR = {
    "changes": [{"file_name": "cart.py", "line_number": 7, "new_line": "    return sum(x) - y"}]
}


def test_an_edit_that_is_nearly_the_same_had_no_effect() -> None:
    run = ToolRun()
    assert run.call("write_fix", FIX, "Fix applied.", changed("cart.py")) == ()
    marks = run.call("write_fix", NEAR, "Fix applied.")
    assert [mark.check for mark in marks] == ["dropped_edit", "no_effect"]
    assert marks[0].message.startswith("This edit of cart.py had no effect. It is nearly the same")
    assert "row 2 (" in marks[0].message
    assert "may have dropped it" in marks[0].message


def test_an_edit_that_differs_much_is_not_called_nearly_the_same() -> None:
    run = ToolRun()
    run.call("write_fix", FIX, "Fix applied.", changed("cart.py"))
    other = {"changes": [{"file_name": "cart.py", "new_lines": ["import math"] * 9}]}
    assert run.names("write_fix", other, "Fix applied.") == ["no_effect"]


@pytest.mark.parametrize(
    ("others", "marks"), [(9, ["dropped_edit", "no_effect"]), (10, ["no_effect"])]
)
def test_an_edit_is_compared_with_the_last_ten_of_its_file(others: int, marks: list[str]) -> None:
    run = ToolRun()
    run.call("write_fix", FIX, "Fix applied.", changed("cart.py"))
    for number in range(others):
        other = {"changes": [{"file_name": "cart.py", "new_lines": [f"import m{number}"] * 9}]}
        run.call("write_fix", other, "Fix applied.", changed("cart.py"))
    assert run.names("write_fix", NEAR, "Fix applied.") == marks


START = {"name": "web", "image": "shop:1"}


def test_a_failure_is_reported_and_its_effect_happened() -> None:
    run = ToolRun()
    (mark,) = run.call(
        "start_container", START, "Error: web did not start", changed("run/web.json", ADDED)
    )
    assert mark.check == "failed_effect"
    assert (
        mark.message == "It reports failure (“Error: web did not start”), but created run/web.json."
    )
    raised = run.call("write_file", WRITE, None, changed("cart.py"), outcome=EventOutcome.ERROR)
    assert [each.message for each in raised] == ["It reports failure, but changed cart.py."]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"ok": False}, "ok: false"),
        ({"isError": True}, "iserror: true"),
        ({"status": "Error"}, "status: Error"),
        ({"exit_code": 3, "stdout": ""}, "exit code 3"),
    ],
)
def test_a_failure_that_a_field_reports_is_quoted(result: Any, said: str) -> None:
    (mark,) = ToolRun().call("write_file", WRITE, result, changed("cart.py"))
    assert mark.message == f"It reports failure (“{said}”), but changed cart.py."


def test_a_failure_whose_files_are_others_is_a_failure() -> None:
    run = ToolRun()
    assert run.call("write_file", WRITE, "Error: disk full", changed("cart.py", DELETED)) == ()
    failed = ("start_container", START, "Error: web did not start")
    assert run.call(*failed, changed("README.md")) == ()
    assert (
        run.call("run_command", {"command": "make cart.py"}, "exit code 2", changed("cart.py"))
        == ()
    )


def test_what_was_reported_as_failed_exists() -> None:
    run = ToolRun()
    run.call("start_container", START, "Error: web did not start")
    (mark,) = run.call("start_container", START, "The name web is already in use")
    assert mark.check == "already_done"
    assert "row 2" in mark.message
    assert run.call("start_container", {"name": "db"}, "The name db is already in use") == ()
    other = {"name": "database"}
    assert run.call("start_container", other, "The name database is already in use") == ()


def test_what_an_earlier_call_made_exists() -> None:
    run = ToolRun()
    run.call("start_container", START, "Error: web did not start")
    run.call("start_container", START, "web is healthy")
    assert run.call("start_container", START, "The name web is already in use") == ()


def test_a_check_can_be_switched_off_and_is_listed() -> None:
    run = ToolRun(disabled=("no_effect",))
    assert run.call("write_file", WRITE, "wrote it") == ()
    shown = {each.name: each.enabled for each in run.tracker._checks.describe()}
    assert shown == {each.name: each.name != "no_effect" for each in BUILTIN_CHECKS}


def test_an_extension_adds_a_check_and_one_that_raises_marks_nothing() -> None:
    def check(call: EffectInput) -> str | None:
        return "It prays." if call.tool == "pray" else None

    def broken(call: EffectInput) -> str:
        raise RuntimeError("no")

    run = ToolRun(EffectCheck("prays", "Prayers", check), EffectCheck("broken", "Broken", broken))
    (mark,) = run.call("pray", {})
    assert (mark.check, mark.message) == ("prays", "It prays.")
    assert run.failed_checks == ["broken"]


@pytest.mark.parametrize("result", ["[" * 5000, "NaN", "\ud800", {"a": [{}] * 5000}, [1], True])
@pytest.mark.parametrize("arguments", [None, "{", 7, [["path", "a"]], {"path": 7, "content": None}])
def test_hostile_values_are_read(result: Any, arguments: Any) -> None:
    run = ToolRun()
    event = "e"
    data = b"[" * 3000 if arguments == 7 else None
    if data is None:
        assert isinstance(run.call("write_file", arguments, result), tuple)
    else:
        run.tracker.begin(event, "write_file", data)
        assert run.tracker.end(event, 1, b"\xff\xfe") is None


def test_deleted_files_say_so() -> None:
    call = ("delete_file", {"path": "old.py"}, "Deleted old.py")
    assert ToolRun().call(*call, changed("old.py", DELETED)) == ()
