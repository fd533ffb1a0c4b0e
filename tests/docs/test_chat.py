"""`docs/guide/chat.md`: its programs run as they are printed, and its tables are whole."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from agentstepper_nb import chat
from agentstepper_nb.chat.connectors import list_connectors
from agentstepper_nb.chat.message_types import type_registry
from agentstepper_nb.chat.remote import tokens
from agentstepper_nb.chat.roles import list_role_names
from agentstepper_nb.chat.terminal.commands import COMMANDS
from agentstepper_nb.cli.agent_command_arguments import add_chat_command
from agentstepper_nb.models.scripted import (
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    say,
    turn,
)
from agentstepper_nb.protocol.chat import Message, State
from tests.docs.conftest import ServeCommand, stranger
from tests.docs.pages import GUIDE, ROOT, prose, write_files
from tests.docs.programs import ForkedPrograms

PAGE: Final = GUIDE / "chat.md"
#: What the coding agent's model says.
TIDY: Final = """\
from agentstepper_nb.models.scripted import *

script = Script("tidy", [
    ScriptRule(turn(0), ScriptedCall("run_command", {"command": "rm -rf build"})),
    ScriptRule(turn(1), say("I leave it.")),
])
"""
WARM: Final = Script(
    "thermometer",
    [
        ScriptRule(turn(0), ScriptedCall("temperature", {"city": "Rome"})),
        ScriptRule(turn(1), say("21 degrees.")),
    ],
)


class Reader(NamedTuple):
    """Somebody who runs the page's programs."""

    home: Path
    folder: Path
    programs: ForkedPrograms

    def read_lines(self, command: str) -> list[str]:
        """What a program prints, which ends well."""
        imported = "agentstepper_nb.chat.session"
        done = self.programs.run(f"python {command}", stranger(self.home), self.folder, imported)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()


@pytest.fixture
def reader(home: Path, tmp_path: Path, programs: ForkedPrograms) -> Reader:
    folder = tmp_path / "programs"
    folder.mkdir()
    write_files(PAGE, folder)
    return Reader(home, folder, programs)


# ---- the programs ----------------------------------------------------------------------------------


def test_a_function_is_an_agent(reader: Reader) -> None:
    assert reader.read_lines("sailor.py") == [
        "0 messages, and none of them was to sail.",
        "('Yes', 'No')",
        "sail(boat)",
    ]


def test_the_interpreter_itself(reader: Reader) -> None:
    assert reader.read_lines("loop.py") == ["You said: Hello! True"]


def test_every_name_can_be_imported() -> None:
    assert {name for name in chat.__all__ if getattr(chat, name, None) is None} == set()
    with pytest.raises(AttributeError, match="Nobody"):
        _ = chat.Nobody


def test_several_agents(reader: Reader) -> None:
    assert reader.read_lines("ship.py") == [
        "captain: Aye.",
        "captain: boats sails oars",
        "purser: 3 of them.",
    ]


@pytest.mark.slow
def test_the_coding_agent(reader: Reader) -> None:
    (reader.folder / "tidy.py").write_text(TIDY)
    (reader.folder / "build").mkdir()
    asked, said = reader.read_lines("mend.py scripted tidy.py")
    assert asked.startswith("Allow the call of `run_command`?")
    assert said == "I leave it."
    assert (reader.folder / "build").is_dir()


@pytest.mark.slow
def test_an_endpoint(reader: Reader) -> None:
    with ScriptedServer(WARM).start() as server:
        said = reader.read_lines(f"thermometer.py {server.base_url} scripted")
    assert said == ["FUNCTION temperature 21", "MESSAGE 21 degrees. None"]


@pytest.mark.slow
def test_an_agent_that_runs_on_its_own(reader: Reader, serve: ServeCommand) -> None:
    serve("agentstepper serve --worker-isolation none")
    (said,) = reader.read_lines("joker.py")
    assert "foxes" in said.lower()


# ---- the tables ------------------------------------------------------------------------------------


def table() -> Iterator[tuple[str, str]]:
    """The invariants, each with what it says."""
    for found in re.finditer(r"^\| (INV-[A-Z]+-\d{3}) \| (.+) \|$", PAGE.read_text(), re.MULTILINE):
        yield found[1], found[2]


def test_each_invariant_is_tested() -> None:
    """Each that is promised has a test under its name, and each test's name is promised."""
    sources = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    tested = {
        name.upper().replace("_", "-")
        for source in sources
        for name in re.findall(r"^(?:async )?def test_(inv_[a-z]+_\d{3})_", source, re.MULTILINE)
    }
    assert {name for name, _ in table()} == tested
    assert len(tested) == 14


def test_each_word_is_on_the_page() -> None:
    text = prose(PAGE)
    names = {
        *list_role_names(),
        *type_registry.names(),
        *map(str, State),
        *tokens.SCOPES,
        *list_connectors(),
    }
    assert {word for word in names if f"`{word}`" not in text} == set()


def test_each_field_of_a_message_is_on_the_page() -> None:
    text = prose(PAGE)
    others = {"type", "content", "media_type", "call_id", "details"}
    fields = set(Message.__struct_fields__) - others
    assert {field for field in fields if f"`{field}`" not in text} == set()


def test_each_option_and_command_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    add_chat_command(commands)
    commands.choices["chat"].print_help()
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert options <= set(re.findall(r"--[a-z-]+", PAGE.read_text()))
    assert {name for name in COMMANDS if f"`/{name}" not in prose(PAGE)} == set()
