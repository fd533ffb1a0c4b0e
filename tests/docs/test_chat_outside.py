"""`docs/guide/chat-outside.md`: its programs run as they are printed, together; its numbers are true."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentstepper_nb.chat.remote.client import AsyncChatClient
from agentstepper_nb.chat.remote.tokens import SCOPES
from agentstepper_nb.hub import chat_registry
from tests.docs.conftest import stranger
from tests.docs.pages import GUIDE, prose, write_files
from tests.docs.programs import ForkedPrograms

PAGE = GUIDE / "chat-outside.md"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(home: Path, programs: ForkedPrograms) -> Iterator[Start]:
    """Start a program of the page's."""
    write_files(PAGE, home)
    started: list[subprocess.Popen[str]] = []

    def start(name: str, address: str = "", token: str = "") -> subprocess.Popen[str]:
        environment = stranger(home, CHAT_TOKEN=token)
        imported = ("agentstepper_nb.chat.chat", "agentstepper_nb.chat.remote.client")
        process = programs.start(f"python {name} {address}", environment, home, *imported)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def read_until(process: subprocess.Popen[str], wanted: str) -> list[str]:
    """What a program prints, up to a line."""
    lines = []
    while not lines or lines[-1] != wanted:
        lines.append(line(process))
        assert lines[-1], lines
    return lines


@pytest.mark.slow
@pytest.mark.usefixtures("core")
def test_the_programs_take_part(start: Start) -> None:
    garden = start("garden.py")
    address, talk, watch, answer = (line(garden) for _ in range(4))
    watcher = start("watcher.py", address, watch)
    assert line(watcher) == "Garden begins"
    poet = start("poet.py", address, answer)
    read_until(watcher, "poet created")
    script, _ = start("script.py", address, talk).communicate()
    assert script.splitlines() == [
        "CONFIRMATION Shall it rhyme? ('Yes', 'No')",
        "poet Roses are red, Tea in the shed.",
    ]
    assert "poet: Roses are red, Tea in the shed." in read_until(watcher, "poet ended")
    assert garden.stdin is not None
    garden.stdin.write("\n")
    garden.stdin.flush()
    revoked = (
        "The chat token was revoked. Create a new token where the chat runs: chat.issue_token()."
    )
    assert read_until(watcher, f"invalid_token {revoked}")
    assert poet.communicate()[0] == f"{revoked}\n"


def test_the_tables_are_true() -> None:
    text = prose(PAGE)
    rows = re.findall(r"^\| `(\w+)` \| .*: (.*) \|$", text.partition("## Tokens")[2], re.MULTILINE)
    assert [scope for scope, _ in rows] == list(SCOPES)
    for _, methods in rows:
        for method in re.findall(r"`(\w+)`", methods):
            assert hasattr(AsyncChatClient, method), method
    bounds = text.partition("## Bounds")[2]
    limits = chat_registry.ClientLimits()
    assert f"in one chat at a time | {limits.max_clients} |" in bounds
    assert f"that one has open | {limits.max_open_requests} |" in bounds
    assert f"at a time | {limits.max_request_bytes // 1024**2} MiB" in bounds
