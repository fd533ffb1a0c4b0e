"""`%agentstepper` in a real kernel."""

from __future__ import annotations

import pytest

from agentstepper_nb.widgets import VIEW_MIME
from tests.widgets.kernel import CellResult, Kernel
from tests.widgets.person import KernelTestView


def shown_run(ran: CellResult) -> str:
    """The run that the shown view has selected."""
    views = [c["data"] for kind, c in ran.outputs if kind == "display_data"]
    assert len(views) == 1
    run: str = views[0][VIEW_MIME]["run"]
    return run


@pytest.mark.slow
def test_what_needs_an_agent_where_this_kernel_has_run_none(kernel: Kernel) -> None:
    assert "has run no agent" in str(kernel.run("%agentstepper check true").outputs)


@pytest.mark.slow
def test_newest_of_all_where_this_kernel_has_none(kernel: Kernel) -> None:
    assert shown_run(kernel.run("%agentstepper")) == ""


# ---- breakpoints and prices --------------------------------------------------------------------------


@pytest.mark.slow
def test_breakpoints_from_a_cell(kernel: Kernel) -> None:
    assert kernel.run("%agentstepper breakpoints").value == "No breakpoints are set."
    said = kernel.run('%agentstepper break before tool open where "a" in args.path hit 2')
    assert said.text == (
        'Breakpoint 1 is set for all agents: before tool open hit 2 where "a" in args.path. '
        "%agentstepper break dry-run 1 shows where it would have hit.\n"
    )
    kernel.run("%%step reader\npass")
    assert (
        "for agents called “reader”: after error."
        in kernel.run("%agentstepper break after error").text
    )
    assert (
        "for all agents: tokens 50000."
        in kernel.run("%agentstepper break tokens 50000 all agents").text
    )
    listed = kernel.run("%agentstepper break disable 1 3")
    assert [line.split()[:3] for line in (listed.value or "").splitlines()] == [
        ["breakpoint", "agents"],
        ["1", "disabled", "before"],
        ["2", "enabled", "after"],
        ["3", "disabled", "tokens"],
    ]
    assert (kernel.run("%agentstepper break dry-run 2").value or "").startswith(
        "No hit in this run."
    )
    assert kernel.run("%agentstepper break delete all").value == "No breakpoints are set."


def test_prices_from_a_cell(kernel: Kernel) -> None:
    listed = kernel.run("%agentstepper price gpt-mini 0.25 $2")
    assert (listed.value or "").splitlines()[-1].split() == ["gpt-mini", "$0.25", "$2"]
    assert kernel.run("%agentstepper prices").value == listed.value
    assert kernel.run("%agentstepper price delete gpt-mini").value == "No prices are set."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("break", "usage: %agentstepper break"),
        ("break disable", "usage: %agentstepper break"),
        ("break disable two", "usage: %agentstepper break"),
        ("break dry-run", "usage: %agentstepper break"),
        ("break delete 7", "There is no breakpoint of that number"),
        ("break elsewhere", "“elsewhere” isn't understood here"),
        ("break tool where args.", "The condition can't be read"),
        ("breakpoints all", "usage: %agentstepper break"),
        ("price gpt-mini", "usage: %agentstepper price"),
        ("price gpt-mini much 2", "usage: %agentstepper price"),
        ("price gpt-mini -1 2", ">= 0"),
        ("prices all", "usage: %agentstepper price"),
    ],
)
def test_lines_of_breakpoints_and_prices_that_are_wrong(
    kernel: Kernel, line: str, said: str
) -> None:
    ran = kernel.run(f"%agentstepper {line}")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert said in ran.text
    assert kernel.run("%agentstepper breakpoints").value == "No breakpoints are set."


@pytest.mark.parametrize("how", ["break", "break dry-run"])
def test_a_caret_stands_below_what_is_wrong(kernel: Kernel, how: str) -> None:
    said = kernel.run(f"%agentstepper {how} before tool where args.i >").text
    assert said.splitlines()[-2:] == ["    args.i >", "            ^"]
    said = kernel.run(f"%agentstepper {how} before tool where args.i = 3 once").text
    assert "Did you mean “==”?" in said
    assert said.splitlines()[-2:] == ["    args.i = 3", "           ^"]


def test_names_in_quotes(kernel: Kernel) -> None:
    listed = kernel.run("%agentstepper price 'a model' 0.25 2").value or ""
    assert listed.splitlines()[-1].split() == ["a", "model", "$0.25", "$2"]
    deleted = kernel.run('%agentstepper price delete "a model"')
    assert deleted.value == "No prices are set."


def test_words_are_completed(kernel: Kernel) -> None:
    asked = "get_ipython().Completer.complete(line_buffer={0!r}, cursor_pos=len({0!r}))[1]"
    for line, offered in {
        "%agentstepper br": "breakpoints",
        "%agentstepper break be": "before",
    }.items():
        assert offered in (kernel.run(asked.format(line)).value or "")


# ---- runs and lines -----------------------------------------------------------------------------------


def test_newest_run_of_this_kernel(kernel: Kernel, person: KernelTestView) -> None:
    kernel.run("%%step\npass")
    kernel.run(
        "import agentstepper_nb\n"
        "made = agentstepper_nb.AgentStepper('plain', stop_on_entry=False)\nmade.close()"
    )
    newest = max(person.wait_for_run(lambda run: run.program == "plain").id, *person.runs)
    assert shown_run(kernel.run("%agentstepper")) == newest


@pytest.mark.parametrize(
    "line",
    [
        *("nest", "nest off", "nonsense", "nest on now", "doctor on", "--kernel --input"),
        *("--export", "--export a.run --kernel", "--run librarian"),
    ],
)
def test_lines_that_are_wrong(kernel: Kernel, line: str) -> None:
    ran = kernel.run(f"%agentstepper {line}")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert "usage: %agentstepper [--kernel | --input | --export FILE" in ran.text


@pytest.mark.parametrize("line", ["help", "--help", "-h"])
def test_help(kernel: Kernel, line: str) -> None:
    ran = kernel.run(f"%agentstepper {line}")
    assert ran.status == "ok"
    assert ran.text.startswith("usage: %agentstepper [--kernel |")
    assert "%agentstepper doctor shows what is connected to what" in ran.text


@pytest.mark.parametrize(
    ("line", "meant"),
    [("sesions", "sessions"), ("docter", "doctor"), ("--kernal", "--kernel"), ("chatt", "chat")],
)
def test_a_letter_is_wrong(kernel: Kernel, line: str, meant: str) -> None:
    ran = kernel.run(f"%agentstepper {line}")
    assert (ran.error, f"Did you mean “{meant}”?" in ran.text) == ("UsageError", True)


def test_a_core_that_is_not_in_the_kernel_keeps_its_own_files(kernel: Kernel) -> None:
    ran = kernel.run("%agentstepper --export a.run")
    assert (ran.error, "agentstepper/logs" in ran.text) == ("UsageError", True)


def test_nest_is_off_until_asked_for(kernel: Kernel) -> None:
    code = "import asyncio\nasyncio.run(asyncio.sleep(0, 'slept'))"
    kernel.run("import warnings; warnings.simplefilter('ignore')")  # of the loop that never ran
    assert kernel.run(code).error == "RuntimeError"
    told = kernel.run("%agentstepper nest on")
    assert (told.status, told.error) == ("ok", None)
    assert "is applied" in told.text
    assert kernel.run(code).value == "'slept'"
    assert kernel.run(f"%%step\n{code}").value == "'slept'"
    assert kernel.run("%%step\nawait asyncio.sleep(0, 'slept')").value == "'slept'"


def test_loading_twice(kernel: Kernel) -> None:
    assert kernel.run("%reload_ext agentstepper_nb").status == "ok"
    assert kernel.run("%%step\n1").value == "1"


def test_loading_imports_little(kernel: Kernel) -> None:
    assert kernel.heavy_modules == "[]"


def test_the_fleets_widget_is_shown(kernel: Kernel) -> None:
    shown = kernel.run("%agentstepper fleet")
    assert shown.status == "ok"
    assert shown.displayed("application/vnd.jupyter.widget-view+json")
    (text,) = [c["data"]["text/plain"] for kind, c in shown.outputs if kind == "display_data"]
    assert text.startswith("AgentStepper: the fleet.\n0 sessions.")


# ---- checks ------------------------------------------------------------------------------------------

CHECKS = """
from agentstepper_nb.widgets.kernel_core import get_kernel_core
core = get_kernel_core()
print([(each.command, each.exit_code, each.line) for each in core.runs()[-1].checks or ()])
"""


def test_a_check_is_recorded_with_the_newest_run(kernel: Kernel, tmp_path: object) -> None:
    kernel.run("%agentstepper --kernel")
    kernel.run(f"%%step worker --workspace {tmp_path}\npass")
    said = kernel.run('%agentstepper check "echo 2 failed; pwd; exit 3"')
    assert "failed with exit code 3" in said.text
    assert str(tmp_path) in said.text
    assert "passed" in kernel.run("%agentstepper check true").text
    assert kernel.run(CHECKS).text == (
        f"[('echo 2 failed; pwd; exit 3', 3, '{tmp_path}'), ('true', 0, '')]\n"
    )
    assert "usage: %agentstepper check" in str(kernel.run("%agentstepper check").outputs)
