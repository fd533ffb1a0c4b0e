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


def test_newest_of_all_where_this_kernel_has_none(kernel: Kernel) -> None:
    assert shown_run(kernel.run("%agentstepper")) == ""


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


def test_loading_imports_little(
    kernel: Kernel, environment: dict[str, str], folder: object
) -> None:
    fresh = Kernel(environment, str(folder))
    try:
        ran = fresh.run(
            "%load_ext agentstepper_nb\nimport sys\n"
            "sorted({'anywidget', 'websockets', 'git', 'openai', 'tornado.websocket',"
            " 'agentstepper_nb.sdk', 'agentstepper_nb.widgets'} & set(sys.modules))"
        )
        assert ran.value == "[]"
    finally:
        fresh.close()
