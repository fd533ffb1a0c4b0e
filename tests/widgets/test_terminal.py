"""`%%step` in a terminal's IPython, where no view can be: it asks without being told."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pexpect
import pytest

TIMEOUT_S = 30


@pytest.fixture(scope="module")
def terminal(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[pexpect.spawn]:
    """IPython with the magics, at its prompt before each test and after it."""
    tmp_path = tmp_path_factory.mktemp("terminal")
    options = ["--simple-prompt", "--colors=NoColor", "--no-banner", "--no-confirm-exit"]
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "IPython", *options],
        env=environment | {"IPYTHONDIR": str(tmp_path), "TERM": "dumb"},
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=TIMEOUT_S,
        dimensions=(40, 200),
    )
    try:
        types(terminal, "%load_ext agentstepper_nb")
        yield terminal
    finally:
        terminal.close(force=True)


def types(terminal: pexpect.spawn, line: str, prompt: str = r"In \[\d+\]: ") -> None:
    terminal.expect(prompt)
    terminal.sendline(line)


def cell(terminal: pexpect.spawn, line: str, *lines: str) -> None:
    """Run a cell; a simple prompt takes it as one line only."""
    types(terminal, f"get_ipython().run_cell_magic('step', {line!r}, {chr(10).join(lines)!r})")


@pytest.mark.slow
def test_it_asks(terminal: pexpect.spawn) -> None:
    cell(terminal, "typed", "with dbg.llm(1) as q: q.response = q.prompt", "q.response")
    types(terminal, "e", r"\[n\]ext.*\[\?\] ")
    types(terminal, '"edited"', "as a line of JSON.*: ")
    types(terminal, "s", r"\[n\]ext.*\[\?\] ")
    types(terminal, "s", r"\[n\]ext.*\[\?\] ")
    terminal.expect(r"Out\[\d+\]: 'edited'")


@pytest.mark.slow
def test_what_needs_the_main_thread(terminal: pexpect.spawn) -> None:
    cell(terminal, "--main", "print('ran', 'all the same')")
    terminal.expect("This front end has no view.*Leave out --main")
    assert "ran all the same" not in terminal.before


@pytest.mark.slow
def test_in_the_background(terminal: pexpect.spawn) -> None:
    cell(
        terminal,
        "--background",
        "with dbg.llm(1) as q: q.response = q.prompt",
        "print('it' + ' ran')",  # one write: the other thread writes meanwhile
    )
    terminal.expect("%agentstepper --input")
    types(terminal, "%agentstepper --input")
    types(terminal, "c", r"\[n\]ext.*\[\?\] ")
    terminal.expect("it ran")
