"""A deny rule with a path denies what is done to the file, by whatever tool and name."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision, PolicyRulesFile
from agentstepper_nb.coding.policy.denied_files import (
    ENTRY_LIMIT,
    FileDenials,
    find_denied_files,
    matches_pattern,
)
from agentstepper_nb.coding.tool import Tool, ToolContext, ToolResult
from agentstepper_nb.coding.tools import make_default_tools
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.errors import PolicyRulesError
from tests.coding.named_files import SECRET, NamedFiles

from .tools import AllRecoverable


class DeniedFilesWorkspace(NamedFiles):
    """A file of many names, and tools that the rules hold for."""

    def __init__(self, folder: Path, book: PolicyRulesFile) -> None:
        super().__init__(folder, book)
        (self.root / "src" / "a.py").write_text("KEY=a\n")
        (self.root / "folder").symlink_to("src")
        self.workspace = LocalWorkspace(self.root, FileDenials(book, self.root))
        self.engine = DefaultPolicyEngine(book, self.workspace, recoverable_files=AllRecoverable())
        self.tools = make_default_tools(images=True)

    def evaluate(self, name: str, **args: Any) -> PolicyDecision:
        return asyncio.run(self.engine.evaluate(self.tool(name), json.dumps(args))).decision

    def run_command(self, name: str, **args: Any) -> ToolResult:
        """What the tool alone does, were it let pass by a policy of somebody's own."""
        ctx = ToolContext(workspace=self.workspace, cancellation=asyncio.Event())
        return asyncio.run(self.tool(name).execute(args, ctx))

    def tool(self, name: str) -> Tool:
        tool = self.tools.get(name)
        assert tool is not None
        return tool

    def git(self, *arguments: str) -> None:
        config = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *config, *arguments], cwd=self.root, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path: Path, book: PolicyRulesFile) -> DeniedFilesWorkspace:
    return DeniedFilesWorkspace(tmp_path, book)


NAMES = [".env", "./.env", "src/../.env", "link", "src/hard.txt", "folder/hard.txt", ".//.env"]
READS = [("read_file", {}), ("show_image", {}), ("git_diff", {}), ("search", {"pattern": "KEY"})]
WRITES = [
    ("write_file", {"content": "x"}),
    ("edit_file", {"old": "KEY", "new": "x"}),
]


@pytest.mark.parametrize("rule", ["read_file", "*", "search", "run_command"])
def test_a_file_that_may_not_be_read_is_denied_to_each_tool(
    place: DeniedFilesWorkspace, rule: str
) -> None:
    def judged(*paths: str) -> list[tuple[str, str, PolicyDecision]]:
        return [
            (tool, path, place.evaluate(tool, path=path, **args))
            for tool, args in (*READS, *WRITES)
            for path in paths
        ]

    def all_are(decision: PolicyDecision, *paths: str) -> list[tuple[str, str, PolicyDecision]]:
        return [(tool, path, decision) for tool, _ in (*READS, *WRITES) for path in paths]

    assert judged(*NAMES) == all_are(PolicyDecision.ALLOWED, *NAMES)
    place.book.deny(rule, path="*.env")
    assert judged(*NAMES) == all_are(PolicyDecision.DENIED, *NAMES)
    assert judged("src/a.py") == all_are(PolicyDecision.ALLOWED, "src/a.py")


@pytest.mark.parametrize("path", NAMES)
@pytest.mark.parametrize("rule", ["write_*", "edit_file", "apply_patch"])
def test_a_file_that_may_not_be_written_can_be_read(
    place: DeniedFilesWorkspace, rule: str, path: str
) -> None:
    place.book.deny(rule, path="*.env")
    for tool, args in READS:
        assert place.evaluate(tool, path=path, **args) is PolicyDecision.ALLOWED
    for tool, args in WRITES:
        assert place.evaluate(tool, path=path, **args) is PolicyDecision.DENIED
    patch = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{SECRET}\n+x\n"
    assert place.evaluate("apply_patch", patch=patch) is PolicyDecision.DENIED


@pytest.mark.parametrize("path", NAMES)
def test_the_workspace_refuses_as_well(place: DeniedFilesWorkspace, path: str) -> None:
    """A link that was made after the policy looked leads nowhere else."""
    place.book.deny("read_file", path=".env")
    for tool, args in READS[:2]:
        result = place.run_command(tool, path=path, **args)
        assert "a rule says: deny `read_file` on `.env` everywhere" in (result.error or "")
    for tool, args in WRITES:
        result = place.run_command(tool, path=path, **args)
        assert not result.ok and SECRET not in str(result)
    place.run_command(
        "apply_patch", patch=f"--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{SECRET}\n"
    )
    assert (place.root / ".env").read_text() == f"{SECRET}\n"


def test_what_is_denied_to_writing_alone_stands(place: DeniedFilesWorkspace) -> None:
    place.book.deny("write_*", path="*.env")
    assert place.run_command("read_file", path=".env").ok
    assert not place.run_command("write_file", path=".env", content="x").ok
    assert not place.run_command("write_file", path="src/new.env", content="x").ok
    assert (place.root / ".env").read_text() == f"{SECRET}\n"
    assert not (place.root / "src" / "new.env").exists()


@pytest.mark.parametrize("context", [0, 3])
@pytest.mark.parametrize("pattern", ["KEY", "KE(?=Y)"])
def test_a_search_leaves_denied_files_out_and_says_so(
    place: DeniedFilesWorkspace, pattern: str, context: int
) -> None:
    args = {"pattern": pattern, "hidden": True, "context": context}
    assert str(place.run_command("search", **args).data).count(SECRET) == 2
    place.book.deny("read_file", path=".env")
    result = place.run_command("search", **args)
    assert result.data == {
        "matches": 1,
        "text": "src/a.py:1: KEY=a\n",
        "left_out": "2 files: a rule denies reading.",
    }


def test_a_diff_leaves_denied_files_out_and_says_so(place: DeniedFilesWorkspace) -> None:
    place.git("init", "-q")
    place.git("add", ".")
    place.git("commit", "-q", "-m", "first")
    place.book.deny("read_file", path="*.env")
    (place.root / "src" / "a.py").write_text("KEY=b\n")
    (place.root / ".env").unlink()
    (place.root / "[x].env").write_text(SECRET)
    place.git("add", "-N", "[x].env")
    result = place.run_command("git_diff")
    assert "+KEY=b" in result.data["diff"] and SECRET not in result.data["diff"]
    assert result.data["left_out"] == "2 files: a rule denies reading."
    assert SECRET not in str(place.run_command("git_diff", base="HEAD"))
    assert SECRET not in str(place.run_command("git_diff", path=".env"))


@pytest.mark.parametrize("left", ["nothing", "a file"])
def test_a_diff_shows_no_denied_file_of_a_folder_that_is_gone(
    place: DeniedFilesWorkspace, left: str
) -> None:
    folder = place.root / "keys" / "old"
    folder.mkdir(parents=True)
    (folder / "key").write_text(SECRET)
    place.git("init", "-q")
    place.git("add", "keys")
    place.git("commit", "-q", "-m", "first")
    place.book.deny("read_file", path="keys/*")
    shutil.rmtree(folder.parent)
    if left == "a file":
        folder.parent.write_text("no folder any more")
    result = place.run_command("git_diff")
    assert SECRET not in str(result)
    assert result.data["left_out"] == "1 file: a rule denies reading."


@pytest.mark.parametrize("path", ["new/deep/.env", "folder/new/.env"])
def test_a_write_that_a_rule_denies_makes_no_folder(place: DeniedFilesWorkspace, path: str) -> None:
    place.book.deny("write_file", path="*.env")
    before = sorted(place.root.rglob("*"))
    for tool, args in (
        ("write_file", {"path": path, "content": "x"}),
        ("apply_patch", {"patch": f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"}),
    ):
        assert "a rule says: " in (place.run_command(tool, **args).error or "")
        assert sorted(place.root.rglob("*")) == before
    place.workspace.write_bytes(f"{path}.txt", b"x")
    assert place.workspace.read_bytes(f"{path}.txt") == b"x"


def test_a_rule_on_a_folder_holds_for_all_in_it(place: DeniedFilesWorkspace) -> None:
    place.book.deny("read_file", path="src/")
    assert place.evaluate("read_file", path="folder/a.py") is PolicyDecision.DENIED
    assert place.evaluate("read_file", path=".env") is PolicyDecision.DENIED  # `src/hard.txt`
    assert [path.name for path in find_denied_files(place.book, place.root).unreadable] == [
        ".env",
        "a.py",
        "hard.txt",
    ]


def test_a_rule_on_a_link_is_about_what_it_leads_to(place: DeniedFilesWorkspace) -> None:
    place.book.deny("read_file", path="folder")
    assert place.evaluate("read_file", path="src/a.py") is PolicyDecision.DENIED


def test_a_rule_of_another_workspace_denies_nothing(
    place: DeniedFilesWorkspace, tmp_path: Path
) -> None:
    place.book.deny(path="*", workspace=tmp_path)
    assert place.evaluate("read_file", path=".env") is PolicyDecision.ALLOWED
    assert find_denied_files(place.book, place.root).unreadable == ()


def test_a_rule_that_is_removed_denies_no_more(place: DeniedFilesWorkspace) -> None:
    rule = place.book.deny(path="*.env")
    assert not place.run_command("read_file", path=".env").ok
    place.book.remove(rule.id)
    assert place.run_command("read_file", path=".env").ok


@pytest.mark.parametrize(
    ("rule", "hidden", "held"),
    [
        ({"tool": "read_file", "path": "*.env"}, [".env", "src/hard.txt"], []),
        ({"path": "link"}, [".env", "src/hard.txt"], []),
        ({"tool": "write_*", "path": "*.env"}, [], [".env", "src/hard.txt"]),
        ({"tool": "list_files", "path": "*.env"}, [], []),
        ({"tool": "read_file"}, [], []),
        ({"command": "cat .env"}, [], []),
        ({"tool": "read_file", "path": "../x"}, [], []),
    ],
)
def test_files_for_the_sandbox(
    place: DeniedFilesWorkspace, rule: dict[str, str], hidden: list[str], held: list[str]
) -> None:
    place.book.deny(**rule)
    assert find_denied_files(place.book, place.root).unreadable == tuple(
        place.root / name for name in hidden
    )
    assert find_denied_files(place.book, place.root).read_only == tuple(
        place.root / name for name in held
    )


def test_a_damaged_book_lets_no_file_be_opened(place: DeniedFilesWorkspace) -> None:
    place.book.deny("read_file", path=".env")
    place.book.path.write_text("{")
    assert "can't be read" in (place.run_command("read_file", path="src/a.py").error or "")
    with pytest.raises(PolicyRulesError):
        find_denied_files(place.book, place.root)


def test_too_many_files_are_told(place: DeniedFilesWorkspace) -> None:
    place.book.deny("read_file", path=".env")
    with pytest.raises(
        PolicyRulesError, match=r"name 2 files in .*, but only 1 can be hidden from commands"
    ):
        find_denied_files(place.book, place.root, max_files=1)
    with pytest.raises(PolicyRulesError, match="more than 3 files and folders"):
        find_denied_files(place.book, place.root, max_entries=3)
    assert ENTRY_LIMIT > 100_000


@pytest.mark.parametrize(
    ("pattern", "path", "should_fold_case", "matched"),
    [
        ("*.env", "a/b.env", False, True),
        ("*.env", "a/b.ENV", False, False),
        ("*.env", "a/b.ENV", True, True),
        ("./secrets/", "secrets/deep/x", False, True),
        ("secrets", "secrets2/x", False, False),
        ("**/key", "key", False, True),
        ("**/key", "a/key", False, True),
        ("/repo/key", "key", False, True),
        ("/other/key", "key", False, False),
    ],
)
def test_patterns(pattern: str, path: str, should_fold_case: bool, matched: bool) -> None:
    assert matches_pattern(pattern, path.split("/"), Path("/repo"), should_fold_case) is matched
