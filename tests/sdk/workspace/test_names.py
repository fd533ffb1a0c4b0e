"""Names: branches that git takes, and paths in git's quotation."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentstepper_nb.sdk.workspace import git_names
from tests.sdk.workspace.helpers import Open, git, private_repository

AT = 1_700_000_000.9


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("My Agent\t2", "MyAgent2"),
        ("a~b^c:d?e*f[g\\h", "abcdefgh"),
        ("team/agent", "team/agent"),
        ("//a//b/", "a/b"),
        (".hidden/..x", "hidden/x"),
        ("a..b...c", "a.b.c"),
        ("a.lock", "a"),
        ("a.lock.lock/b.lock", "a/b"),
        ("a@{1}", "a@1}"),
        ("-x", "x"),
        ("日本 語", "日本語"),
        ("x\ud800y\x7f\0", "xy"),
        ("  ", "agent"),
        ("", "agent"),
        ("...", "agent"),
        ("@", "@"),
    ],
)
def test_a_branch_is_the_program_without_what_git_refuses(program: str, expected: str) -> None:
    name = git_names.make_branch_name(program, AT)
    start, _, moment = name.rpartition("/runs/")
    assert start == expected
    assert len(moment) == len("20231114-221320") and moment[8] == "-"


@given(
    st.text(
        st.sampled_from("ab./@{}-~ ^:?*[\\\0\x7f\u00a0\u2028é😀\ud800") | st.characters(),
        max_size=300,
    )
)
@example("é" * 300)
@example(("x" * 118 + ".lock") * 2)
@example("@" + "{" * 5)
@example(".@{.lock")
def test_git_takes_every_branch(program: str) -> None:
    name = git_names.make_branch_name(program, AT)
    assert not any(character.isspace() for character in name)
    subprocess.run(["git", "check-ref-format", "--branch", name], check=True, capture_output=True)
    assert all(len(part.encode()) < 200 for part in name.split("/"))


def test_a_strange_program_gets_its_branch(data: Path, watch: Open) -> None:
    workspace = watch(program="Très: long\nname? " * 50)
    assert git(private_repository(data), "rev-parse", f"refs/heads/{workspace.branch}")


@given(st.binary(min_size=1).filter(lambda path: b"\0" not in path))
def test_quotation_is_undone(path: bytes) -> None:
    assert git_names.unquote_name(git_names.quote_name(path)) == path
    assert b"\n" not in git_names.quote_name(path)


def test_gits_own_quotation_is_undone() -> None:
    assert (
        git_names.unquote_name(rb'"a\tb\n\"\\\303\244\a\b\v\f\r"') == b'a\tb\n"\\\xc3\xa4\a\b\v\f\r'
    )
    assert git_names.unquote_name(b"plain \\n") == b"plain \\n"


def test_names_on_the_wire_are_valid_unicode() -> None:
    assert git_names.format_wire_name("ä\n".encode()) == "ä\n"
    assert git_names.format_wire_name(b"caf\xe9\xff") == "caf\\xe9\\xff"
