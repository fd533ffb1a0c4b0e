"""Functions as tools of a model, and its calls of them, which a person may see, allow and edit."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ... import typed_json
from ...errors import InjectedError, ToolDeniedError
from ...llm_wire.answer_builder import replace_surrogates
from ...llm_wire.conversation import ToolCall, ToolSpec
from ...sdk.flow_effects import DENIED_MESSAGE
from .. import outputs
from ..answer_adapter import start_function
from ..streams import AnswerChannel
from .function_agent import find_function_name, find_type_hints
from .model_prompts import shorten_text

if TYPE_CHECKING:
    from ...sdk.async_stepper import AsyncAgentStepper

#: Characters of a result that the model, and the conversation, are told.
MAX_VALUE_CHARS: Final = 100_000
#: The deepest nesting of a value that is converted to JSON without becoming text.
MAX_VALUE_DEPTH: Final = 50
#: Characters of a tool's name, and of a call's id, that are told.
_MAX_NAME_CHARS: Final = 100
_MAX_ID_CHARS: Final = 200
#: The most characters of the arguments in a confirmation. The call shows all arguments.
_MAX_SHOWN_CHARS: Final = 500


class CallPermission(StrEnum):
    """The choices of a person who is asked about a call."""

    ALLOW = "Allow"
    DENY = "Deny"


@dataclass(frozen=True)
class CallOutcome:
    """The outcome of a tool call.

    Args:
        ok: Whether the call succeeded.
        text: The result for the model.
    """

    ok: bool
    text: str


class _RunningCall:
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
        self.is_sent = False
        self.tool_error: Exception | None = None
        """What the tool failed by."""

    def edit(self, name: str, args: Any) -> None:
        """Apply a person's edit, if there is one."""
        if name != self.name or args is not self.args:
            self.name, self.args, self.problem = name, args, None


class FunctionCaller:
    """Executes a model's tool calls.

    Args:
        tools: The tools, by name.
        confirm: The names of the tools whose calls a person must confirm.
        dbg: The AgentStepper that traces each call; None: calls aren't traced.
        channel: The channel of the answer.
        name: The agent's name.
    """

    def __init__(
        self,
        tools: Mapping[str, FunctionTool],
        confirm: frozenset[str],
        dbg: AsyncAgentStepper | None,
        channel: AnswerChannel,
        name: str,
    ) -> None:
        self._tools = tools
        self._confirm = confirm
        self._dbg = dbg
        self._channel = channel
        self._name = name

    async def execute(self, call: ToolCall) -> CallOutcome:
        """Execute a call. An error becomes the call's result for the model.

        Args:
            call: The model's call.
        """
        args, problem = _parse_arguments(call)
        running = _RunningCall(call.name, args, call.call_id[:_MAX_ID_CHARS] or None, problem)
        try:
            value = limit_json_value(await self._execute_recorded(running))
        except (ToolDeniedError, InjectedError) as error:
            return self._send_failure(running, _format_denial(error))
        except Exception as error:
            if error is not running.tool_error:
                raise  # the debugger's, not the tool's
            return self._send_failure(running, _format_error(error))
        self._send_call(running)
        self._channel.send(outputs.result(running.call_id, value))
        return CallOutcome(True, value if isinstance(value, str) else _as_json(value))

    def refuse(self, call: ToolCall, why: str) -> CallOutcome:
        """Record a call that isn't executed, with the reason.

        Args:
            call: The model's call.
            why: The reason, for the model and the conversation.
        """
        args, _ = _parse_arguments(call)
        return self._send_failure(
            _RunningCall(call.name, args, call.call_id[:_MAX_ID_CHARS] or None, None), why
        )

    async def _execute_recorded(self, running: _RunningCall) -> Any:
        if self._dbg is None:
            return await self._run(running)
        async with self._dbg.tool(running.name, running.args) as event:
            running.edit(event.name, event.args)
            if not event.skipped:
                event.result = await self._run(running)
        return event.result

    async def _run(self, running: _RunningCall) -> Any:
        self._send_call(running)
        try:
            tool = self._tools.get(running.name)
            if running.problem is not None:
                raise ArgumentsError(running.problem)
            if tool is None:
                known = ", ".join(self._tools) or "none"
                raise ArgumentsError(f"There is no tool {running.name!r}; there are: {known}.")
            if running.name in self._confirm:
                await self._request_confirmation(running)
            return await tool.call(running.args)
        except (Exception, SystemExit) as error:
            running.tool_error = (
                error if isinstance(error, Exception) else RuntimeError(repr(error))
            )
            raise running.tool_error from None

    async def _request_confirmation(self, running: _RunningCall) -> None:
        shown = _as_json(running.args)
        if len(shown) > _MAX_SHOWN_CHARS:
            shown = f"{shown[:_MAX_SHOWN_CHARS]}…"
        choice = await self._channel.request_choice(
            f"May {self._name} call {running.name}?\n{shown}",
            tuple(CallPermission),
            {"name": running.name, "arguments": limit_json_value(running.args)},
        )
        if CallPermission(choice) is not CallPermission.ALLOW:
            raise ToolDeniedError(DENIED_MESSAGE, "")

    def _send_failure(self, running: _RunningCall, why: str) -> CallOutcome:
        self._send_call(running)
        text = limit_json_value(why)
        self._channel.send(outputs.result(running.call_id, text, ok=False))
        return CallOutcome(False, str(text))

    def _send_call(self, running: _RunningCall) -> None:
        """Tell of the call, once, as it is in force."""
        if not running.is_sent:
            running.is_sent = True
            name = running.name.strip()[:_MAX_NAME_CHARS] or "?"  # a model may write anything
            self._channel.send(
                outputs.call(name, limit_json_value(running.args), call_id=running.call_id)
            )


def _parse_arguments(call: ToolCall) -> tuple[Any, str | None]:
    """The arguments; where they are no JSON the text itself, and what is wrong with it."""
    try:
        return msgspec.json.decode(call.args_json or "{}"), None  # for none many write nothing
    except (ValueError, RecursionError) as error:
        return call.args_json, f"The arguments are not JSON: {error}. Write the call again."


def _format_denial(error: ToolDeniedError | InjectedError) -> str:
    if isinstance(error, InjectedError):
        return str(error)
    return f"The person denied this call: {error.reason}" if error.reason else DENIED_MESSAGE


def _format_error(error: Exception) -> str:
    if isinstance(error, ArgumentsError):
        return str(error)
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def limit_json_value(value: Any) -> Any:
    """A JSON value; its text where it is too deep, without the middle where that is too long."""
    text = value if isinstance(value, str) else _as_json(value)
    if len(text) <= MAX_VALUE_CHARS and _is_flat(value):
        return value
    return shorten_text(text, MAX_VALUE_CHARS)


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _is_flat(value: Any) -> bool:
    """Whether a JSON value isn't nested too deep."""
    level = [value]
    for _ in range(MAX_VALUE_DEPTH):
        inner = [each for each in level if isinstance(each, dict | list)]
        if not inner:
            return True
        level = [of for each in inner for of in (each.values() if isinstance(each, dict) else each)]
    return False


#: The tool names that all APIs accept.
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REST: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
#: Defaults that a schema can say.
_PLAIN: Final = (str, int, float, bool, type(None))


class ArgumentsError(ValueError):
    """A model's arguments don't fit the tool. The message is for the model."""


class FunctionTool:
    """A function that a model may call.

    Its parameters' annotations say what the model is to give (one without any takes any JSON value), and
    what it gives is checked by them; its docstring says what it does. A sync one runs on a thread.

    Args:
        function: The function.

    Raises:
        ValueError: It can't be described: its name, or the type of a parameter.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        name = find_function_name(function)
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid tool name: use letters, digits, _ and -.")
        self._by_place: list[str] = []
        try:
            self._arguments = self._described(name)
            typed_json.make_decoder(self._arguments)  # its plan, before threads use it
            schema = _schema(self._arguments)
        except (TypeError, ValueError) as error:
            text = f"The tool {name} can't be described to a model: {error}"
            raise ValueError(text) from error
        doc = inspect.getdoc(function) if inspect.isroutine(function) else type(function).__doc__
        self.spec = ToolSpec(
            name=name, description=inspect.cleandoc(doc or ""), input_schema=schema
        )
        """As the model is told of it."""

    async def call(self, arguments: Any) -> Any:
        """Call the function.

        Args:
            arguments: The arguments from the model or a person: a JSON value.

        Returns:
            The function's result as a JSON value. A value that JSON can't encode becomes text.

        Raises:
            ArgumentsError: The arguments don't fit the function.
        """
        try:
            # Planned above; typed_json would keep the class.
            checked = msgspec.convert(arguments, self._arguments)  # noqa: TID251
        except (msgspec.ValidationError, RecursionError) as error:
            raise ArgumentsError(f"The arguments can't be used: {error}.") from None
        named = {name: getattr(checked, name) for name in self._arguments.__struct_fields__}
        by_place = [named.pop(name) for name in self._by_place]
        run = partial(self._function, *by_place, **named)
        given = start_function(self._function, run)
        while inspect.isawaitable(given):
            given = await given
        return to_json_value(given)

    def _described(self, name: str) -> type[msgspec.Struct]:
        hints = find_type_hints(self._function)
        fields: list[Any] = []
        for parameter in inspect.signature(self._function).parameters.values():
            if parameter.kind in _REST:
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._by_place.append(parameter.name)
            hint = hints.get(parameter.name, Any)
            if parameter.default is parameter.empty:
                fields.append((parameter.name, hint))
            else:
                fields.append((parameter.name, hint, _default(parameter.default)))
        return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def to_json_value(value: object) -> Any:
    """Convert a value to a JSON value. A value that JSON can't encode becomes text."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return replace_surrogates(str(value))


def _default(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    return msgspec.field(default_factory=partial(copy.deepcopy, value))


def _schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of an object; what it refers to stands within it."""
    (whole,), parts = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    own = whole["$ref"].rpartition("/")[2]
    schema = {key: value for key, value in parts.pop(own).items() if key != "title"}
    return {**schema, "$defs": parts} if parts else schema
