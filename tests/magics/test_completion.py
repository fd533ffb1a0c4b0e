"""What the Tab key offers on a line of `%agentstepper`."""

from __future__ import annotations

import re

import pytest

from agentstepper_nb.magics.agentstepper_magics import AgentStepperMagics
from agentstepper_nb.magics.completion import list_candidates


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("%agentstepper br", ["break", "breakpoints"]),
        ("%agentstepper --k", ["--kernel"]),
        ("%agentstepper se", ["sessions", "seams"]),
        ("%agentstepper nest ", ["on"]),
        ("%agentstepper break be", ["before"]),
        ("%agentstepper break dr", ["dry-run"]),
        ("%agentstepper break dry-run aft", ["after"]),
        ("%agentstepper break before to", ["tool"]),
        ("%agentstepper break before tool run_tests h", ["hit"]),
        ("%agentstepper break before tool run_tests all ", ["agents"]),
        ("%agentstepper break disable ", ["all"]),
        ("%agentstepper break disable 1 ", []),
        ("%agentstepper break tool hit ", []),
        ("%agentstepper break tool where args ", []),
        ("%agentstepper break tool repeated 3 o", ["overall", "once"]),
        ("%agentstepper price d", ["delete"]),
        ("%agentstepper doctor ", []),
    ],
)
def test_candidates(line: str, offered: list[str]) -> None:
    assert list_candidates(line) == offered


def test_each_documented_command_completes() -> None:
    documented = re.findall(
        r"``%agentstepper ([-a-z]+)", AgentStepperMagics.agentstepper.__doc__ or ""
    )
    assert set(list_candidates("%agentstepper ")) == {*documented, "--run"}
    assert list_candidates("%agentstepper ch") == ["chat", "check"]
