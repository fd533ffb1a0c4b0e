"""Asking for approvals in a terminal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ..coding.approvals import ApprovalDecision, ApprovalRequest
from ..coding.tool import Risk
from .approval_commands import choose_confirmation_words, make_confirmation_prompt
from .code_view import format_call, format_proposal
from .json_editor import EditorError
from .line_input import LinePrompter
from .screen import Screen, ScreenPrompt
from .terminal_text import find_json_error, fold_text, indent_json

_KEYS: Final = "[a]pprove  [n]o WHY  [e]dit"
_HELP: Final = """\
a, y      approve: let it happen; of high risk it asks again, for the tool's name
a always  approve, and from now on without asking, as far as the rule says
n WHY     no, and tell the model why; so does deny WHY
e         edit the arguments in $EDITOR; e {"…": …} takes them from the line\
"""
_ALWAYS: Final = "always"
_STYLES: Final = {"high": "red", "medium": "yellow", "low": "cyan"}


class TerminalApprover:
    """Asks the person at the terminal for approvals; see `Approver`.

    Args:
        screen: The screen for the questions.
        keyboard: Reads the answers.
        edit: Lets a person edit a text; it may block.
    """

    name: Final = "terminal"

    def __init__(self, screen: Screen, keyboard: LinePrompter, edit: Callable[[str], str]) -> None:
        self._screen = screen
        self._keyboard = keyboard
        self._edit = edit

    async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask until there is an answer."""
        write_line = self._screen.write_line
        write_line(
            f"Asks for approval · {request.risk} risk · {request.policy_reason}",
            _STYLES[request.risk],
        )
        self._show(request)
        question = _PendingQuestion(request)
        self._keyboard.discard_input()
        try:
            while question.decision is None:
                await self._accept_answer(
                    question, await self._keyboard.read_line(ScreenPrompt(question.prompt))
                )
        except asyncio.CancelledError:
            write_line(
                "The call was already answered elsewhere, or the agent's answer was cancelled.",
                "dim",
            )
            raise
        return question.decision

    def _show(self, request: ApprovalRequest) -> None:
        """Show the call: its change as a diff where it is one, else its arguments."""
        diff = list(format_proposal(request.tool, request.args))
        if diff:
            self._screen.write_line(format_call(request.tool, request.args))
            for line, style in diff:
                self._screen.write_line(line, style)
            return
        text = indent_json(json.dumps(request.args, ensure_ascii=False))
        self._screen.write_line(fold_text(text, "e shows all of it"))

    async def _accept_answer(self, question: _PendingQuestion, line: str | None) -> None:
        if line is None:
            question.decision = ApprovalDecision(
                approved=False, reason="The person closed the terminal."
            )
            return
        word, _, rest = line.strip().partition(" ")
        match word.lower():
            case "a" | "approve" | "y" | "yes" if rest.strip() in ("", question.always):
                await self._approve(question, always=bool(rest.strip()))
            case "n" | "no" | "deny":
                question.decision = ApprovalDecision(approved=False, reason=rest.strip())
            case "e" | "edit":
                await self._accept_edit(question, rest.strip())
            case "":
                pass
            case _:
                self._screen.write_line(_HELP, "dim")

    async def _approve(self, question: _PendingQuestion, *, always: bool) -> None:
        """Approve; of high risk, once the person has confirmed it by another gesture."""
        if question.request.risk is Risk.HIGH:
            words = choose_confirmation_words(question.request.tool)
            line = await self._keyboard.read_line(ScreenPrompt(make_confirmation_prompt(words)))
            if line is None or line.strip() != words:
                self._screen.write_line("Nothing was approved.")
                return
        question.approve(always=always)

    async def _accept_edit(self, question: _PendingQuestion, text: str) -> None:
        """Edit the arguments; the person then approves the edited call."""
        if not text:
            begin = indent_json(json.dumps(question.args, ensure_ascii=False))
            try:
                text = await asyncio.to_thread(self._edit, begin)
            except EditorError as error:
                self._screen.write_line(str(error), "red")
                return
        wrong = find_json_error(text)
        try:
            args = None if wrong is not None else msgspec.json.decode(text)
        except (ValueError, RecursionError) as error:  # numbers without end, half characters
            wrong = str(error)
        if wrong is not None:
            self._screen.write_line(
                f"The arguments aren't JSON: {wrong}. Nothing was changed.", "red"
            )
            return
        question.args = args
        self._screen.write_line(
            f"  now: {format_call(question.request.tool, question.args)}", "cyan"
        )


class _PendingQuestion:
    """One open question."""

    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        self.args: Any = request.args
        self.decision: ApprovalDecision | None = None

    @property
    def prompt(self) -> str:
        always = f"  [a always]: {self.request.rule}" if self.always else ""
        return f"{_KEYS}{always}: "

    @property
    def always(self) -> str:
        """The word that approves similar calls as well; "" if no rule can."""
        return "" if self.request.rule is None else _ALWAYS

    def approve(self, *, always: bool) -> None:
        edited = self.args != self.request.args
        self.decision = ApprovalDecision(
            approved=True, args=self.args, edited=edited, always=always
        )
