"""Registries that extensions add to: the roles of agents, and the types of messages.

An installed package adds roles and types by an entry point that names a function without arguments,
which calls `add_role` and `add_message_type`::

    [project.entry-points."agentstepper_nb.chat_words"]
    review = "my_package:add_words"

The function is called once, on the first lookup. A notebook just calls `add_role` and
`add_message_type`.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from ..entry_point_loader import EntryPointLoader
from ..errors import ProtocolError

#: The entry points of packages that bring words.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.chat_words"

_WORD: Final = re.compile(r"[A-Z][A-Z0-9_]{0,99}", re.ASCII)
_log: Final = logging.getLogger("agentstepper_nb.chat")


class NamedEntry(Protocol):
    """An entry: it has its word."""

    @property
    def name(self) -> str:
        """The word."""


Entry = TypeVar("Entry", bound=NamedEntry)


class ExtensionRegistry(Generic[Entry]):
    """Entries by their words. Safe from any thread.

    Args:
        kind: What the words are, to be named in errors: "role".
        field: The field they stand in, to be named likewise.
        built_in: The entries that come with the package. They can't be replaced.
    """

    def __init__(self, kind: str, field: str, built_in: tuple[Entry, ...]) -> None:
        self._kind = kind
        self._field = field
        self._entries = {entry.name: entry for entry in built_in}
        self._built_in = frozenset(self._entries)

    def add(self, entry: Entry) -> None:
        """Add an entry. One that was added before by that word is replaced: a cell may run twice.

        Raises:
            ValueError: Its word is none, or is built in.
        """
        if not _WORD.fullmatch(entry.name):
            raise ValueError(
                f"{entry.name!r} is no valid name of a {self._kind}: use capitals, digits "
                "and underscores, for example “CRITIC”."
            )
        if entry.name in self._built_in:
            raise ValueError(f"The {self._kind} {entry.name} is built in: choose another name.")
        self._entries = {**self._entries, entry.name: entry}  # whoever reads has the old or the new

    def get(self, name: str) -> Entry:
        """The entry of a word.

        Raises:
            ProtocolError: `invalid_message`: there is none, which says those that there are.
        """
        entry = self._entries.get(name)
        if entry is None:  # the built-in ones need no extension
            _extensions.load()
            entry = self._entries.get(name)
        if entry is None:
            text = (
                f"There is no {self._kind} {_short(name)}; there are: {', '.join(self._entries)}."
            )
            raise ProtocolError("invalid_message", text, field=self._field)
        return entry

    def names(self) -> tuple[str, ...]:
        """Every word, the built-in ones first."""
        _extensions.load()
        return tuple(self._entries)

    @property
    def built_in(self) -> frozenset[str]:
        """The words that come with the package."""
        return self._built_in


class _Extensions:
    """What installed packages add, once."""

    def __init__(self) -> None:
        # An extension may itself ask for a word: on its thread it finds what is there so far.
        self._lock = threading.RLock()
        self._begun = False

    def load(self) -> None:
        """Call the functions of installed packages, once."""
        with self._lock:
            if self._begun:
                return
            self._begun = True
            named = EntryPointLoader[Callable[[], None]](ENTRY_POINT_GROUP, "chat extension")
            named.load_each(lambda _, add: add(), _log)


def _short(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 100 else f"{text[:99]}…"


_extensions: Final = _Extensions()
