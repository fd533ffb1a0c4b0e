"""The parser: total, bounded, and never more trusting than the shells themselves."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentstepper_nb.coding.policy import DefaultPolicyEngine, analyze_command, shell_parser
from agentstepper_nb.coding.policy.dangerous_commands import _CALL_ANALYZERS
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.helpers.sampling import select_sample

from .commands import SPEC
from .tools import RUN, RUN_WORDS

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
    *_CALL_ANALYZERS,
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
quick = settings(max_examples=15)
long = settings(max_examples=1000, suppress_health_check=[HealthCheck.too_slow])


@given(st.lists(st.sampled_from(_NAMES) | st.text(max_size=10), max_size=8) | texts)
def test_words_never_raise(command: list[str] | str) -> None:
    analyze_command(command)


@quick
@given(texts)
def test_texts_never_raise(text: str) -> None:
    analyze_command(text, shell=True)


@pytest.mark.soak
@long
@given(texts)
def test_many_texts_never_raise(text: str) -> None:
    analyze_command(text, shell=True)


@pytest.mark.soak
@long
@given(texts, st.sampled_from(SPEC))
def test_nothing_hides_the_line_that_follows(text: str, command: str) -> None:
    assume(not text.endswith("\\"))
    assert analyze_command(f"{text}\n{command}", shell=True).findings


@pytest.mark.parametrize(
    "unit",
    select_sample(
        ["$(", "`", "{,", "a;", " ", "git ", "rm ", "1.", "-"], "$(", "{,", " ", "git ", "-"
    ),
)
def test_much_of_one_thing_is_judged(unit: str) -> None:
    much = unit * (shell_parser.MAX_TEXT_CHARS // len(unit))
    analyze_command(much, shell=True)
    for command in ("python", "awk", "echo", "git", "pip", "kill", ""):
        analyze_command([command + much, much, much])
        analyze_command(
            [
                command,
                much[: shell_parser.MAX_TEXT_CHARS // 2],
                much[: shell_parser.MAX_TEXT_CHARS // 3],
            ]
        )


@pytest.mark.parametrize("unit", select_sample(["sh -c ", "env ", "eval "], "sh -c "))
def test_commands_in_commands_end(unit: str) -> None:
    assert analyze_command(unit * 500 + "ls", shell=True).findings


def test_a_long_text_is_unclear() -> None:
    for shell in (True, False):
        report = analyze_command("ls " + "x" * shell_parser.MAX_TEXT_CHARS, shell=shell)
        assert report.is_unclear
        assert "longer than" in str(report.worst_finding)


@pytest.mark.parametrize("text", ["ls 'x", "ls\x00", "ls\r", "ls \ud800", "if", "ls )"])
def test_what_has_no_meaning_is_unclear(text: str) -> None:
    assert analyze_command(text, shell=True).is_unclear


def test_where_the_parser_is_missing_all_is_unclear() -> None:
    with mock.patch.object(
        shell_parser, "_program", side_effect=FileNotFoundError("shfmt is missing")
    ):
        report = analyze_command("ls", shell=True)
    assert report.is_unclear
    assert str(report.worst_finding) == "Commands can't be parsed here (shfmt is missing)."
    assert analyze_command("ls").findings == ()


def test_where_the_parser_hangs_all_is_unclear() -> None:
    with mock.patch.object(subprocess, "run", side_effect=subprocess.TimeoutExpired("shfmt", 10)):
        assert analyze_command("ls", shell=True).is_unclear


def test_a_parser_on_the_path_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "shfmt"
    planted.write_text("#!/bin/sh\necho '{}'\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    worst_finding = analyze_command("rm -rf x", shell=True).worst_finding
    assert worst_finding is not None
    assert "deletes folders" in str(worst_finding)


# ---- one grammar or both ---------------------------------------------------------------------------

#: Of these most commands are made; some are bash's own.
_COMMON = [
    *("ls", "-la", "x=1", "$HOME", "'a b'", '"$x y"', "a/b.py", "*.py", "2>&1", "> out", "< in"),
    *("if", "then", "fi", "for x in a b", "do", "done", "while", "time", "let", "local", "export"),
    *(
        "|",
        "||",
        "&&",
        "&",
        ";",
        ";;",
        "\n",
        "!",
        "#",
        "~",
        "+=",
        "&>",
        ">&",
        "|&",
        "<<<",
        "<<",
        ">|",
    ),
    *("test", "=", "==", "=~", "^", "@", "?", "%", "select", "function", "declare", "-n", ":", ","),
]
common = st.lists(st.sampled_from(_COMMON), max_size=10).flatmap(
    lambda words: st.sampled_from([" ", ""]).map(lambda between: between.join(words))
)


def trees(text: str) -> list[object]:
    """What each grammar makes of a text; None where it can't be parsed."""
    found: list[object] = []
    for dialect in ("posix", "bash"):
        try:
            found.append(shell_parser.parse_tree(text, dialect))  # type: ignore[arg-type]
        except shell_parser.UnparsableError:
            found.append(None)
    return found


@quick
@given(common | texts)
def test_of_a_common_text_every_grammar_makes_the_same(text: str) -> None:
    assume(shell_parser.is_same_in_all_dialects(text))
    posix, bash = trees(text)
    assert posix == bash


@pytest.mark.soak
@long
@given(common | texts)
def test_of_every_common_text_every_grammar_makes_the_same(text: str) -> None:
    assume(shell_parser.is_same_in_all_dialects(text))
    posix, bash = trees(text)
    assert posix == bash


@pytest.mark.parametrize(
    ("command", "times"),
    [
        ("cd src && python -m pytest -q 2>&1 | tail -5", 1),
        ("X=1 grep -rn 'def ' --include=*.py . > out.txt", 1),
        ("sh -c 'ls -la'", 2),  # the command, and the one in it
        ("echo $(ls)", 2),
        ("diff <(ls a) <(ls b)", 2),  # bash's alone
    ],
)
def test_the_parser_is_started_once_for_each_reading(command: str, times: int) -> None:
    with mock.patch.object(subprocess, "run", wraps=subprocess.run) as run:
        assert not analyze_command(command, shell=True).findings
    assert run.call_count == times


# ---- the files and folders of a command ------------------------------------------------------------

_ODD_PATHS = ["a\x00b", "x" * 5000, "/proc/1/root/x", "a/" * 2100, "\ud800", "[", "**/[!", "~x/y"]
_WITH_PATHS = [
    *(
        "cp {} x",
        "cp x {}",
        "mv {} /tmp",
        "rm {}",
        "cat < {}",
        "ls {}",
        "git log {}",
        "sed -i x {}",
    ),
    *("echo x > {}", "cd {}", "git checkout {}"),
]


@pytest.mark.slow
@pytest.mark.parametrize("is_confined", [True, False])
@pytest.mark.parametrize("path", _ODD_PATHS, ids=range(len(_ODD_PATHS)))
def test_odd_paths_are_judged(workspace: LocalWorkspace, path: str, is_confined: bool) -> None:
    engine = DefaultPolicyEngine(workspace=workspace, is_confined=is_confined)
    # As words each; a shell's are parsed by a process, so that it has the few that differ.
    for tool, forms in ((RUN_WORDS, _WITH_PATHS), (RUN, _WITH_PATHS[::4])):
        for form in forms:
            given = json.dumps({"command": form.format(path), "folder": "."})
            asyncio.run(engine.evaluate(tool, given))


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts)
def test_any_text_is_judged_without_a_sandbox(workspace: LocalWorkspace, text: str) -> None:
    engine = DefaultPolicyEngine(workspace=workspace, is_confined=False)
    asyncio.run(engine.evaluate(RUN, json.dumps({"command": text})))
