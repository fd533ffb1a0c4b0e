"""`agentstepper policy`: rules that are listed, added, removed, and that the agent's policy then has."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agentstepper_nb.cli import main
from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision, PolicyRulesFile
from agentstepper_nb.coding.session_list import CodingDataPaths
from agentstepper_nb.coding.tools import make_default_tools
from agentstepper_nb.coding.workspace import LocalWorkspace


class PolicyCommand:
    """A workspace, a data folder, and the command."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data = folder / "data"
        self.root = folder / "repo"
        self.root.mkdir()
        (self.root / ".env").write_text("KEY=x")
        self.book = PolicyRulesFile(CodingDataPaths(self.data).rules)
        self._capsys = capsys

    def run_command(self, *arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["policy", *arguments, "--data", str(self.data)])
        except SystemExit as error:
            code = int(error.code or 0)
        out, err = self._capsys.readouterr()
        return code, out, err

    def evaluate(self, tool: str, **args: object) -> PolicyDecision:
        found = make_default_tools().get(tool)
        assert found is not None
        engine = DefaultPolicyEngine(self.book, LocalWorkspace(self.root))
        return asyncio.run(engine.evaluate(found, json.dumps(args))).decision


@pytest.fixture
def place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> PolicyCommand:
    place = PolicyCommand(tmp_path, capsys)
    monkeypatch.chdir(place.root)
    return place


def test_rules_are_added_listed_and_removed(place: PolicyCommand, tmp_path: Path) -> None:
    assert place.run_command("list") == (
        0,
        "There are no rules. `agentstepper policy deny --command 'git push'` adds one.\n",
        "",
    )
    for arguments in (
        ["deny", "--command", "git push"],
        ["deny", "--path", "*.env", "--tool", "write_*", "--everywhere"],
        ["deny", "--path", "secrets/*", "--workspace", str(tmp_path)],
        ["allow", "--command", "make test", "--network", "--writable", str(tmp_path)],
        ["allow", "--tool", "write_file", "--path", "docs/*"],
    ):
        code, out, err = place.run_command(*arguments)
        assert (code, out.count("\n"), err) == (0, 1, "")
    ids = [rule.id for rule in place.book.rules()]
    lines = [
        f"{ids[0]}  deny commands like `git push`  in {place.root}",
        f"{ids[1]}  deny `write_*` on `*.env`  everywhere",
        f"{ids[2]}  deny `*` on `secrets/*`  in {tmp_path}",
        f"{ids[3]}  allow the command `make test` with the network and changes in `{tmp_path}`  "
        f"in {place.root}",
        f"{ids[4]}  allow `write_file` on `docs/*`  in {place.root}",
    ]
    assert place.run_command("list")[1].splitlines() == lines
    assert place.run_command("list", "--workspace", str(tmp_path))[1].splitlines() == lines[1:3]
    assert place.run_command("remove", ids[0], ids[2]) == (0, "", "")
    code, out, err = place.run_command("remove", ids[0], ids[1])
    assert code == 1
    assert f"There is no rule {ids[0]}: `agentstepper policy list` shows their ids." in err
    assert [rule.id for rule in place.book.rules()] == ids[3:]


def test_the_policy_goes_by_them(place: PolicyCommand) -> None:
    reset = "git reset --hard"
    assert place.evaluate("read_file", path=".env") is PolicyDecision.ALLOWED
    assert place.evaluate("run_command", command=reset) is PolicyDecision.REQUIRES_APPROVAL
    place.run_command("deny", "--path", "*.env")
    place.run_command("allow", "--command", reset)
    assert place.evaluate("read_file", path=".env") is PolicyDecision.DENIED
    assert place.evaluate("run_command", command=reset) is PolicyDecision.ALLOWED
    place.run_command("deny", "--command", "git reset")
    assert place.evaluate("run_command", command=reset) is PolicyDecision.DENIED


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["deny"], "Say what to deny: --command 'git push', --path '*.env' or --tool NAME."),
        (["allow", "--path", "x"], "name the one that may use these files"),
        (
            ["allow", "--tool", "run_command"],
            "allow one command, for example --command 'make test'",
        ),
        (["allow", "--tool", "write_file", "--network"], "name the command by --command"),
        (["deny", "--command", "x", "--path", "y"], "write two rules"),
        (["deny", "--command", "'x"], "close its quotes"),
        (["deny", "--command", " "], "The command is empty"),
        (["deny", "--path", "/etc/*"], "write it relative to the workspace"),
        (["deny", "--path", "a/../../x"], "write it relative to the workspace"),
        (["deny", "--path", "~/x"], "write it relative to the workspace"),
        (["deny", "--path", "./"], "write it relative to the workspace"),
        (
            ["deny", "--path", "x", "--workspace", "missing"],
            "is not a folder: name an existing one",
        ),
        (["deny", "--path", "x", "--workspace", ".", "--everywhere"], "not allowed with argument"),
        (["remove"], "required: ID"),
        (["grant"], "invalid choice: 'grant'"),
    ],
)
def test_what_is_no_rule_is_refused(place: PolicyCommand, arguments: list[str], says: str) -> None:
    code, out, err = place.run_command(*arguments)
    assert (code, out) == (2, "") and says in err
    assert not place.book.path.exists()


def test_a_tool_that_is_not_installed_is_said(place: PolicyCommand) -> None:
    code, out, err = place.run_command("deny", "--tool", "deploy")
    assert code == 0 and "deny `deploy`" in out
    assert "No installed tool matches deploy. The tools are list_files," in err


def test_a_damaged_book_is_told(place: PolicyCommand) -> None:
    place.run_command("deny", "--tool", "write_file")
    place.book.path.write_text("{")
    for arguments in (["list"], ["deny", "--tool", "x"], ["remove", "x"]):
        code, out, err = place.run_command(*arguments)
        assert (code, out) == (1, "") and "Repair the file, or delete it" in err
    assert place.book.path.read_text() == "{"


def test_a_rule_can_not_act_on_the_terminal(place: PolicyCommand) -> None:
    _, out, _ = place.run_command("deny", "--command", "x \x1b[2J")
    assert "\x1b" not in out
