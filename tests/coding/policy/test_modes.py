"""The guide's tables of modes, cell by cell: what the policy says is what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision, PolicyRulesFile
from agentstepper_nb.coding.sandbox import AccessGrant, SandboxMode, SessionGrants
from agentstepper_nb.coding.tool import Risk, Tool
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.docs.pages import GUIDE

from .tools import ASKING, READ, RUN, WRITE, AllRecoverable, evaluate_tool

PAGE = GUIDE / "policy.md"
LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")
COLUMNS = [
    *({"mode": SandboxMode.READ_ONLY}, {"mode": SandboxMode.WORKSPACE_WRITE}),
    *({"mode": SandboxMode.DANGER_FULL_ACCESS}, {"is_confined": False}),
]
WORDS = {
    "allowed": PolicyDecision.ALLOWED,
    "asks": PolicyDecision.REQUIRES_APPROVAL,
    "denied": PolicyDecision.DENIED,
}
#: A call for each row of the page's tables.
CALLS: dict[str, tuple[Tool, dict[str, Any]]] = {
    "a tool reads": (READ, {"path": "saved.txt"}),
    "a tool changes files": (WRITE, {"path": "saved.txt"}),
    "a tool changes work without a copy": (WRITE, {"path": "unsaved.txt"}),
    "a command only reads": (RUN, {"command": "ls -l | head"}),
    "a build, a test": (RUN, {"command": "pytest -q"}),
    "another command": (RUN, {"command": "psql -c 'drop database x'"}),
    "a command changes work without a copy": (RUN, {"command": "mv saved.txt unsaved.txt"}),
    "a command of the dangerous list": (RUN, {"command": "rm -rf build"}),
    "a command wants the network": (RUN, {"command": "psql x", "network": True}),
    "a command wants to change a folder outside": (
        RUN,
        {"command": "./install", "writable": ["/elsewhere"]},
    ),
    "a path outside of the workspace, by a tool": (READ, {"path": "../x"}),
    "a change in `.git`, by a tool": (WRITE, {"path": ".git/hooks/pre-commit"}),
    "what one of your rules denies": (RUN, {"command": "git push"}),
    "what asks, inside of the sandbox": (RUN, {"command": "rm -rf build"}),
    "the network": (RUN, {"command": "psql x", "network": True}),
    "a folder outside": (RUN, {"command": "./install", "writable": ["/elsewhere"]}),
}


class AllButOneRecoverable:
    """Snapshots that hold all files but one."""

    def is_recoverable(self, path: Path) -> bool:
        return path.name != "unsaved.txt"


@pytest.fixture
def filled(workspace: LocalWorkspace) -> LocalWorkspace:
    for name in ("saved.txt", "unsaved.txt"):
        (workspace.root / name).write_text("x")
    return workspace


def table(heading: str) -> dict[str, list[str]]:
    """The first table below a heading of the page: each row's first words of its cells."""
    below = LINK.sub(r"\1", PAGE.read_text().split(f"## {heading}\n", 1)[1])
    lines = [line for line in below.split("\n## ")[0].splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: [cell.split()[0].strip(",;:") for cell in row[1:]] for row in rows[1:]}


@pytest.mark.parametrize(
    ("heading", "auto_approve"), [("Modes", False), ("`--yes` and `autoApprove`", True)]
)
def test_each_cell_of_the_page_holds(
    filled: LocalWorkspace, book: PolicyRulesFile, heading: str, auto_approve: bool
) -> None:
    book.deny(command="git push")
    found = {}
    for row in table(heading):
        tool, args = CALLS[row]
        for column, said in zip(COLUMNS, table(heading)[row], strict=True):
            engine = DefaultPolicyEngine(
                book,
                filled,
                auto_approve=auto_approve,
                recoverable_files=AllButOneRecoverable(),
                **column,
            )
            if evaluate_tool(engine, tool, **args).decision is not WORDS[said]:
                found[row, str(column)] = evaluate_tool(engine, tool, **args)
    assert found == {}


def test_the_page_has_each_row() -> None:
    assert [*table("Modes"), *table("`--yes` and `autoApprove`")] == list(CALLS)


# ---- grants ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "grant", "words"),
    [
        ({"network": True}, AccessGrant(kind="network"), "the network in this session"),
        ({"network": "yes"}, AccessGrant(kind="network"), "the network in this session"),
        (
            {"writable": ["/a/b", "/a/b/../b"]},
            AccessGrant(kind="writable", folders=(Path("/a/b"),)),
            "changes in `/a/b` in this session",
        ),
    ],
)
def test_a_grant_answers_for_the_session(
    workspace: LocalWorkspace, args: dict[str, Any], grant: AccessGrant, words: str
) -> None:
    grants = SessionGrants()
    engine = DefaultPolicyEngine(workspace=workspace, grants=grants)
    call = {"command": "npm ci", **args}
    said = evaluate_tool(engine, RUN, **{**call, "command": "./x"})
    assert (said.decision, said.grant, said.rule) == (
        PolicyDecision.REQUIRES_APPROVAL,
        grant,
        words,
    )
    grants.add(grant)
    assert (
        evaluate_tool(engine, RUN, **{**call, "command": "./x"}).decision is PolicyDecision.ALLOWED
    )
    installs = evaluate_tool(engine, RUN, **call)
    assert (installs.decision, installs.grant) == (PolicyDecision.REQUIRES_APPROVAL, None)


def test_builds_and_tests_are_granted_once_a_session(workspace: LocalWorkspace) -> None:
    grants = SessionGrants()
    engine = DefaultPolicyEngine(workspace=workspace, is_confined=False, grants=grants)
    said = evaluate_tool(engine, RUN, command="pytest -q")
    assert said.grant == AccessGrant(kind="project_code")
    assert said.rule == "builds and tests in this session"
    assert said.risk is Risk.HIGH
    grants.add(said.grant)
    assert evaluate_tool(engine, RUN, command="make test").decision is PolicyDecision.ALLOWED
    assert (
        evaluate_tool(engine, RUN, command="pytest; curl x").decision is not PolicyDecision.ALLOWED
    )


def test_a_folder_of_the_workspace_is_no_way_out(workspace: LocalWorkspace) -> None:
    engine = DefaultPolicyEngine(workspace=workspace)
    for folder in (str(workspace.root / "build"), "build"):
        said = evaluate_tool(engine, RUN, command="make", writable=[folder])
        assert said.decision is PolicyDecision.ALLOWED


@pytest.mark.parametrize("folder", ["/a\0b", "/\ud800", "x" * 5000, "/proc/1/root/x", ""])
def test_an_odd_folder_is_judged(workspace: LocalWorkspace, folder: str) -> None:
    engine = DefaultPolicyEngine(workspace=workspace)
    said = evaluate_tool(engine, RUN, command="make", writable=[folder])
    assert said.decision in (PolicyDecision.ALLOWED, PolicyDecision.REQUIRES_APPROVAL)


def test_several_questions_are_asked_as_one(workspace: LocalWorkspace) -> None:
    engine = DefaultPolicyEngine(workspace=workspace)
    args = {"command": "rm -rf x", "network": True, "writable": ["/a"]}
    said = evaluate_tool(engine, RUN, **args)
    assert said.grant is None
    assert said.risk is Risk.HIGH
    for part in ("deletes folders", "the network", "outside of the workspace, in `/a`"):
        assert part in said.reason


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"network": True}, "start the session with --network"),
        ({"writable": ["/a/b"]}, "start the session with --writable /a/b"),
    ],
)
def test_what_yes_denies_says_what_to_do(
    workspace: LocalWorkspace, args: dict[str, Any], says: str
) -> None:
    engine = DefaultPolicyEngine(workspace=workspace, auto_approve=True)
    said = evaluate_tool(engine, RUN, **{"command": "x", **args})
    assert said.decision is PolicyDecision.DENIED
    assert says in said.reason


def test_read_only_without_a_sandbox(filled: LocalWorkspace) -> None:
    engine = DefaultPolicyEngine(workspace=filled, is_confined=False, mode=SandboxMode.READ_ONLY)
    for tool, args, decision in [
        (RUN, {"command": "ls"}, PolicyDecision.ALLOWED),
        (RUN, {"command": "touch x"}, PolicyDecision.REQUIRES_APPROVAL),
        (WRITE, {"path": "saved.txt"}, PolicyDecision.DENIED),
        (ASKING, {}, PolicyDecision.DENIED),
    ]:
        assert evaluate_tool(engine, tool, **args).decision is decision


def test_a_sandbox_that_holds_no_signals_lets_none_be_sent(workspace: LocalWorkspace) -> None:
    args = {"command": "ls; pkill python"}
    held = DefaultPolicyEngine(workspace=workspace, recoverable_files=AllRecoverable())
    assert evaluate_tool(held, RUN, **args).decision is PolicyDecision.ALLOWED
    loose = DefaultPolicyEngine(
        workspace=workspace, recoverable_files=AllRecoverable(), can_send_signals=True
    )
    said = evaluate_tool(loose, RUN, **args)
    assert said.decision is PolicyDecision.REQUIRES_APPROVAL
    assert "`pkill python` may end processes outside of the sandbox" in said.reason
