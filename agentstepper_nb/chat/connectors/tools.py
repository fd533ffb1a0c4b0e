"""Functions as tools of a model: described by their signatures, called with checked arguments."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from ...llm_wire.answers import clean
from ...llm_wire.conversation import ToolSpec
from ...sdk.pumps import in_thread
from .signatures import guarded, hints_of, is_one_of, name_of

#: What APIs take as a tool's name.
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REST: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
#: Defaults that a schema can say.
_PLAIN: Final = (str, int, float, bool, type(None))


class ArgumentsError(ValueError):
    """A model's arguments aren't those of the tool; says to it what is wrong."""


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
        name = name_of(function)
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} can't be a tool's name: use letters, digits, _ and -.")
        self._by_place: list[str] = []
        try:
            self._arguments = self._described(name)
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
        """Call it.

        Args:
            arguments: As the model, or a person, gave them: a JSON value.

        Returns:
            What it gave, as a JSON value: what JSON can't carry is told as text.

        Raises:
            ArgumentsError: These are no arguments for it.
        """
        try:
            checked = msgspec.convert(arguments, self._arguments)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ArgumentsError(f"The arguments can't be used: {error}.") from None
        named = {name: getattr(checked, name) for name in self._arguments.__struct_fields__}
        by_place = [named.pop(name) for name in self._by_place]
        run = partial(self._function, *by_place, **named)
        begins_nothing = is_one_of(self._function, inspect.iscoroutinefunction)
        given = run() if begins_nothing else await in_thread(partial(guarded, run))
        while inspect.isawaitable(given):
            given = await given
        return json_value(given)

    def _described(self, name: str) -> type[msgspec.Struct]:
        hints = hints_of(self._function)
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


def json_value(value: object) -> Any:
    """A value as JSON has it; what JSON can't carry is told as text."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return clean(str(value))


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
