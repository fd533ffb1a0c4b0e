"""What the Tab key offers on a line of `%agentstepper`."""

from __future__ import annotations

import pytest

from agentstepper_nb.magics.completion import list_candidates


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("%agentstepper sto", ["stop", "stops"]),
        ("%agentstepper --k", ["--kernel"]),
        ("%agentstepper se", ["sessions"]),
        ("%agentstepper nest ", ["on"]),
        ("%agentstepper stop be", ["before"]),
        ("%agentstepper stop tr", ["try"]),
        ("%agentstepper stop try aft", ["after"]),
        ("%agentstepper stop before to", ["tool"]),
        ("%agentstepper stop before tool run_tests n", ["nth"]),
        ("%agentstepper stop before tool run_tests all ", ["agents"]),
        ("%agentstepper stop off ", ["all"]),
        ("%agentstepper stop off 1 ", []),
        ("%agentstepper stop tool nth ", []),
        ("%agentstepper stop tool where args ", []),
        ("%agentstepper stop tool repeated 3 o", ["overall", "once"]),
        ("%agentstepper price d", ["delete"]),
        ("%agentstepper doctor ", []),
    ],
)
def test_candidates(line: str, offered: list[str]) -> None:
    assert list_candidates(line) == offered
