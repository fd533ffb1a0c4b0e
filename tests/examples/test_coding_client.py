"""`examples/coding_client.py` as a person runs it, against a live server."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

import pexpect
import pytest

from tests.e2e.jupyter import ROOT, running
from tests.server.live import LiveServer

CLIENT = ROOT / "examples" / "coding_client.py"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    live = LiveServer(tmp_path_factory.mktemp("jupyter"))
    with running(live.server):
        yield live


def client(live: LiveServer, *more: str) -> pexpect.spawn[str]:
    how = live.create_options
    return pexpect.spawn(
        sys.executable,
        [
            *(str(CLIENT), live.jupyter.url),
            *("--workspace", how["workspacePath"], "--provider", how["provider"]),
            *("--model", how["model"], *more),
        ],
        env={**os.environ, "JUPYTER_TOKEN": live.jupyter.token},
        encoding="utf-8",
        echo=False,
        timeout=60,
    )


def confirm(child: pexpect.spawn[str]) -> None:
    """Confirm a call where it is of high risk."""
    if child.expect(["Type run_command to confirm: ", "< "]) == 0:
        child.sendline("run_command")


def test_it_fits_on_a_screen_or_two() -> None:
    assert len(CLIENT.read_text().splitlines()) <= 120


@pytest.mark.slow
def test_a_person_talks_to_the_agent(live: LiveServer) -> None:
    child = client(live)
    child.expect(r"session ([\w-]+)")
    session = str(child.match[1])  # type: ignore[index]
    child.expect("you: ")
    child.sendline("hello")
    child.expect(r"Hello to you\.")
    child.expect(r"\[done\]")
    child.expect("you: ")
    child.sendline("run rm -rf build")
    child.expect(re.escape('? run_command {"command": "rm -rf build"}'))
    child.expect("instead: ")
    child.sendline('{"command": "echo kept"}')
    confirm(child)
    child.expect(r'"output": "kept\\n"')
    child.expect("you: ")
    child.sendline("run rm -rf build")
    child.expect("instead: ")
    child.sendline("n it is needed")
    child.expect("it is needed")
    child.expect("you: ")
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()

    live.close_session(session)
    child = client(live, "--list")
    child.expect(f"{session}  kept  hello")
    child.expect(pexpect.EOF)
    child.close()
    child = client(live, "--resume", session)
    child.expect("… 0 earlier messages")
    child.expect("user: hello\r\nassistant: Hello to you.")
    child.expect("you: ")
    child.sendline("count")
    child.expect(r"\d+ messages\.")
    child.expect("you: ")  # before that the answer would break off
    live.kill_worker()
    child.sendline("hello")
    child.expect("!|is gone")
    child.expect(pexpect.EOF)
    child.close()


@pytest.mark.slow
def test_it_says_why_it_was_refused(live: LiveServer) -> None:
    child = client(live, "--workspace", "/")
    child.expect("! .*The coding agent may not work in")
    child.expect(pexpect.EOF)
    child.close()
