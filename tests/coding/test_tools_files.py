"""Listing, reading, searching, editing and writing files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.coding.tools import read_file, search
from agentstepper_nb.coding.tools.list_files import ListFiles
from agentstepper_nb.coding.tools.search import (
    SearchArgs,
    SearchFiles,
    SearchTimeoutError,
    find_ripgrep,
    search_in_python,
)
from tests.coding.tool_workspace import ToolWorkspace


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    return ToolWorkspace(tmp_path)


def data(result: ToolResult) -> Any:
    assert result.ok, result.error
    return result.data


def error(result: ToolResult) -> str:
    assert result.error is not None
    return result.error


# ---- list_files ------------------------------------------------------------------------------------


def listed(tool_workspace: ToolWorkspace, **args: Any) -> list[str]:
    entries: list[str] = data(tool_workspace.call("list_files", **args))["entries"]
    return entries


def test_list_names_folders_and_links_as_such(tool_workspace: ToolWorkspace) -> None:
    links = ["absolute@", "gone@", "inside@", "loop@", "out@", "up@"]
    assert listed(tool_workspace) == sorted(["a.txt", *links, "src/", "src/b.py", "src/out.txt@"])
    assert (
        listed(tool_workspace, path="src")
        == listed(tool_workspace, path="./src//")
        == ["src/b.py", "src/out.txt@"]
    )
    assert listed(tool_workspace, path="inside") == ["inside/b.py", "inside/out.txt@"]


def test_list_goes_as_deep_as_told(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("d/e/f/g.txt", "")
    assert "d/e/" in listed(tool_workspace, depth=2) and "d/e/f/" not in listed(
        tool_workspace, depth=2
    )
    assert "d/e/f/g.txt" in listed(tool_workspace, depth=4)


def test_list_leaves_out_what_is_hidden_or_ignored(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.git("init")
    for name in (".hidden", "x.log", "build/out.o", "kept.log", "sub/x.log", "sub/y.txt"):
        tool_workspace.write(name, "")
    tool_workspace.write(".gitignore", "*.log\nbuild/\n")
    tool_workspace.git("add", "-f", "kept.log")
    files = [name for name in listed(tool_workspace) if "@" not in name]
    assert files == ["a.txt", "kept.log", "src/", "src/b.py", "sub/", "sub/y.txt"]
    assert {".hidden", ".gitignore"} <= set(listed(tool_workspace, hidden=True))
    assert {"x.log", "build/out.o"} <= set(listed(tool_workspace, ignored=True))
    assert not [
        name for name in listed(tool_workspace, hidden=True, ignored=True) if ".git/" in name
    ]
    assert listed(tool_workspace, path="sub") == ["sub/y.txt"]


def test_list_looks_into_repositories_in_the_repository(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.git("init")
    tool_workspace.write("own/x.txt", "")
    subprocess.run(["git", "init", "-q", tool_workspace.root / "own"], check=True)
    assert {"own/", "own/x.txt"} <= set(listed(tool_workspace))


def test_list_stops_at_its_limit_and_says_so(tool_workspace: ToolWorkspace) -> None:
    told = data(tool_workspace.call(ListFiles(max_entries=5)))
    assert len(told["entries"]) == 5 and "more than 5" in told["more"]
    assert not any("/b.py" in name for name in told["entries"])  # the deepest are left out


def test_list_says_what_is_no_folder(tool_workspace: ToolWorkspace) -> None:
    assert "a.txt" in error(tool_workspace.call("list_files", path="a.txt"))
    assert "leads out" in error(tool_workspace.call("list_files", path="out"))
    assert "No such file" in error(tool_workspace.call("list_files", path="missing"))


def test_names_that_are_no_utf8_are_shown_all_the_same(tool_workspace: ToolWorkspace) -> None:
    Path(os.fsdecode(os.fsencode(tool_workspace.root) + b"/\xff.txt")).touch()
    assert "\ufffd.txt" in listed(tool_workspace)


# ---- read_file -------------------------------------------------------------------------------------


def test_read_numbers_lines(tool_workspace: ToolWorkspace) -> None:
    told = data(tool_workspace.call("read_file", path="a.txt"))
    assert told == {"path": "a.txt", "text": "1\tone\n2\ttwo\n3\tthree\n", "lines": 3}


def test_read_gives_pages(tool_workspace: ToolWorkspace) -> None:
    first = data(tool_workspace.call("read_file", path="a.txt", lines=2))
    assert (first["text"], first["lines"]) == ("1\tone\n2\ttwo\n", 3)
    assert first["more"] == "Go on with start=3."
    last = data(tool_workspace.call("read_file", path="a.txt", start=3))
    assert last["text"] == "3\tthree\n" and "more" not in last
    assert "has only 3 lines" in error(tool_workspace.call("read_file", path="a.txt", start=4))


def test_a_page_fits_into_what_the_model_is_given(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.ctx.output_limit_bytes = 4096
    tool_workspace.write("long.txt", "".join(f"line {number} \x1b\n" for number in range(1000)))
    seen, start = "", 1
    while start:
        result = tool_workspace.call("read_file", path="long.txt", start=start)
        told = data(result)
        seen += told["text"]
        start = int(told["more"].rpartition("=")[2].rstrip(".")) if "more" in told else 0
    assert seen == "".join(f"{number + 1}\tline {number} \x1b\n" for number in range(1000))


def test_a_long_line_is_cut(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("one.js", "x" * 10_000 + "\nshort\n" + "y" * 5000)
    told = data(tool_workspace.call("read_file", path="one.js"))["text"].split("\n")
    assert told[0].endswith("x [… 6,000 more bytes in this line]") and told[1] == "2\tshort"
    assert told[2].endswith("y [… 999 more bytes in this line]")
    assert len(told[0]) < read_file.MAX_LINE_BYTES + 60


def test_empty_files_and_those_without_a_last_line_break(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("empty", "")
    assert data(tool_workspace.call("read_file", path="empty")) == {
        "path": "empty",
        "text": "",
        "lines": 0,
    }
    tool_workspace.write("crlf", "a\r\nb")
    assert data(tool_workspace.call("read_file", path="crlf"))["text"] == "1\ta\n2\tb\n"


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        (b"\x89PNG\r\n", "a PNG picture"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\xff\xfeh\0i\0", "UTF-16 text"),
        (b"a\0b", "binary"),
    ],
)
def test_what_is_no_text_is_named(tool_workspace: ToolWorkspace, held: bytes, kind: str) -> None:
    tool_workspace.write("blob", held)
    said = error(tool_workspace.call("read_file", path="blob"))
    assert said == f"blob is {kind} of {len(held)} bytes, which can't be read as text."


def test_other_encodings_are_read_as_well_as_can_be(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("latin", "Käse".encode("latin-1"))
    assert data(tool_workspace.call("read_file", path="latin"))["text"] == "1\tK\ufffdse\n"


# ---- search ----------------------------------------------------------------------------------------


@pytest.fixture(params=["find_ripgrep", "python"])
def searched(
    tool_workspace: ToolWorkspace, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> ToolWorkspace:
    """A desk whose search goes either way."""
    if request.param == "python":
        monkeypatch.setattr(search, "find_ripgrep", lambda workspace: None)
    else:
        assert find_ripgrep(tool_workspace.root), "The tests' own requirements have one."
        monkeypatch.setattr(search, "search_in_python", lambda *args: pytest.fail("not by ripgrep"))
    tool_workspace.write("x.txt", "alpha\nBeta\r\n\ngamma delta\nalpha\n")
    tool_workspace.write("sub/y.py", "def alpha():\n    pass\n")
    tool_workspace.write("sub/deep/z.md", "alpha")
    tool_workspace.write("blob", b"alpha\0")
    return tool_workspace


def found(tool_workspace: ToolWorkspace, pattern: str, **args: Any) -> list[str]:
    told = data(tool_workspace.call("search", pattern=pattern, **args))
    rows: list[str] = told["text"].splitlines()
    return rows


def test_search_names_each_line(searched: ToolWorkspace) -> None:
    assert found(searched, "alpha") == [
        "x.txt:1: alpha",
        "x.txt:5: alpha",
        "sub/y.py:1: def alpha():",
        "sub/deep/z.md:1: alpha",
    ]


@pytest.mark.parametrize(
    ("pattern", "args", "rows"),
    [
        ("^alpha$", {}, ["x.txt:1: alpha", "x.txt:5: alpha", "sub/deep/z.md:1: alpha"]),
        ("Beta$", {}, ["x.txt:2: Beta"]),  # its line ends with CR LF
        ("beta", {}, []),
        ("beta", {"ignore_case": True}, ["x.txt:2: Beta"]),
        ("gamma|pass", {}, ["x.txt:4: gamma delta", "sub/y.py:2:     pass"]),
        (r"\bdelta\b", {}, ["x.txt:4: gamma delta"]),
        ("alpha()", {"literal": True}, ["sub/y.py:1: def alpha():"]),
        ("-alpha", {}, []),
        ("alpha", {"path": "sub/deep"}, ["sub/deep/z.md:1: alpha"]),
        ("alpha", {"path": "sub/y.py"}, ["sub/y.py:1: def alpha():"]),
        ("def", {"path": "inside"}, ["src/b.py:1: def f():"]),
        ("alpha", {"glob": "*.py"}, ["sub/y.py:1: def alpha():"]),
        ("alpha", {"glob": "sub/**"}, ["sub/y.py:1: def alpha():", "sub/deep/z.md:1: alpha"]),
        ("alpha", {"glob": "/*.{txt,md}"}, ["x.txt:1: alpha", "x.txt:5: alpha"]),
        ("alpha", {"glob": "deep"}, ["sub/deep/z.md:1: alpha"]),
        ("canary", {}, []),  # behind the links
    ],
)
def test_search_finds_the_same_either_way(
    searched: ToolWorkspace, pattern: str, args: dict[str, Any], rows: list[str]
) -> None:
    assert found(searched, pattern, **args) == rows


def test_search_shows_lines_around(searched: ToolWorkspace) -> None:
    assert found(searched, "gamma", context=1) == [
        "x.txt-3- ",
        "x.txt:4: gamma delta",
        "x.txt-5- alpha",
    ]
    rows = found(searched, "alpha", path="x.txt", context=1)
    assert rows == [
        *("x.txt:1: alpha", "x.txt-2- Beta", "--", "x.txt-4- gamma delta", "x.txt:5: alpha"),
    ]


def test_search_is_bounded(searched: ToolWorkspace) -> None:
    searched.write("a.bin", b"omega\n" * 300 + b"\0")  # which isn't counted
    searched.write("many.txt", "omega\n" * 300 + "omega" * 1000)
    told = data(searched.call("search", pattern="omega"))
    assert told["matches"] == told["text"].count("\n") == 100 and "There are more" in told["more"]
    last = found(searched, "omegaomega")
    assert last[0].endswith("[… 5,000 characters]") and len(last[0]) < 600


def test_search_says_what_is_no_expression(tool_workspace: ToolWorkspace) -> None:
    assert "no regular expression" in error(tool_workspace.call("search", pattern="(a"))


def test_search_goes_on_in_python_where_ripgrep_cannot(tool_workspace: ToolWorkspace) -> None:
    assert found(tool_workspace, r"(?<=def )f") == ["src/b.py:1: def f():"]
    assert found(tool_workspace, r"(e)\1") == ["a.txt:3: three"]


def test_search_leaves_out_what_git_ignores(searched: ToolWorkspace) -> None:
    searched.git("init")
    searched.write(".gitignore", "sub/\n")
    assert found(searched, "alpha") == ["x.txt:1: alpha", "x.txt:5: alpha"]
    assert len(found(searched, "alpha", ignored=True)) == 4


def test_search_gives_up_on_what_takes_too_long(tool_workspace: ToolWorkspace) -> None:
    workspace, args = tool_workspace.workspace, SearchArgs(pattern="o")
    with pytest.raises(SearchTimeoutError):
        list(search_in_python(workspace, args, ["a.txt"], lambda: False, timeout_s=0.0))
    impatient = SearchFiles(timeout_s=0.0)
    assert "use a simpler expression" in error(tool_workspace.call(impatient, pattern=r"(?=o)o"))


# ---- edit_file and write_file ----------------------------------------------------------------------


def test_edit_replaces_and_shows_the_change(tool_workspace: ToolWorkspace) -> None:
    told = data(tool_workspace.call("edit_file", path="a.txt", old="two", new="2"))
    assert tool_workspace.text() == "one\n2\nthree\n"
    assert told["replaced"] == 1 and told["done"] == "changed"
    assert told["diff"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


def test_edit_wants_one_place_or_all(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", "x\ny\nx\n")
    said = error(tool_workspace.call("edit_file", path="a.txt", old="x", new="z"))
    assert "2 times, at lines 1, 3" in said and tool_workspace.text() == "x\ny\nx\n"
    assert (
        data(tool_workspace.call("edit_file", path="a.txt", old="x", new="z", all=True))["replaced"]
        == 2
    )
    assert tool_workspace.text() == "z\ny\nz\n"


def test_edit_counts_places_that_overlap(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", "}\n}\n}\n")
    said = error(tool_workspace.call("edit_file", path="a.txt", old="}\n}\n", new="x\n"))
    assert "2 times, at lines 1, 2" in said and tool_workspace.text() == "}\n}\n}\n"


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("def f():\n  return 1", "Lines 1 to 2 differ from it in spaces alone"),
        ("def f():\n    return 2", "Its first line stands at 1"),
        ("nothing like it", "doesn't stand in src/b.py. Read the file again."),
        ("\t", "doesn't stand in src/b.py. Read"),
        ("", "`old` is empty"),
    ],
)
def test_edit_says_why_not(tool_workspace: ToolWorkspace, old: str, hint: str) -> None:
    before = tool_workspace.text("src/b.py")
    tool_workspace.write("src/b.py", before.replace("    ", "    "))
    said = error(
        tool_workspace.call(
            "edit_file", path="src/b.py", old=old if old != "   " else "\t", new="x"
        )
    )
    assert hint in said
    assert tool_workspace.text("src/b.py") == before


def test_edit_keeps_the_files_line_breaks(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("dos.txt", "one\r\ntwo\r\nthree\r\n")
    data(tool_workspace.call("edit_file", path="dos.txt", old="one\ntwo\n", new="1\n2\n2a\n"))
    assert tool_workspace.text("dos.txt") == "1\r\n2\r\n2a\r\nthree\r\n"
    data(tool_workspace.call("edit_file", path="dos.txt", old="three", new="3\n3a"))
    assert tool_workspace.text("dos.txt") == "1\r\n2\r\n2a\r\n3\r\n3a\r\n"


def test_edit_leaves_other_line_breaks_where_a_file_has_both(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("mixed.txt", "one\r\ntwo\n")
    data(tool_workspace.call("edit_file", path="mixed.txt", old="two", new="2\n2a"))
    assert tool_workspace.text("mixed.txt") == "one\r\n2\n2a\n"


def test_edit_of_what_is_no_text_is_refused(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("blob", b"\xff\0")
    assert "no UTF-8 text" in error(tool_workspace.call("edit_file", path="blob", old="a", new="b"))


def test_write_creates_changes_or_leaves(tool_workspace: ToolWorkspace) -> None:
    assert (
        data(tool_workspace.call("write_file", path="n/new.txt", content="x\n"))["done"]
        == "created"
    )
    told = data(tool_workspace.call("write_file", path="n/new.txt", content="y"))
    assert told["done"] == "changed" and told["diff"].endswith(
        "@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n"
    )
    assert data(tool_workspace.call("write_file", path="n/new.txt", content="y")) == {
        "path": "n/new.txt",
        "done": "nothing to change",
        "diff": "",
    }


def test_write_replaces_what_is_no_text(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("blob", b"\xff\0")
    assert data(tool_workspace.call("write_file", path="blob", content="x"))["diff"].startswith(
        "One side"
    )
    assert tool_workspace.text("blob") == "x"


def test_a_very_long_diff_is_cut(tool_workspace: ToolWorkspace) -> None:
    told = data(tool_workspace.call("write_file", path="long", content="line\n" * 100_000))
    assert len(told["diff"]) < 21_000 and "characters in all" in told["diff"]
