"""Why a run's test can't be written by its Core, and the line that writes it elsewhere."""

from __future__ import annotations

import pytest

from agentstepper_nb.core.search_refusals import explain_no_export
from agentstepper_nb.protocol.data_model import Run
from agentstepper_nb.protocol.run_programs import ExportTest
from agentstepper_nb.protocol.start_methods import CellStart, CommandStart, StartMethod

RUN = Run(id="r", name="R", program="p", started_at=1.0, host="desk")
LINE = "agentstepper export --pytest r --agent shop:agent"


def explain(start: StartMethod | None, *args: str, host: str = "desk") -> str | None:
    command = ExportTest(run="r", agent="shop:agent", args=args, file="test_r.py")
    return explain_no_export(RUN, start, command, host)


def test_the_run_of_a_command_can_be_exported() -> None:
    assert explain(CommandStart(argv=("python", "shop.py"), folder="/srv")) is None


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ((), f"{LINE} -o test_r.py"),
        (("a b", "7"), f"{LINE} --arg 'a b' --arg 7 -o test_r.py"),
    ],
)
def test_another_run_is_exported_by_a_line_that_can_be_pasted(
    args: tuple[str, ...], line: str
) -> None:
    assert explain(CellStart(source="agent()"), *args) == (
        "Run r is a notebook's cell, and runs again in a kernel. "
        f"In the folder of its agent type {line}"
    )


def test_a_run_of_another_machine_says_so() -> None:
    assert (explain(None, host="lap") or "").startswith(
        "The agent of run r ran on another machine, desk. In the folder of its agent type "
    )
