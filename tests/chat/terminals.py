"""Chats in a terminal, and agents that ask or never end."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from agentstepper_nb.chat.chat import Chat
from agentstepper_nb.chat.connector import Item, Turn
from agentstepper_nb.chat.terminal.repl import Repl
from agentstepper_nb.cli.screen import Screen
from agentstepper_nb.protocol.chat import ChatEvent, Message
from tests.chat.chats import FunctionTestAgent


class ChatTerminal:
    """A terminal with a chat: what stands on it, and how somebody types."""

    def __init__(self, chat: Chat, *, terminal: bool = True) -> None:
        self.chat = chat
        self.out = io.StringIO()
        self._events: SimpleQueue[ChatEvent] = SimpleQueue()
        screen = Screen(self.out, is_coloured=False, terminal=terminal)
        self.repl = Repl(chat, screen, self._events.put, terminal=terminal)
        self.update_prompt()

    def update_prompt(self) -> None:
        """Show all that happens until it is a person's turn."""
        self.show()
        while not self.repl.is_awaiting_user:
            self.show_next()
            self.show()

    def show(self) -> None:
        """Show what has happened by now."""
        while not self._events.empty():
            self.show_next()
        self.repl.update_prompt()

    def show_next(self) -> None:
        """Show the next thing that happens."""
        self.repl.show(self._events.get(timeout=60))

    def type_line(self, line: str) -> str:
        """Type a line; gives what is shown until it is a person's turn again."""
        begin = len(self.out.getvalue())
        self.out.write(f"{line}\n")  # as terminals do
        self.repl.handle_line(line)
        self.update_prompt()
        return self.out.getvalue()[begin:].removeprefix(f"{line}\n")

    @property
    def text(self) -> str:
        """All that was shown."""
        return self.out.getvalue()

    @property
    def last_line(self) -> str:
        """What stands on the last line."""
        return self.text.split("\n")[-1]


Start = Callable[..., ChatTerminal]


def terminals(tmp_path: Path) -> Iterator[Start]:
    """Starts chats in terminals, and closes them at the end: a fixture's body."""
    started: list[ChatTerminal] = []

    def start(*agents: FunctionTestAgent, terminal: bool = True, **how: Any) -> ChatTerminal:
        how = {"debugger": False, "data_dir": tmp_path, "workspace": tmp_path, **how}
        made = ChatTerminal(Chat(*(agents or (FunctionTestAgent(),)), **how), terminal=terminal)
        started.append(made)
        return made

    yield start
    for each in started:
        each.repl.close()
        each.chat.close()


async def confirm_deletion(asked: Message, turn: Turn) -> AsyncGenerator[Item, None]:
    choice = await turn.confirm("Delete all?", ["Yes, all", "Yes, some", "No"])
    yield f"So: {choice}."


class BlockingAgent:
    def __init__(self) -> None:
        self.reached = threading.Event()

    async def answer(self, asked: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield "One moment"
        self.reached.set()
        await asyncio.Event().wait()
