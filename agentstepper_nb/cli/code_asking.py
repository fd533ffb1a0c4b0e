"""Asking for approvals in a terminal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ..coding.approvals import ApprovalRequest, Decision
from .code_lines import call_line
from .code_screen import FlowScreen
from .code_typed import Typed
from .editing import EditorError
from .text import complaint, folded, pretty

_KEYS: Final = "[y]es  [n]o WHY  [e]dit"
_HELP: Final = """\
y       let it happen
n WHY   no, and tell the model why
e       edit the arguments in $EDITOR; e {"…": …} takes them from the line
a       yes, and from now on without asking, as far as the rule says\
"""
_STYLES: Final = {"high": "red", "medium": "yellow", "low": "cyan"}


class TerminalApprover:
    """Asks who sits at the terminal; see `Approver`.

    Args:
        screen: Where to ask.
        typed: Where the answers come from.
        edit: Lets a person edit a text; it may block.
    """

    def __init__(self, screen: FlowScreen, typed: Typed, edit: Callable[[str], str]) -> None:
        self._screen = screen
        self._typed = typed
        self._edit = edit

    async def ask(self, request: ApprovalRequest) -> Decision:
        """Ask, until there is an answer."""
        say = self._screen.say
        say(f"Asks for approval · {request.risk} risk · {request.why}", _STYLES[request.risk])
        say(folded(pretty(json.dumps(request.args, ensure_ascii=False)), "e shows all of it"))
        question = _Question(request)
        self._typed.forget()
        try:
            while question.decision is None:
                self._screen.ask(question.prompt)
                line = await self._typed.line()
                self._screen.answered()
                await self._take(question, line)
        except asyncio.CancelledError:
            say("It was decided elsewhere, or the answer was cancelled.", "dim")
            raise
        return question.decision

    async def _take(self, question: _Question, line: str | None) -> None:
        if line is None:
            question.decision = Decision(approved=False, reason="The person closed the terminal.")
            return
        word, _, rest = line.strip().partition(" ")
        match word.lower():
            case "y" | "yes":
                question.approve(always=False)
            case "a" | "always" if question.request.rule is not None:
                question.approve(always=True)
            case "n" | "no":
                question.decision = Decision(approved=False, reason=rest.strip())
            case "e" | "edit":
                await self._take_edit(question, rest.strip())
            case "":
                pass
            case _:
                self._screen.say(_HELP, "dim")

    async def _take_edit(self, question: _Question, text: str) -> None:
        """Edit the arguments; the person then approves what they see."""
        if not text:
            begin = pretty(json.dumps(question.args, ensure_ascii=False))
            try:
                text = await asyncio.to_thread(self._edit, begin)
            except EditorError as error:
                self._screen.say(str(error), "red")
                return
        wrong = complaint(text)
        try:
            args = None if wrong is not None else msgspec.json.decode(text)
        except (ValueError, RecursionError) as error:  # numbers without end, half characters
            wrong = str(error)
        if wrong is not None:
            self._screen.say(f"This isn't JSON: {wrong}. Nothing was changed.", "red")
            return
        question.args = args
        self._screen.say(f"  now: {call_line(question.request.tool, question.args)}", "cyan")


class _Question:
    """One question, while it is answered."""

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        self.args: Any = request.args
        self.decision: Decision | None = None

    @property
    def prompt(self) -> str:
        rule = self.request.rule
        always = "" if rule is None else f"  [a]lways: {rule}"
        return f"{_KEYS}{always}: "

    def approve(self, always: bool) -> None:
        edited = self.args != self.request.args
        self.decision = Decision(approved=True, args=self.args, edited=edited, always=always)
