"""The default policy: which rule decides, in which order, and what `--yes` may do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentstepper_nb.coding.policy import (
    DefaultPolicyEngine,
    PolicyDecision,
    PolicyEvaluation,
    PolicyRulesFile,
)
from agentstepper_nb.coding.tool import Risk, Tool
from agentstepper_nb.coding.workspace import LocalWorkspace

from .tools import ASKING, PATCH, READ, RISKY, RUN, RUN_WORDS, WRITE, evaluate_tool

ALLOWED = PolicyDecision.ALLOWED
ASKS = PolicyDecision.REQUIRES_APPROVAL
DENIED = PolicyDecision.DENIED


def read(engine: DefaultPolicyEngine, tool: Tool, text: str) -> PolicyEvaluation:
    return asyncio.run(engine.evaluate(tool, text))


@pytest.fixture
def engine(book: PolicyRulesFile, workspace: LocalWorkspace) -> DefaultPolicyEngine:
    return DefaultPolicyEngine(book, workspace)


@pytest.fixture
def yes(book: PolicyRulesFile, workspace: LocalWorkspace) -> DefaultPolicyEngine:
    return DefaultPolicyEngine(book, workspace, auto_approve=True)


# ---- the default rules -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "args", "decision", "why"),
    [
        (READ, {"path": "x"}, ALLOWED, "`read_file` only reads."),
        (WRITE, {"path": "x"}, ALLOWED, "The call stays inside the workspace."),
        (ASKING, {}, ASKS, "`deploy` always asks."),
        (RISKY, {}, ASKS, "`format` can do much harm."),
        (RUN, {"command": "ls"}, ALLOWED, "The command runs in the sandbox."),
        (RUN, {"command": "rm -r x"}, ASKS, "`rm -r x` deletes folders and all that is in them."),
        (RUN_WORDS, {"command": "echo ; rm -r x"}, ALLOWED, "The command runs in the sandbox."),
        (
            RUN_WORDS,
            {"command": "echo 'x"},
            ASKS,
            "The command can't be parsed: No closing quotation.",
        ),
        (
            RUN,
            {"command": "ls; rm -r x"},
            ASKS,
            "`rm -r x` deletes folders and all that is in them.",
        ),
        (
            WRITE,
            {"path": ".git/hooks/pre-commit"},
            DENIED,
            "The path '.git/hooks/pre-commit' lies in `.git`, where no tool may write, because git "
            "runs programs from there. Commit with `git_commit`; only the person changes git's hooks "
            "and settings.",
        ),
        (READ, {"path": ".git/config"}, ALLOWED, "`read_file` only reads."),
    ],
)
def test_the_first_rule_that_matches_decides(
    engine: DefaultPolicyEngine, tool: Tool, args: dict[str, Any], decision: object, why: str
) -> None:
    said = evaluate_tool(engine, tool, **args)
    assert (said.decision, said.reason) == (decision, why)


@pytest.mark.parametrize(
    ("command", "risk"),
    [("ls", Risk.MEDIUM), ("pip install x", Risk.MEDIUM), ("rm -r x", Risk.HIGH)],
)
def test_the_risk_is_told(engine: DefaultPolicyEngine, command: str, risk: Risk) -> None:
    assert evaluate_tool(engine, RUN, command=command).risk is risk


def test_words_are_judged_as_words(engine: DefaultPolicyEngine) -> None:
    assert evaluate_tool(engine, RUN, command=["echo", "; rm -r x"]).decision is ALLOWED
    assert evaluate_tool(engine, RUN, command=["rm", "-r", "x"]).decision is ASKS


@pytest.mark.parametrize("shell", [False, True, 0, None])
def test_no_argument_keeps_a_command_from_being_judged_as_a_shells(
    engine: DefaultPolicyEngine, shell: object
) -> None:
    assert evaluate_tool(engine, RUN, command="ls; rm -r x", shell=shell).decision is ASKS


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "C:\\x", "~/x", "x\x00", "a/../../x"])
@pytest.mark.parametrize("tool", [READ, WRITE, ASKING])
def test_a_path_that_the_workspace_refuses_is_denied(
    engine: DefaultPolicyEngine, yes: DefaultPolicyEngine, tool: Tool, path: str
) -> None:
    for each in (engine, yes):
        said = evaluate_tool(each, tool, path=path)
        assert said.decision is DENIED
        assert repr(path) in said.reason


def test_so_are_those_in_a_patch(engine: DefaultPolicyEngine) -> None:
    patch = "--- a/x\n+++ b/../../y\n@@ -1 +1 @@\n-a\n+b\n"
    assert evaluate_tool(engine, PATCH, patch=patch).decision is DENIED
    patch = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+b\n"
    assert evaluate_tool(engine, PATCH, patch=patch).decision is ALLOWED


def test_lines_of_a_patch_are_no_paths(book: PolicyRulesFile, engine: DefaultPolicyEngine) -> None:
    patch = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n-a\n--- ~/of C:\\x\n+b\n++ /etc\n"
    assert evaluate_tool(engine, PATCH, patch=patch).decision is ALLOWED
    book.deny("apply_patch", path="key.txt")
    patch = '--- "a/k\\145y.txt"\n+++ "b/k\\145y.txt"\n@@ -1 +1 @@\n-a\n+b\n'
    assert evaluate_tool(engine, PATCH, patch=patch).decision is DENIED


def test_so_is_the_folder_of_a_command(engine: DefaultPolicyEngine) -> None:
    assert evaluate_tool(engine, RUN, command="ls", folder="../..").decision is DENIED


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "nul", '{"path": "\ud800'])
def test_what_is_no_json_is_denied(
    engine: DefaultPolicyEngine, yes: DefaultPolicyEngine, text: str
) -> None:
    for each in (engine, yes):
        said = read(each, READ, text)
        assert said.decision is DENIED
        assert "not JSON" in said.reason


@pytest.mark.parametrize("args", [None, [], "rm -rf x", 1, {}, {"command": 1}, {"command": None}])
def test_odd_arguments_are_judged_too(engine: DefaultPolicyEngine, args: object) -> None:
    for tool in (RUN, READ, WRITE, PATCH, ASKING):
        said = read(engine, tool, json.dumps(args))
        assert said.decision in (ALLOWED, ASKS)


# ---- --yes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "args"),
    [(ASKING, {}), (RISKY, {}), (RUN, {"command": "rm -rf x"}), (RUN, {"command": "$x 'y"})],
)
def test_yes_allows_what_asks(yes: DefaultPolicyEngine, tool: Tool, args: dict[str, Any]) -> None:
    said = evaluate_tool(yes, tool, **args)
    assert said.decision is ALLOWED
    assert said.reason.startswith("Approved by --yes, unseen by a person: ")


def test_yes_allows_nothing_that_is_denied(book: PolicyRulesFile, yes: DefaultPolicyEngine) -> None:
    book.deny("deploy")
    book.deny(command="git push")
    book.deny("write_file", path="secrets/*")
    for tool, args in [
        (ASKING, {}),
        (RUN, {"command": "git push"}),
        (RUN, {"command": "env A=1 git -C . push origin main"}),
        (RUN, {"command": "ls && (git push)", "shell": True}),
        (WRITE, {"path": "./secrets/../secrets/key"}),
    ]:
        assert evaluate_tool(yes, tool, **args).decision is DENIED


def test_yes_allows_nothing_that_may_be_denied(
    book: PolicyRulesFile, yes: DefaultPolicyEngine
) -> None:
    """Where a rule denies a command, one that can't be told isn't let pass unseen."""
    book.deny(command="git push")
    said = evaluate_tool(yes, RUN, command="x='git push'; $x", shell=True)
    assert said.decision is DENIED
    assert "The command may be one that a rule denies: deny commands like `git push`" in said.reason


@pytest.mark.parametrize(
    "command",
    [
        *("sudo git push", "find . -maxdepth 0 -exec git push ;", "parallel git push", "sh"),
        *("awk 'BEGIN{system(\"git push\")}'", "script -c 'git push'", "git bisect run git push"),
        *(
            "tar cf x y --to-command='git push'",
            "npx git-push",
            "ssh x git push",
            "jobs -x git push",
        ),
        *(
            "make 'X=$(shell git push)'",
            "git rebase -x 'git push'",
            "uvx x",
            "hatch env run git push",
        ),
    ],
)
def test_yes_runs_nothing_unseen_where_a_rule_denies_a_command(
    book: PolicyRulesFile, yes: DefaultPolicyEngine, command: str
) -> None:
    assert evaluate_tool(yes, RUN, command=command).decision is ALLOWED
    book.deny(command="git push")
    assert evaluate_tool(yes, RUN, command=command).decision is DENIED
    both = evaluate_tool(yes, RUN, command="rm -rf build && git reset --hard", shell=True)
    assert both.decision is ALLOWED


# ---- rules of people -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "tool", "args", "denied"),
    [
        ({"tool": "write_*"}, WRITE, {"path": "x"}, True),
        ({"tool": "write_*"}, READ, {"path": "x"}, False),
        ({}, READ, {"path": "x"}, True),
        ({"path": "*.env"}, READ, {"path": "a/.env"}, True),
        ({"path": "*.env"}, READ, {"path": "a/env"}, False),
        ({"path": "*.env"}, PATCH, {"patch": "--- a/x.env\n+++ b/x.env\n"}, True),
        ({"command": "git push"}, RUN, {"command": "git push origin"}, True),
        ({"command": "git push"}, RUN, {"command": "/usr/bin/git -q push"}, True),
        ({"command": "git push"}, RUN, {"command": "git commit -m push"}, False),
        ({"command": "git push"}, RUN, {"command": "git pull"}, False),
        ({"command": "git push"}, RUN, {"command": "git"}, False),
        ({"command": "git push"}, RUN, {"command": "sh -c 'git push'"}, True),
        ({"command": "make $x"}, RUN, {"command": "make"}, False),
        ({"command": "npm run"}, RUN, {"command": "npm $x", "shell": True}, True),
        ({"command": "ls"}, WRITE, {"path": "ls"}, False),
        ({"command": "''"}, RUN, {"command": "ls"}, False),
    ],
)
def test_a_denial(
    book: PolicyRulesFile,
    engine: DefaultPolicyEngine,
    rule: dict[str, Any],
    tool: Tool,
    args: dict[str, Any],
    denied: bool,
) -> None:
    written = book.deny(**rule)
    said = evaluate_tool(engine, tool, **args)
    assert (said.decision is DENIED) == denied
    assert (str(written) in said.reason) == denied


@pytest.mark.parametrize(
    ("tool", "args", "words", "same", "other"),
    [
        (
            RUN,
            {"command": "rm -r build"},
            "the command `rm -r build` in this workspace",
            [
                {"command": "rm -r build"},
                {"command": "rm -r build", "timeout": 5, "network": False},
            ],
            [
                {"command": "rm -r build src"},
                {"command": "rm  -r build "},
                {"command": "rm -r build", "folder": "a"},
                {"command": "rm -r build", "network": True},
                {"command": "rm -r build", "network": "yes"},
                {"command": "rm -r build", "writable": ["/a"]},
                {"command": "rm -r build", "writable": "/a"},
            ],
        ),
        (ASKING, {"to": "x"}, "`deploy` in this workspace", [{"to": "y"}, {}], []),
        (RISKY, {}, "`format` in this workspace", [{}], []),
        (
            RUN,
            {"command": "rm -r x", "network": True, "writable": ["/a", "/b"]},
            "the command `rm -r x` with the network and changes in `/a` and changes in `/b` in this "
            "workspace",
            [{"command": "rm -r x"}, {"command": "rm -r x", "network": True, "writable": ["/b"]}],
            [{"command": "rm -r x", "writable": ["/c"]}],
        ),
    ],
)
def test_always_allows_what_the_judgement_promised(
    book: PolicyRulesFile,
    workspace: LocalWorkspace,
    engine: DefaultPolicyEngine,
    tool: Tool,
    args: dict[str, Any],
    words: str,
    same: list[dict[str, Any]],
    other: list[dict[str, Any]],
) -> None:
    said = evaluate_tool(engine, tool, **args)
    assert (said.decision, said.rule) == (ASKS, words)
    rule = book.allow_similar(tool.name, args, workspace)
    for each in same:
        said = evaluate_tool(engine, tool, **each)
        assert (said.decision, said.reason) == (ALLOWED, f"A rule says: {rule}.")
    for each in other:
        assert evaluate_tool(engine, tool, **each).decision is ASKS


@pytest.mark.parametrize("path", ["sub/.git/config", ".GIT/hooks/x", ".git", "link/config"])
@pytest.mark.parametrize("tool", [WRITE, PATCH, ASKING])
def test_no_answer_and_no_rule_lets_a_tool_write_in_git(
    book: PolicyRulesFile,
    workspace: LocalWorkspace,
    yes: DefaultPolicyEngine,
    tool: Tool,
    path: str,
) -> None:
    (workspace.root / ".git").mkdir()
    (workspace.root / "link").symlink_to(".git")
    book.allow_similar(tool.name, {"path": "x"}, workspace)
    said = evaluate_tool(yes, tool, patch=f"--- a/{path}\n+++ b/{path}\n", path=path)
    assert said.decision is DENIED and "because git runs programs from there" in said.reason


def test_a_rule_of_before_holds_where_a_shell_reads_the_same(
    book: PolicyRulesFile, engine: DefaultPolicyEngine
) -> None:
    """A rule for words, from when commands were run without a shell."""
    rules = [
        {"id": f"r{n}", "effect": "allow", "tool": "run_command", "command": text, "shell": False}
        for n, text in enumerate(["rm -r x", "echo a; rm -r x"])
    ]
    book.path.parent.mkdir(parents=True)
    book.path.write_text(json.dumps({"version": 1, "rules": rules}))
    assert evaluate_tool(engine, RUN, command="rm -r x", shell=True).decision is ALLOWED
    assert evaluate_tool(engine, RUN, command="echo a; rm -r x", shell=True).decision is ASKS


def test_always_without_a_shell_allows_nothing_that_a_shell_reads_otherwise(
    book: PolicyRulesFile, workspace: LocalWorkspace, engine: DefaultPolicyEngine
) -> None:
    """Without a shell it is one program, with it two."""
    for command in ("rm -rf x", "rm -rf a;rm -rf b"):
        args = {"command": command}
        book.allow_similar("run_command", args, workspace, has_shell=False)
        assert evaluate_tool(engine, RUN_WORDS, **args).decision is ALLOWED
    assert evaluate_tool(engine, RUN, command="rm -rf x").decision is ALLOWED
    assert evaluate_tool(engine, RUN, command="rm -rf a;rm -rf b").decision is ASKS


def test_a_denial_comes_before_always(
    book: PolicyRulesFile, workspace: LocalWorkspace, engine: DefaultPolicyEngine
) -> None:
    book.allow_similar("deploy", {}, workspace)
    book.deny("dep*")
    assert evaluate_tool(engine, ASKING).decision is DENIED


def test_rules_hold_where_they_were_made(
    book: PolicyRulesFile, workspace: LocalWorkspace, engine: DefaultPolicyEngine
) -> None:
    other = workspace.root.parent / "other"
    other.mkdir()
    elsewhere = DefaultPolicyEngine(book, LocalWorkspace(other))
    book.allow_similar("deploy", {}, workspace)
    book.deny("read_file", workspace=workspace.root)
    assert evaluate_tool(elsewhere, ASKING).decision is ASKS
    assert evaluate_tool(elsewhere, READ).decision is ALLOWED
    assert evaluate_tool(engine, ASKING).decision is ALLOWED
    assert evaluate_tool(engine, READ).decision is DENIED


def test_where_the_rules_are_damaged_all_asks(
    book: PolicyRulesFile, engine: DefaultPolicyEngine, yes: DefaultPolicyEngine
) -> None:
    book.deny("write_file")
    book.path.write_text("{")
    for each in (engine, yes):
        for tool in (READ, WRITE, ASKING):
            said = evaluate_tool(each, tool, path="x")
            assert (said.decision, said.rule) == (ASKS, None)
            assert f"The rules in {book.path} can't be read" in said.reason
        assert evaluate_tool(each, READ, path="../x").decision is DENIED


def test_without_rules_and_workspace() -> None:
    engine = DefaultPolicyEngine()
    assert evaluate_tool(engine, WRITE, path="x").decision is ALLOWED
    assert evaluate_tool(engine, RUN, command="rm -rf x").decision is ASKS
