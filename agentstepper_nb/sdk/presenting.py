"""A call's arguments and result as JSON, and edits of them back as arguments.

Traced functions weren't written for JSON. What JSON can't carry is shown as `{"$repr": "…", "$ref": 1}`:
to look at, not to edit. Where such a mark comes back it stands for the object itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from .jsontext import Dumper, ToJson, dump, load, same

_REPR: Final = "$repr"
_REF: Final = "$ref"
_LONGEST_REPR: Final = 10_000
_DEEPEST: Final = 100


class Shown(NamedTuple):
    """A value as JSON, and the objects that its marks stand for."""

    value: Any
    objects: list[Any]


class Presenter:
    """Shows values as JSON.

    Args:
        to_json: The agent's hook, asked before a mark is made.
    """

    def __init__(self, to_json: ToJson | None) -> None:
        self._dumper = Dumper(to_json)

    def show(self, value: Any, limit: int | None = None) -> Shown:
        """Show a value as JSON; never fails.

        Args:
            value: The value. A dict is one of arguments, each shown for itself.
            limit: Show what would be longer, in characters, as a mark.
        """
        objects: list[Any] = []
        shown = self._show(value, objects)
        if limit is not None:
            shown = self._shorten(value, shown, objects, limit)
        return Shown(shown, objects)

    def _show(self, value: Any, objects: list[Any], depth: int = 0) -> Any:
        if depth < _DEEPEST:
            if isinstance(value, dict) and all(isinstance(key, str) for key in value):
                return {key: self._show(item, objects, depth + 1) for key, item in value.items()}
            if isinstance(value, list | tuple):
                return [self._show(item, objects, depth + 1) for item in value]
            if value is None or isinstance(value, str | bool):
                return value
            try:
                return load(self._dumper.dump(value))
            except TypeError:
                pass
        return _mark(value, objects)

    def _shorten(self, value: Any, shown: Any, objects: list[Any], limit: int) -> Any:
        if isinstance(value, dict) and isinstance(shown, dict):
            return {
                key: self._shorten_one(value[key], item, objects, limit)
                for key, item in shown.items()
            }
        return self._shorten_one(value, shown, objects, limit)

    def _shorten_one(self, value: Any, shown: Any, objects: list[Any], limit: int) -> Any:
        return shown if len(dump(shown)) <= limit else _mark(value, objects)


def _mark(value: Any, objects: list[Any]) -> dict[str, Any]:
    objects.append(value)
    return {_REPR: _repr(value), _REF: len(objects)}


def restore(value: Any, objects: list[Any]) -> Any:
    """Give an edited JSON value with the objects where their marks stand."""
    if isinstance(value, dict):
        number = value.get(_REF)
        if _REPR in value and isinstance(number, int) and 0 < number <= len(objects):
            return objects[number - 1]
        return {key: restore(item, objects) for key, item in value.items()}
    if isinstance(value, list):
        return [restore(item, objects) for item in value]
    return value


class Arguments:
    """One call's arguments, by the names that the function gives them.

    Args:
        function: What is called, bound where it is a method.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._signature = _signature(function)
        self.args = args
        self.kwargs = kwargs
        self.named = self._bind()

    def _bind(self) -> dict[str, Any]:
        """The arguments by name; a call that doesn't fit is left to the function to complain about."""
        if self._signature is not None:
            try:
                return dict(self._signature.bind(*self.args, **self.kwargs).arguments)
            except TypeError:
                self._signature = None
        return {"args": self.args, "kwargs": self.kwargs}

    def edited(self, edit: dict[str, Any], sent: dict[str, Any], objects: list[Any]) -> Arguments:
        """The call with an edit: only the parameters that differ from what was sent are replaced.

        Args:
            edit: The edited arguments.
            sent: The arguments as they were sent.
            objects: What the marks in them stand for.
        """
        named = {
            name: self.named[name]
            if name in sent and name in self.named and same(item, sent[name])
            else restore(item, objects)
            for name, item in edit.items()
        }
        new = object.__new__(Arguments)
        new._signature, new.named = self._signature, named
        new.args, new.kwargs = self._spread(named)
        return new

    def _spread(self, named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self._signature is None:
            return tuple(named.get("args", ())), dict(named.get("kwargs", {}))
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        rest = dict(named)
        skipped = False  # a parameter before was left out: from here on by name
        for parameter in self._signature.parameters.values():
            if parameter.name not in rest:
                skipped = True
                continue
            value = rest.pop(parameter.name)
            if parameter.kind is parameter.VAR_POSITIONAL:
                args += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                kwargs.update(value)
            elif parameter.kind is parameter.KEYWORD_ONLY or (
                skipped and parameter.kind is not parameter.POSITIONAL_ONLY
            ):
                kwargs[parameter.name] = value
            else:
                args.append(value)
        # Names that the function doesn't have: it says so itself.
        return tuple(args), {**kwargs, **rest}


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__} whose repr fails>"
    return text if len(text) <= _LONGEST_REPR else text[:_LONGEST_REPR] + "…"
