"""Commands by which a person at a terminal approves an agent's call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from ..protocol import ui
from ..protocol.data_model import Risk
from ..protocol.tool_names import find_tool_name
from .step_session import StepSession

_ALWAYS: Final = "always"


class ApprovalCommands:
    """Executes the command `a`.

    Args:
        session: The session with the Core.
        read_next_line: Passes the next typed line to a function.
    """

    def __init__(
        self, session: StepSession, read_next_line: Callable[[Callable[[str], None]], None]
    ) -> None:
        self._session = session
        self._screen = session.screen
        self._read_next_line = read_next_line

    def approve(self, option: str) -> None:
        """Approve the call that the run is halted at; of high risk, once the person confirms it.

        Args:
            option: The words behind the key: nothing, or `always`.
        """
        halted = self._session.halted
        if halted is None or halted.approval is None:
            self._screen.write_line("No call asks for an approval here. Press s to step.", "yellow")
            self._session.prompt()
        elif option not in ("", _ALWAYS):
            self._screen.write_line(
                "Press a to approve, or “a always” to allow such calls from now on.", "yellow"
            )
            self._session.prompt()
        elif halted.approval.risk is Risk.HIGH:
            self._confirm(halted, always=option == _ALWAYS)
        else:
            self._send_approval(halted, always=option == _ALWAYS)

    def _confirm(self, halted: ui.MessageBody, *, always: bool) -> None:
        """Ask for a confirmation by another action than a key."""
        words = choose_confirmation_words(
            find_tool_name(halted.data if halted.edit is None else halted.edit) or ""
        )

        def handle_line(line: str) -> None:
            if self._session.halted is not halted:
                self._screen.write_line(
                    "The call was already answered, or edited elsewhere.", "yellow"
                )
            elif line.strip() == words:
                self._send_approval(halted, always=always, confirmed=True)
                return
            self._screen.write_line("Nothing was approved.")
            self._session.prompt()

        self._read_next_line(handle_line)
        self._screen.show_prompt(make_confirmation_prompt(words))

    def _send_approval(
        self, halted: ui.MessageBody, *, always: bool, confirmed: bool = False
    ) -> None:
        command = ui.ApproveCall(
            run=halted.run,
            halt_point=halted.message,
            revision=halted.revision,
            always=always,
            confirmed=confirmed,
        )
        self._session.send_command(command, _ignore_answer)


def _ignore_answer(_: Struct) -> None:
    """Ignore the answer: a pushed message reports the same."""


#: Names that are easily typed, and that no answer to a question is.
_TYPEABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{2,39}")
_RESERVED_WORDS: Final = frozenset(
    {"yes", "always", "approve", "deny", "edit", "step", "next", "continue"}
)
_DEFAULT_CONFIRMATION: Final = "I approve"


def choose_confirmation_words(tool: str) -> str:
    """Choose the words that a person types to approve a call of high risk: neither a key nor a command.

    Args:
        tool: The tool's name; if it can't be typed well, the words are the same for all such tools.
    """
    return (
        tool
        if _TYPEABLE.fullmatch(tool) and tool.lower() not in _RESERVED_WORDS
        else _DEFAULT_CONFIRMATION
    )


def make_confirmation_prompt(words: str) -> str:
    """Make the prompt that asks for the confirmation words."""
    return f"High risk: type “{words}” and Enter to approve; any other text cancels: "
