"""`apply_patch`: what git would make of a patch, all of it or nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentstepper_nb.coding.tools.apply_patch import apply_changes, plan_changes
from agentstepper_nb.coding.tools.diffs import PatchError, find_patch_paths, parse_patch
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.coding.tool_workspace import TEXT, ToolWorkspace

Tree = dict[str, str]
#: git of nobody, in no repository.
GIT: Final = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_DIR": os.devnull}


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    return ToolWorkspace(tmp_path)


def done(tool_workspace: ToolWorkspace, patch: str) -> list[tuple[str, str]]:
    result = tool_workspace.call("apply_patch", patch=patch)
    assert result.ok, result.error
    return [(each["path"], each["done"]) for each in result.data["files"]]


def refused(tool_workspace: ToolWorkspace, patch: str) -> str:
    before = tree_of(tool_workspace.root)
    result = tool_workspace.call("apply_patch", patch=patch)
    assert not result.ok and result.error
    assert tree_of(tool_workspace.root) == before
    return result.error


def hunk(old: str, new: str, head: str = "@@ -1,3 +1,3 @@") -> str:
    return f"--- a/a.txt\n+++ b/a.txt\n{head}\n one\n-{old}\n+{new}\n three\n"


# ---- what it does ----------------------------------------------------------------------------------


def test_several_files_are_changed_created_deleted_and_renamed(
    tool_workspace: ToolWorkspace,
) -> None:
    tool_workspace.write("old.txt", "x\ny\n")
    tool_workspace.write("empty/too.txt", "bye")
    patch = hunk("two", "2") + (
        "--- /dev/null\n+++ b/n/new.txt\n@@ -0,0 +1,2 @@\n+hello\n+there\n\\ No newline at end of file\n"
        "--- a/empty/too.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n\\ No newline at end of file\n"
        "diff --git a/old.txt b/moved.txt\nsimilarity index 50%\nrename from old.txt\n"
        "rename to moved.txt\n--- a/old.txt\n+++ b/moved.txt\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    )
    assert done(tool_workspace, patch) == [
        ("a.txt", "changed"),
        ("n/new.txt", "created"),
        ("empty/too.txt", "deleted"),
        ("moved.txt", "renamed from old.txt"),
    ]
    assert (
        tool_workspace.text() == "one\n2\nthree\n"
        and tool_workspace.text("n/new.txt") == "hello\nthere"
    )
    assert tool_workspace.text("moved.txt") == "x\nz\n"
    assert (
        not (tool_workspace.root / "old.txt").exists()
        and not (tool_workspace.root / "empty").exists()
    )
    assert find_patch_paths(patch) == (
        "a.txt",
        "n/new.txt",
        "empty/too.txt",
        "old.txt",
        "moved.txt",
    )
    assert find_patch_paths("nothing") == ()


def test_the_result_shows_the_diff(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("old.txt", "x\ny\n")
    tool_workspace.write("binary", b"\xff\n")
    patch = hunk("two", "2") + (
        "--- a/./a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n 2\n three\n"
        "--- /dev/null\n+++ b/n/new.txt\n@@ -0,0 +1 @@\n+hello\n"
        "diff --git a/old.txt b/moved.txt\nsimilarity index 50%\nrename from old.txt\n"
        "rename to moved.txt\n--- a/old.txt\n+++ b/moved.txt\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    )
    assert tool_workspace.call("apply_patch", patch=patch).data["diff"] == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-one\n-two\n+1\n+2\n three\n"
        "--- /dev/null\n+++ b/n/new.txt\n@@ -0,0 +1 @@\n+hello\n"
        "--- a/moved.txt\n+++ b/moved.txt\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    )
    gone = "--- a/n/new.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-hello\n"
    assert tool_workspace.call("apply_patch", patch=gone).data["diff"] == gone


@pytest.mark.parametrize(
    "head", ["@@ -1,9 +1,7 @@", "@@ -1 +1 @@", "@@ -1,2 +1,3 @@ def f", "@@ -1,3 +1,4 @@"]
)
def test_wrong_numbers_of_lines_are_forgiven(tool_workspace: ToolWorkspace, head: str) -> None:
    more = (
        "--- a/src/b.py\n+++ b/src/b.py\n@@ -1,1 +1,1 @@\n def f():\n-    return 1\n+    return 2\n"
    )
    assert len(done(tool_workspace, f"Here it is:\n\n{hunk('two', '2', head)}\n{more}")) == 2
    assert tool_workspace.text() == "one\n2\nthree\n" and tool_workspace.text("src/b.py").endswith(
        "return 2\n"
    )


def test_an_empty_line_of_context_may_lack_its_space(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", "a\n\nb\n")
    done(tool_workspace, "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n")
    assert tool_workspace.text() == "a\n\nc\n"


def test_a_hunk_may_stand_elsewhere_if_in_one_place_only(tool_workspace: ToolWorkspace) -> None:
    done(tool_workspace, hunk("two", "2", "@@ -40,3 +40,3 @@"))
    assert tool_workspace.text() == "one\n2\nthree\n"
    tool_workspace.write("a.txt", TEXT * 2)
    said = refused(tool_workspace, hunk("two", "2", "@@ -3,3 +3,3 @@"))
    assert "Hunk 1 of a.txt doesn't fit where it says, line 3, but at lines 1, 4." in said
    done(tool_workspace, hunk("two", "2", "@@ -4,3 +4,3 @@"))
    assert tool_workspace.text() == TEXT + "one\n2\nthree\n"


def test_lines_that_look_like_heads_are_lines(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.sql", "-- a/x\nselect\n")
    patch = "--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n--- a/x\n+++ b/y\n select\n"
    done(tool_workspace, patch)
    assert tool_workspace.text("a.sql") == "++ b/y\nselect\n"


def test_the_files_line_breaks_and_mode_are_kept(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", TEXT.replace("\n", "\r\n"))
    (tool_workspace.root / "a.txt").chmod(0o755)
    done(tool_workspace, hunk("two", "2"))
    assert tool_workspace.text() == "one\r\n2\r\nthree\r\n"
    assert tool_workspace.workspace.mode("a.txt") == 0o755
    done(tool_workspace, "diff --git a/a.txt b/a.txt\nold mode 100755\nnew mode 100644\n")
    assert tool_workspace.workspace.mode("a.txt") == 0o644
    done(
        tool_workspace,
        "diff --git a/go b/go\nnew file mode 100755\n--- /dev/null\n+++ b/go\n@@ -0,0 +1 @@\n+x\n",
    )
    assert tool_workspace.workspace.mode("go") == 0o755


def test_names_may_be_quoted_or_without_prefix(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("ä b.txt", "x\n")
    done(
        tool_workspace, '--- "a/\\303\\244 b.txt"\n+++ "b/\\303\\244 b.txt"\n@@ -1 +1 @@\n-x\n+y\n'
    )
    assert tool_workspace.text("ä b.txt") == "y\n"
    done(tool_workspace, "--- a.txt\t2026-01-01\n+++ a.txt\t2026-01-02\n@@ -1 +1 @@\n-one\n+1\n")
    assert tool_workspace.text() == "1\ntwo\nthree\n"


# ---- what it refuses -------------------------------------------------------------------------------


def test_a_hunk_that_does_not_fit_says_what_stands_there(tool_workspace: ToolWorkspace) -> None:
    said = refused(tool_workspace, hunk("zwei", "2"))
    assert said == (
        "Nothing was changed. Hunk 1 of a.txt doesn't fit at line 2: the patch has 'zwei', and there "
        "stands 'two'.\nThere stands:\n1\tone\n2\ttwo\n3\tthree\n"
    )
    twice = hunk("two", "2") + "@@ -3,2 +3,2 @@\n three\n-four\n+4\n"
    assert "Hunk 2 of a.txt doesn't fit at line 4: the patch has 'three', and the file is over" in (
        refused(tool_workspace, twice)
    )
    beyond = "--- a/a.txt\n+++ b/a.txt\n@@ -9,0 +10 @@\n+x\n"
    assert "it begins after line 9, and there are 3" in refused(tool_workspace, beyond)


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("", "There is no diff in it"),
        ("just words\n", "There is no diff in it"),
        ("@@ -1 +1 @@\n-one\n+1\n", "a hunk without `---` and `+++`"),
        ("diff --git a/x b/y\n", "which file is meant can't be told"),
        ("--- a/nope\n+++ b/nope\n@@ -1 +1 @@\n-x\n+y\n", "nope isn't there"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "a.txt is there already"),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "isn't empty after the patch"),
        ("--- a/src\n+++ b/src\n@@ -1 +1 @@\n-x\n+y\n", "it is a folder"),
        ("--- a/out\n+++ b/out\n@@ -1 +1 @@\n-x\n+y\n", "it is a link"),
        ("--- a/../a.txt\n+++ b/../a.txt\n@@ -1 +1 @@\n-x\n+y\n", "leads out"),
        ("--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n", "only git writes in"),
        ("diff --git a/a.txt b/b.txt\ncopy from a.txt\ncopy to b.txt\n", "copies aren't known"),
        ("diff --git a/l b/l\nnew file mode 120000\n", "only plain files can be patched"),
        ("diff --git a/b.png b/b.png\nGIT binary patch\n", "a binary file can't be patched"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\nrubbish\n", "the hunk is empty"),
    ],
)
def test_what_is_refused(tool_workspace: ToolWorkspace, patch: str, says: str) -> None:
    assert says in refused(tool_workspace, patch)


def test_nothing_is_changed_where_a_later_file_does_not_fit(tool_workspace: ToolWorkspace) -> None:
    refused(tool_workspace, hunk("two", "2") + "--- a/nope\n+++ b/nope\n@@ -1 +1 @@\n-x\n+y\n")
    assert tool_workspace.text() == TEXT


def test_what_was_written_is_taken_back_where_writing_fails(
    tool_workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = LocalWorkspace.write_bytes

    def full_at_the_third(self: LocalWorkspace, path: str, *args: Any) -> None:
        if len(written) == 2 and path not in written:
            raise OSError(28, "No space left on device", path)
        written.append(path)
        write(self, path, *args)

    monkeypatch.setattr(LocalWorkspace, "write_bytes", full_at_the_third)
    tool_workspace.write("bye.txt", "bye\n")
    patch = hunk("two", "2") + (
        "--- /dev/null\n+++ b/n/one.txt\n@@ -0,0 +1 @@\n+x\n"
        "--- a/bye.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
        "--- /dev/null\n+++ b/n/two.txt\n@@ -0,0 +1 @@\n+x\n"
    )
    result = tool_workspace.call("apply_patch", patch=patch)
    assert result.error == "No space left on device: 'n/two.txt'."
    assert tool_workspace.text() == TEXT and not (tool_workspace.root / "n").exists()


# ---- beside git ------------------------------------------------------------------------------------

LINE: Final = st.sampled_from(
    ["a\n", "b\n", "c\n", "\n", "x\r\n", "é\n", "-- d\n", "++ e\n", "@@\n"]
)
FILE: Final = st.tuples(st.lists(LINE, max_size=25), st.sampled_from(["", "", "end"])).map(
    lambda parts: "".join(parts[0]) + parts[1]
)
NAMES: Final = ["f.txt", "g.py", "d/h.txt", "d/e/i j.txt", "ü.txt"]


def edited(text: str, edits: list[tuple[int, str, str]]) -> str:
    """A text with some of its lines dropped or others put before them."""
    rows = text.splitlines(keepends=True)
    for at, what, line in edits:
        place = at % (len(rows) + 1)
        rows[place : place + (what == "drop")] = [line] if what == "put" else []
    return "".join(rows)


EDITS: Final = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(["put", "drop"]), LINE), max_size=5
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Files before and after."""
    old = draw(st.dictionaries(st.sampled_from(NAMES), FILE, max_size=4))
    new: Tree = {}
    for name, text in old.items():
        fate = draw(st.sampled_from(["edit", "edit", "keep", "delete", "rename"]))
        if fate != "delete":
            place = f"moved/{name}" if fate == "rename" else name
            new[place] = text if fate in ("keep", "rename") else edited(text, draw(EDITS))
    if draw(st.booleans()):
        new.setdefault("new.txt", draw(FILE))
    assume(old != new)
    return old, new


def put(folder: Path, tree: Tree) -> None:
    folder.mkdir(parents=True)
    for name, text in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def tree_of(folder: Path) -> Tree:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def git(*arguments: str, **variables: str) -> str:
    made = subprocess.run(["git", *arguments], env=GIT | variables, capture_output=True, check=True)
    return made.stdout.decode()


def diff(folder: Path, context: int) -> str:
    """What git says leads from the files in `a` to those in `b`."""
    repository = str(folder.parent / "repository")
    git("init", "-q", "--bare", repository)
    trees = []
    for side in ("a", "b"):
        index = {"GIT_DIR": repository, "GIT_INDEX_FILE": str(folder / f"index-{side}")}
        git("add", "-A", ".", GIT_WORK_TREE=str(folder / side), **index)
        trees.append(git("write-tree", **index).strip())
    return git("diff-tree", "-r", "-p", "-M", f"-U{context}", *trees, GIT_DIR=repository)


def git_applies(folder: Path, patch: str) -> bool:
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    made = subprocess.run(command, input=patch.encode(), cwd=folder, env=GIT, capture_output=True)
    return made.returncode == 0


def we_apply(folder: Path, patch: str) -> bool:
    workspace = LocalWorkspace(folder)
    try:
        apply_changes(workspace, plan_changes(workspace, parse_patch(patch)))
    except PatchError:
        return False
    finally:
        workspace.close()
    return True


def as_git_does(tmp: Path, old: Tree, new: Tree, context: int, before: str) -> None:
    """Take a patch from git, apply it to files that have some more above, and compare."""
    shutil.rmtree(tmp, ignore_errors=True)
    put(tmp / "a", old)
    put(tmp / "b", new)
    patch = diff(tmp, context)
    assert find_patch_paths(patch)
    for name in ("git", "we"):
        put(tmp / name, {name: before + text for name, text in old.items()})
    ours, gits = we_apply(tmp / "we", patch), git_applies(tmp / "git", patch)
    if not before:
        assert ours and gits
        assert tree_of(tmp / "we") == tree_of(tmp / "git") == dict(sorted(new.items()))
    if ours and gits:
        assert tree_of(tmp / "we") == tree_of(tmp / "git")
    if not ours:
        assert tree_of(tmp / "we") == {n: before + text for n, text in sorted(old.items())}


@settings(max_examples=8)
@given(trees=pairs(), context=st.integers(1, 4))
def test_patches_of_git_are_applied_as_git_does(
    tmp_path_factory: pytest.TempPathFactory, trees: tuple[Tree, Tree], context: int
) -> None:
    as_git_does(tmp_path_factory.getbasetemp() / "patched", *trees, context, "")


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_many_patches_of_git(tmp_path: Path) -> None:
    @settings(max_examples=200)
    @given(trees=pairs(), context=st.integers(1, 4), before=st.sampled_from(["", "", "q\nr\n"]))
    def many(trees: tuple[Tree, Tree], context: int, before: str) -> None:
        as_git_does(tmp_path / "patched", *trees, context, before)

    many()


@given(
    text=st.lists(
        st.sampled_from(
            [
                "--- a/a.txt\n",
                "+++ b/a.txt\n",
                "@@ -1,3 +1,3 @@\n",
                " one\n",
                "-two\n",
                "+2\n",
                "\n",
                "\\ No\n",
                "diff --git a/a.txt b/b.txt\n",
                "rename from a.txt\n",
                "rename to b\n",
                "new file mode 100644\n",
            ]
        )
        | st.text(max_size=6)
    ).map("".join)
)
def test_any_text_is_a_patch_or_none(text: str) -> None:
    try:
        assert all(patch.old or patch.new for patch in parse_patch(text))
    except PatchError as error:
        assert str(error)
