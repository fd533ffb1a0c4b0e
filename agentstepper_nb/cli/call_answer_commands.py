"""Commands by which a person at a terminal answers a call, or adds a message to a prompt."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec import UNSET, Struct

from ..protocol import ui
from ..protocol.call_answers import GuidePrompt, RaiseError, SkipCall
from .step_session import StepSession
from .terminal_text import find_json_error

#: An exception's class before its message: `TimeoutError: no answer`.
_TYPE: Final = re.compile(r"((?:\w+\.)*[A-Z]\w*):\s+(.+)")


class CallAnswerCommands:
    """Executes `deny`, `skip`, `raise` and `guide`.

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

    def deny(self, reason: str) -> None:
        """Deny the call at which the run is halted.

        Args:
            reason: The reason for the agent; "": ask the person.
        """
        self._answer(reason, "Reason for the agent to read (an empty line cancels): ", _make_denial)

    def skip(self, result: str) -> None:
        """Skip the call at which the run is halted, and supply its result.

        Args:
            result: JSON; "": ask the person.
        """
        self._answer(
            result, "The result as a line of JSON (an empty line cancels): ", self._make_skip
        )

    def raise_error(self, error: str) -> None:
        """Raise an exception in the agent's code, in place of the call or of its result.

        Args:
            error: The message, or `TYPE: MESSAGE`; "": ask the person.
        """
        self._answer(
            error, "The exception, as TYPE: MESSAGE (an empty line cancels): ", _make_error
        )

    def guide(self, text: str) -> None:
        """Add a message to the prompt that the run is halted at, without answering.

        Args:
            text: The message; "" asks the person for it.
        """
        self._answer(text, "Message to add to the prompt (an empty line cancels): ", _make_guide)

    def _answer(
        self, text: str, question: str, make: Callable[[ui.MessageBody, str], Struct | None]
    ) -> None:
        halted = self._session.halted
        if halted is None:
            self._screen.write_line(
                "Only the message at which the agent is halted can be answered.", "yellow"
            )
            self._session.prompt()
        elif text.strip():
            self._send(halted, text, make)
        else:
            self._read_next_line(lambda line: self._send(halted, line, make))
            self._screen.show_prompt(question)

    def _send(
        self,
        halted: ui.MessageBody,
        text: str,
        make: Callable[[ui.MessageBody, str], Struct | None],
    ) -> None:
        if self._session.halted is not halted:
            self._screen.write_line(
                "The message was answered or edited meanwhile, so that nothing was sent.", "yellow"
            )
        elif not text.strip():
            self._screen.write_line("Nothing was sent.")
        elif command := make(halted, text.strip()):
            if isinstance(command, GuidePrompt):
                self._session.editing = halted.message
            self._session.send_command(command, self._show_edited)
            return
        self._session.prompt()

    def _make_skip(self, halted: ui.MessageBody, text: str) -> SkipCall | None:
        if problem := find_json_error(text):
            self._screen.write_line(
                f"The result isn't JSON: {problem}. A text stands in double quotes. Nothing was sent.",
                "red",
            )
            return None
        return SkipCall(
            run=halted.run, halt_point=halted.message, revision=halted.revision, result=text
        )

    def _show_edited(self, _: Struct) -> None:
        """Show a prompt with its guide; pushed messages report the effects of other answers."""
        edited, self._session.editing = self._session.editing, None
        if edited:
            self._session.show_message(edited)


def _make_denial(halted: ui.MessageBody, text: str) -> ui.DenyCall:
    return ui.DenyCall(
        run=halted.run, halt_point=halted.message, revision=halted.revision, reason=text
    )


def _make_error(halted: ui.MessageBody, text: str) -> RaiseError:
    named = _TYPE.fullmatch(text)
    return RaiseError(
        run=halted.run,
        halt_point=halted.message,
        revision=halted.revision,
        message=named[2] if named else text,
        type=named[1] if named else UNSET,
    )


def _make_guide(halted: ui.MessageBody, text: str) -> GuidePrompt:
    return GuidePrompt(
        run=halted.run, halt_point=halted.message, revision=halted.revision, text=text
    )
