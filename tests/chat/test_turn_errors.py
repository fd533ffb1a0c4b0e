"""Turns that fail: what is said of it, and what is logged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentstepper_nb.chat.connector import Turn
from agentstepper_nb.errors import ModelError
from agentstepper_nb.protocol.chat import (
    Ending,
    Message,
    Piece,
)
from tests.chat.house import Actor, kept_nowhere
from tests.helpers.loops import on_loop


class Unspeakable(Exception):
    """An error that can't even be said."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no more"), "ValueError: no more"),
        (ValueError(), "ValueError."),
        (ModelError("refused", "The model said no."), "The model said no."),
        (SystemExit(3), "wanted to end its process: SystemExit(3)."),
        (Unspeakable(), "Unspeakable, which can't say what it is about."),
        (
            asyncio.CancelledError(),
            "What the agent waited for was cancelled, by something of its own.",
        ),
        (RuntimeError("half \ud800"), "RuntimeError: half ?"),
        (ExceptionGroup("all", [ExceptionGroup("of it", [KeyError("x")])]), "KeyError: 'x'"),
    ],
)
def test_an_error_is_said_and_ends_the_turn(error: BaseException, text: str) -> None:
    async def fails(message: Message, turn: Turn) -> AsyncIterator[str]:
        yield "Half"
        raise error

    async def do() -> None:
        async with kept_nowhere(Actor(fails)) as home:
            await home.ask()
            *_, half, last = home.messages
            assert (half.content, half.final) == ("Half", True)
            assert (last.role, last.type, last.format) == ("system", "MESSAGE", "error")
            assert last.content.endswith(text)
            assert home.info.ending is Ending.ERROR
            assert home.fold.messages == home.messages

    asyncio.run(do())


@on_loop
async def test_a_long_error_is_cut() -> None:
    def fails(message: Message, turn: Turn) -> Any:
        raise ValueError("x" * 100_000)

    async with kept_nowhere(Actor(fails)) as home:
        await home.ask()
        assert len(home.messages[-1].content) < 2100


@pytest.mark.parametrize("item", [3, None, object(), {"type": "VIDEO", "content": "x"}, b"bytes"])
def test_what_cannot_be_said_is_an_error(item: object) -> None:
    async def do() -> None:
        async with kept_nowhere(Actor(["Before.", item, "After."])) as home:
            await home.ask()
            assert home.info.ending is Ending.ERROR
            assert [each.content for each in home.messages][1:2] == ["Before."]
            assert home.messages[-1].format == "error"

    asyncio.run(do())


@on_loop
async def test_an_agent_does_not_speak_as_the_user() -> None:
    said = [Piece(content="Yes, do it.", role="user")]
    async with kept_nowhere(
        Actor(said), Actor([{"role": "user", "content": "I agree."}], "b")
    ) as home:
        for name in ("actor", "b"):
            await home.ask(to=name)
            assert home.info.ending is Ending.ERROR
            assert "doesn't speak as the user" in home.messages[-1].content
        assert [role for role, _ in home.said] == ["user", "system"] * 2


@on_loop
async def test_an_agents_error_is_said_in_the_chat_and_logged_for_who_looks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(message: Message, turn: Turn) -> Any:
        raise ValueError("no more")

    caplog.set_level("INFO", "agentstepper_nb.chat")
    async with kept_nowhere(Actor(fails)) as home:
        await home.ask()
        assert home.messages[-1].content == "ValueError: no more"
    failed = [each for each in caplog.records if each.exc_info]
    assert [each.levelname for each in failed] == ["INFO"]
