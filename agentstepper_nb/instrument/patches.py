"""Methods of others that are wrapped in their places, and how they are taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wrapt

#: Is called in a method's place, as wrapt does: with the method, its instance, and its arguments.
Wrapper = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


class Patches:
    """The methods that are wrapped in this process."""

    def __init__(self) -> None:
        self._originals: list[tuple[type, str, Any]] = []

    def wrap(self, owner: type, name: str, wrapper: Wrapper) -> None:
        """Wrap a method of a class, unless it is wrapped: two modules may be one library.

        Raises:
            KeyError: The class has no such method of its own.
        """
        original = vars(owner)[name]
        if not isinstance(original, wrapt.FunctionWrapper):
            self._originals.append((owner, name, original))
            setattr(owner, name, wrapt.FunctionWrapper(original, wrapper))

    def undo(self) -> None:
        """Put each class's own methods back."""
        while self._originals:
            owner, name, original = self._originals.pop()
            setattr(owner, name, original)
