"""Methods of others that are wrapped in their places, and how they are taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wrapt

#: Is called in a method's place, as wrapt does: with the method, its instance, and its arguments.
Wrapper = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


class _Patch(wrapt.FunctionWrapper):  # type: ignore[type-arg]  # generic in its stubs alone
    """A wrapper of ours, which is told apart from other packages'."""


class Patches:
    """The methods that are wrapped in this process."""

    def __init__(self) -> None:
        self._originals: dict[tuple[type, str], Any] = {}

    def wrap(self, owner: type, name: str, wrapper: Wrapper) -> None:
        """Wrap a method of a class, unless it is wrapped by us: two modules may be one library.

        A method that another package has wrapped is wrapped around that.

        Raises:
            KeyError: The class has no such method of its own.
        """
        original = vars(owner)[name]
        if (owner, name) not in self._originals and not isinstance(original, _Patch):
            self._originals[owner, name] = original
            setattr(owner, name, _Patch(original, wrapper))

    def undo(self) -> None:
        """Put each class's own methods back."""
        while self._originals:
            (owner, name), original = self._originals.popitem()
            setattr(owner, name, original)
