"""One call of a model's: shown, asked for, carried out, and each of it in a person's hands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ...errors import InjectedError, ToolDeniedError
from ...llm_wire.conversation import ToolCall
from ...sdk.asking import DENIED
from .. import pieces
from .saying import Saying
from .tools import ArgumentsError, FunctionTool

if TYPE_CHECKING:
    from ...sdk.aclient import AsyncAgentStepper

#: Characters of a result that the model, and the conversation, are told.
LONGEST: Final = 100_000
#: How deep it may be nested, to be told as it is.
DEEPEST: Final = 50
#: Characters of a tool's name, and of a call's id, that are told.
_NAME: Final = 100
_ID: Final = 200
#: Characters of the arguments within a question to the person, who sees all of them in the call.
_SHOWN: Final = 500

_ALLOW: Final = "Allow"
_DENY: Final = "Deny"


@dataclass(frozen=True)
class Outcome:
    """What came of a call.

    Args:
        ok: Whether it went well.
        text: What the model is told.
    """

    ok: bool
    text: str


class _Doing:
    """A call that is being carried out.

    Args:
        name: The tool's name.
        args: The arguments: what the model wrote, or a person made of it.
        call_id: Its id; None where it has none.
        problem: Why it can't be carried out, whatever the tool says.
    """

    def __init__(self, name: str, args: Any, call_id: str | None, problem: str | None) -> None:
        self.name = name
        self.args = args
        self.call_id = call_id
        self.problem = problem
        self.told = False
        self.failed: Exception | None = None
        """What the tool failed by."""

    def edit(self, name: str, args: Any) -> None:
        """Take a person's edit, if there is one."""
        if name != self.name or args is not self.args:
            self.name, self.args, self.problem = name, args, None


class Calling:
    """Carries calls out.

    Args:
        tools: What there is, by name.
        confirm: The names of those that the person is asked about.
        dbg: The debugger that sees each call; None for none.
        saying: Whom to tell.
        name: Who calls.
    """

    def __init__(
        self,
        tools: Mapping[str, FunctionTool],
        confirm: frozenset[str],
        dbg: AsyncAgentStepper | None,
        saying: Saying,
        name: str,
    ) -> None:
        self._tools = tools
        self._confirm = confirm
        self._dbg = dbg
        self._saying = saying
        self._name = name

    async def carry_out(self, call: ToolCall) -> Outcome:
        """Carry one out. What goes wrong with it is what the model is told.

        Args:
            call: As the model wrote it.
        """
        args, problem = _parsed(call)
        doing = _Doing(call.name, args, call.call_id[:_ID] or None, problem)
        try:
            value = bounded(await self._done(doing))
        except (ToolDeniedError, InjectedError) as error:
            return self._failed(doing, _denied(error))
        except Exception as error:
            if error is not doing.failed:
                raise  # the debugger's, not the tool's
            return self._failed(doing, _explained(error))
        self._tell_call(doing)
        self._saying.say(pieces.result(doing.call_id, value))
        return Outcome(True, value if isinstance(value, str) else _as_json(value))

    def refuse(self, call: ToolCall, why: str) -> Outcome:
        """Don't carry one out: it is told with why not.

        Args:
            call: As the model wrote it.
            why: What the model, and the conversation, are told.
        """
        args, _ = _parsed(call)
        return self._failed(_Doing(call.name, args, call.call_id[:_ID] or None, None), why)

    async def _done(self, doing: _Doing) -> Any:
        if self._dbg is None:
            return await self._run(doing)
        async with self._dbg.tool(doing.name, doing.args) as event:
            doing.edit(event.name, event.args)
            if not event.skipped:
                event.result = await self._run(doing)
        return event.result

    async def _run(self, doing: _Doing) -> Any:
        self._tell_call(doing)
        try:
            tool = self._tools.get(doing.name)
            if doing.problem is not None:
                raise ArgumentsError(doing.problem)
            if tool is None:
                known = ", ".join(self._tools) or "none"
                raise ArgumentsError(f"There is no tool {doing.name!r}; there are: {known}.")
            if doing.name in self._confirm:
                await self._ask(doing)
            return await tool.call(doing.args)
        except (Exception, SystemExit) as error:
            doing.failed = error if isinstance(error, Exception) else RuntimeError(repr(error))
            raise doing.failed from None

    async def _ask(self, doing: _Doing) -> None:
        shown = _as_json(doing.args)
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}…"
        choice = await self._saying.ask(
            f"May {self._name} call {doing.name}?\n{shown}",
            (_ALLOW, _DENY),
            {"name": doing.name, "arguments": bounded(doing.args)},
        )
        if choice != _ALLOW:
            raise ToolDeniedError(DENIED)

    def _failed(self, doing: _Doing, why: str) -> Outcome:
        self._tell_call(doing)
        text = bounded(why)
        self._saying.say(pieces.result(doing.call_id, text, ok=False))
        return Outcome(False, str(text))

    def _tell_call(self, doing: _Doing) -> None:
        """Tell of the call, once, as it is in force."""
        if not doing.told:
            doing.told = True
            name = doing.name.strip()[:_NAME] or "?"  # a model may write anything
            self._saying.say(pieces.call(name, bounded(doing.args), call_id=doing.call_id))


def _parsed(call: ToolCall) -> tuple[Any, str | None]:
    """The arguments; where they are no JSON the text itself, and what is wrong with it."""
    try:
        return msgspec.json.decode(call.args_json or "{}"), None  # for none many write nothing
    except (ValueError, RecursionError) as error:
        return call.args_json, f"The arguments are not JSON: {error}. Write the call again."


def _denied(error: ToolDeniedError | InjectedError) -> str:
    if isinstance(error, InjectedError):
        return str(error)
    reason = str(error)
    return DENIED if reason in ("", DENIED) else f"The person denied this call: {reason}"


def _explained(error: Exception) -> str:
    if isinstance(error, ArgumentsError):
        return str(error)
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def bounded(value: Any) -> Any:
    """A JSON value; its text where it is too deep, without the middle where that is too long."""
    text = value if isinstance(value, str) else _as_json(value)
    if len(text) <= LONGEST:
        return value if _is_flat(value) else text
    half = LONGEST // 2
    return f"{text[:half]}\n… ({len(text) - LONGEST} characters left out) …\n{text[-half:]}"


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _is_flat(value: Any) -> bool:
    """Whether a JSON value isn't nested too deep."""
    level = [value]
    for _ in range(DEEPEST):
        inner = [each for each in level if isinstance(each, dict | list)]
        if not inner:
            return True
        level = [of for each in inner for of in (each.values() if isinstance(each, dict) else each)]
    return False
