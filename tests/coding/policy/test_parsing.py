"""The parser: total, bounded, and never more trusting than the shells themselves."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentstepper_nb.coding.policy import Kind, judge_command, shfmt
from agentstepper_nb.coding.policy.dangers import _LOOKS
from agentstepper_nb.coding.policy.dangers.editors import tame

from .commands import SPEC

#: What shells give a meaning to, and names that are known.
_SIGNS = [
    *(
        "'",
        '"',
        "\\",
        "`",
        "$(",
        ")",
        "$",
        "${",
        "}",
        "$'",
        "{",
        "}",
        "(",
        ";",
        "&&",
        "||",
        "|",
        "\n",
        " ",
    ),
    *(
        "#",
        "<<E\n",
        "\nE\n",
        "*",
        "?",
        "[",
        "]",
        ",",
        "..",
        "=",
        "~",
        "!",
        ">",
        "<",
        "-",
        "--",
        "+",
        "%",
        "{}",
    ),
]
_NAMES = [
    *_LOOKS,
    "rm",
    "-rf",
    "-c",
    "-e",
    "--",
    "x",
    "/dev/sda",
    "../x",
    "-exec",
    "busybox.x",
    "env2",
]
pieces = st.lists(st.sampled_from([*_SIGNS, *_NAMES, " "]) | st.text(max_size=3), max_size=30)
texts = pieces.map("".join) | pieces.map(" ".join) | st.text(max_size=200)
quick = settings(max_examples=30, deadline=None)
long = settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@settings(deadline=None)
@given(st.lists(st.sampled_from(_NAMES) | st.text(max_size=10), max_size=8) | texts)
def test_words_never_raise(command: list[str] | str) -> None:
    judge_command(command)


@quick
@given(texts)
def test_texts_never_raise(text: str) -> None:
    judge_command(text, shell=True)


@pytest.mark.soak
@long
@given(texts)
def test_many_texts_never_raise(text: str) -> None:
    judge_command(text, shell=True)


@pytest.mark.soak
@long
@given(texts, st.sampled_from(SPEC))
def test_nothing_hides_the_line_that_follows(text: str, command: str) -> None:
    assume(not text.endswith("\\"))
    assert judge_command(f"{text}\n{command}", shell=True).kind is not Kind.HARMLESS


@pytest.mark.parametrize("unit", ["$(", "`", "{,", "a;", " ", "print ", "1.", "-"])
def test_much_of_one_thing_is_judged(unit: str) -> None:
    much = unit * (shfmt.TEXT_LIMIT // len(unit))
    judge_command(much, shell=True)
    for command in ("sed", "awk", "echo", "git", "curl", "kill", ""):
        judge_command([command + much, much, much])
        judge_command([command, much[: shfmt.TEXT_LIMIT // 2], much[: shfmt.TEXT_LIMIT // 3]])


@pytest.mark.parametrize("unit", ["sh -c ", "env ", "eval "])
def test_commands_in_commands_end(unit: str) -> None:
    assert judge_command(unit * 500 + "ls", shell=True).kind is not Kind.HARMLESS


def test_a_long_text_is_unclear() -> None:
    for shell in (True, False):
        verdict = judge_command("ls " + "x" * shfmt.TEXT_LIMIT, shell=shell)
        assert verdict.kind is Kind.UNCLEAR
        assert "longer than" in verdict.why


@pytest.mark.parametrize("text", ["ls 'x", "ls\x00", "ls\r", "ls \ud800", "if", "ls )"])
def test_what_has_no_meaning_is_unclear(text: str) -> None:
    assert judge_command(text, shell=True).kind is Kind.UNCLEAR


def test_where_the_parser_is_missing_all_is_unclear() -> None:
    with mock.patch.object(shfmt, "_program", side_effect=FileNotFoundError("shfmt is missing")):
        verdict = judge_command("ls", shell=True)
    assert (verdict.kind, verdict.why) == (
        Kind.UNCLEAR,
        "commands can't be parsed here (shfmt is missing)",
    )
    assert judge_command("ls").kind is Kind.HARMLESS


def test_where_the_parser_hangs_all_is_unclear() -> None:
    with mock.patch.object(subprocess, "run", side_effect=subprocess.TimeoutExpired("shfmt", 10)):
        assert judge_command("ls", shell=True).kind is Kind.UNCLEAR


def test_a_parser_on_the_path_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "shfmt"
    planted.write_text("#!/bin/sh\necho '{}'\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert judge_command("rm -rf x", shell=True).kind is Kind.DANGEROUS


@pytest.mark.parametrize(
    "script",
    [
        "s/a/b/",
        "1,5p",
        "$d",
        "/a/,/b/{s/x/y/;p}",
        "y/ab/cd/",
        "s/[^\\/]*x/y/",
        "s/[[:alpha:]]//",
        "s|/|\\||g",
        "1!d",
    ],
)
def test_a_tame_script(script: str) -> None:
    assert tame(script)


@pytest.mark.parametrize(
    "script",
    [
        "e",
        "1e ls",
        "w x",
        "s/a/b/e",
        "s/a/b/gew x",
        "s/[/]/g;/e;a/",
        "s/[]/]/g;/e;a/",
        "p;e",
        "{e\n}",
        "t\ne",
        "s/a/b",
        "W x",
    ],
)
def test_a_script_that_isnt(script: str) -> None:
    assert not tame(script)


_SCRIPT_PARTS = [
    *(
        "s",
        "/",
        "[",
        "]",
        "\\",
        "e",
        "p",
        ";",
        "{",
        "}",
        "a",
        "1",
        ",",
        "!",
        "w",
        "g",
        "\n",
        "$",
        "y",
    ),
    *("|", "t", "b", ":", "^", "[/]", "s/", "s|", "c", "i", " "),
]


@pytest.mark.soak
@settings(parent=long, max_examples=300, suppress_health_check=list(HealthCheck))
@given(script=st.lists(st.sampled_from(_SCRIPT_PARTS), min_size=2, max_size=14).map("".join))
def test_a_tame_script_runs_nothing(script: str, tmp_path: Path) -> None:
    """Beside the real one: where `e` is a command, it runs the lines; `w` would leave a file."""
    assume(tame(script))
    lines = b"touch ran\ntouch ran\n"
    with contextlib.suppress(subprocess.TimeoutExpired):  # it may branch for ever
        subprocess.run(
            ["sed", "--", script], input=lines, cwd=tmp_path, timeout=2, capture_output=True
        )
    assert list(tmp_path.iterdir()) == []


# ---- beside real shells ----------------------------------------------------------------------------

#: No loops, no background, no recursion: what these make ends.
_PARTS = [
    *(
        "rm",
        "r",
        "m",
        "-rf",
        "-r",
        "f",
        " ",
        "  ",
        "\n",
        "\\\n",
        ";",
        "&&",
        "||",
        "|",
        "'",
        '"',
        "\\",
        "`",
    ),
    *(
        "$(",
        ")",
        "$'",
        "$",
        "x",
        "x=",
        "$x",
        "{",
        "}",
        ",",
        "(",
        "#",
        "echo ",
        "eval ",
        "if ",
        "then ",
        "fi",
    ),
    *(
        "cat <<E\n",
        "cat <<'E'\n",
        "\nE\n",
        "*",
        "?",
        "rm -rf x",
        "'rm'",
        "$(rm -rf x)",
        "!",
        "command ",
    ),
    *(
        "case x in ",
        "x) ",
        ";;",
        "esac",
        "[[ ",
        " ]]",
        "((",
        "))",
        "\t",
        "\\x72m",
        "é",
        "for x in rm; do ",
        "done",
    ),
]
scripts = st.lists(st.sampled_from(_PARTS), min_size=1, max_size=14).map("".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose only programs are an `rm` that notes that it was run with -r or -f, and a `cat`."""
    folder = tmp_path_factory.mktemp("shells")
    (folder / "bin").mkdir()
    (folder / "here").mkdir()
    words = f"--) break;; -*r*|-*f*) : > {folder}/ran;;"
    note = f'#!/bin/sh\nfor word; do case "$word" in {words} esac; done\n'
    for name, text in {"rm": note, "cat": "#!/bin/sh\n"}.items():
        program = folder / "bin" / name
        program.write_text(text)
        program.chmod(0o755)
    yield folder


def deletes(script: str, folder: Path) -> bool:
    """Whether a shell that runs this calls `rm` with -r or -f."""
    ran = folder / "ran"
    for shell in ("/bin/sh", "/bin/bash"):
        subprocess.run(
            [shell, "-c", script],
            cwd=folder / "here",
            env={"PATH": str(folder / "bin")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
    try:
        os.unlink(ran)
    except FileNotFoundError:
        return False
    return True


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=scripts)
def test_what_deletes_is_asked_about(script: str, folder: Path) -> None:
    if judge_command(script, shell=True).kind is Kind.HARMLESS:
        assert not deletes(script, folder)


@pytest.mark.soak
@settings(parent=long, max_examples=2000)
@given(script=scripts)
def test_whatever_deletes_is_asked_about(script: str, folder: Path) -> None:
    if judge_command(script, shell=True).kind is Kind.HARMLESS:
        assert not deletes(script, folder)
