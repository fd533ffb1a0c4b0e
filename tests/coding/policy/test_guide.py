"""`docs/guide/policy.md`: its code runs as it is printed."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from pathlib import Path

import pytest

from agentstepper_nb.coding.policy import (
    DefaultPolicyEngine,
    PolicyDecision,
    PolicyEvaluation,
    load_policy,
)
from agentstepper_nb.coding.policy.engine import ENTRY_POINT_GROUP
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.errors import PolicyRulesError
from tests.docs.pages import GUIDE, blocks, files, write_files

from .tools import READ, RUN

PAGE = GUIDE / "policy.md"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with the page's package, as an installer leaves it."""
    write_files(PAGE, tmp_path)
    meta = tmp_path / "only_tests-1.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: only-tests\nVersion: 1\n")
    (meta / "entry_points.txt").write_text(
        f"[{ENTRY_POINT_GROUP}]\nonly-tests = only_tests:OnlyTests\nbroken = only_tests:Missing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_policy_takes_ten_lines() -> None:
    (policy,) = (block for block in blocks(PAGE) if block.name == "only_tests.py")
    assert len(policy.lines) <= 10


@pytest.mark.parametrize("by", ["name", "class", "object"])
def test_a_policy_of_ones_own(installed: Path, workspace: LocalWorkspace, by: str) -> None:
    default = DefaultPolicyEngine(workspace=workspace)
    made = import_module("only_tests").OnlyTests
    choice = {"name": "only-tests", "class": made, "object": made(default)}[by]
    policy = load_policy(choice, default)

    def judged(tool: object, **args: str) -> PolicyEvaluation:
        said = asyncio.run(policy.evaluate(tool, json.dumps(args)))  # type: ignore[arg-type]
        assert isinstance(said, PolicyEvaluation)
        return said

    assert judged(RUN, command="ls").decision is PolicyDecision.DENIED
    assert judged(RUN, command="pytest -q").decision is PolicyDecision.ALLOWED
    assert judged(READ, path="x").decision is PolicyDecision.ALLOWED
    assert judged(READ, path="../x").decision is PolicyDecision.DENIED


def test_without_a_choice_it_is_the_default() -> None:
    default = DefaultPolicyEngine()
    assert load_policy(None, default) is default


def test_a_policy_that_is_missing_or_broken_is_told(installed: Path) -> None:
    with pytest.raises(PolicyRulesError, match=r"There is no policy 'x'; there are: .*only-tests"):
        load_policy("x", DefaultPolicyEngine())
    with pytest.raises(PolicyRulesError, match=r"The policy 'broken', which is .*, can't be used"):
        load_policy("broken", DefaultPolicyEngine())


def test_the_rules_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = (block.text for block in blocks(PAGE) if "PolicyRulesFile" in block.text)
    exec(compile(program, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        "deny commands like `git push` everywhere",
        "deny `write_*` on `*.env` everywhere",
    ]


def test_the_page_prints_one_package() -> None:
    assert set(files(PAGE)) == {"only_tests.py", "pyproject.toml"}
