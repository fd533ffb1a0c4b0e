"""What a command deletes, as real shells read it, beside what the policy says of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentstepper_nb.coding.policy import analyze_command

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


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=scripts)
def test_what_deletes_is_asked_about(script: str, folder: Path) -> None:
    if not analyze_command(script, shell=True).findings:
        assert not deletes(script, folder)


@pytest.mark.soak
@settings(max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
@given(script=scripts)
def test_whatever_deletes_is_asked_about(script: str, folder: Path) -> None:
    if not analyze_command(script, shell=True).findings:
        assert not deletes(script, folder)
