"""The arguments of a call by name, and the conversion of an edit back into arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class CallArguments:
    """The arguments of a call, by the function's parameter names.

    Args:
        function: The called function; a method is bound.
        args: The call's positional arguments.
        kwargs: The call's keyword arguments.
    """

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.function = function
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

    def with_named(self, named: dict[str, Any]) -> CallArguments:
        """The call with other arguments.

        Args:
            named: The arguments by name.

        Raises:
            TypeError: The function doesn't take them.
        """
        new = object.__new__(CallArguments)
        new.function, new._signature, new.named = self.function, self._signature, named
        new.args, new.kwargs = self._spread(named)
        if self._signature is not None:
            self._signature.bind(*new.args, **new.kwargs)
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
