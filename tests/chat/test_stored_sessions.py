"""Sessions begin, are kept, opened again, and end."""

from __future__ import annotations

import asyncio
import errno
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from agentstepper_nb.chat import line_store, outputs
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.chat import ChatSessionRemoved, Message, State, TurnEnding
from tests.chat.harness import PNG, Actor, Gate, Harness, harness, kept_nowhere, refused


async def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    picture = outputs.image(PNG, alt="A plot")
    async with harness(tmp_path, Actor(["One.", picture]), Actor(name="other")) as home:
        await home.ask("Hello.")
        home.interpreter.update_session(
            home.session, title="Mine", default_agent="other", auto_chat_max=9
        )
        said = home.messages
        (listed,) = home.interpreter.sessions()
        assert (listed.live, listed.title) == (True, "Mine")
    async with harness(tmp_path, Actor(), Actor(["Two."], "other")) as other:
        here = other.interpreter
        found = next(each for each in here.sessions() if each.id == home.session)
        assert (found.live, found.title, found.messages, found.ending) == (
            False,
            "Mine",
            3,
            TurnEnding.DONE,
        )
        assert here.info(home.session) == found
        info = here.open(home.session)
        assert (info.state, info.live, info.messages_in_memory) == (State.STATE_STOP, True, 3)
        assert (info.auto_chat_max, info.created_at) == (9, found.created_at)
        assert here.open(home.session) == info
        again = Harness(here, home.session)
        assert again.messages == said
        assert (await here.read_image(home.session, said[2].id)).data == PNG
        assert [each.content for each in await again.ask("And?")] == ["Two."]
        assert [each.title for each in here.sessions()] == ["Mine", ""]


async def test_only_the_newest_messages_are_held_and_all_are_kept(tmp_path: Path) -> None:
    answer = [outputs.code(str(n), f"l{n}") for n in range(120)]
    async with harness(tmp_path, Actor(answer)) as home:
        await home.ask()
        assert (home.info.messages, home.info.messages_in_memory, len(home.messages)) == (
            121,
            100,
            100,
        )
        page = home.interpreter.read_earlier_messages(home.session, home.messages[0].id, 50)
