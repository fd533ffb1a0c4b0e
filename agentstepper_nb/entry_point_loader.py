"""Loads the extensions of installed packages: the objects that their entry points name, by group."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from .errors import CommandError

T = TypeVar("T")


class EntryPointLoader(Generic[T]):
    """The objects of one group of entry points. Each is loaded on use.

    Args:
        group: The group's name.
        kind: The name for one of the objects in messages: `moniker`.
        check: Raises a TypeError for an object of another kind, whose message says what it lacks.
    """

    def __init__(
        self, group: str, kind: str, check: Callable[[object], None] = lambda _: None
    ) -> None:
        self._group = group
        self._kind = kind
        self._check = check

    def names(self) -> list[str]:
        """Return the available names, sorted."""
        return sorted({point.name for point in _find_points(self._group)})

    def find(self, name: str, known: Iterable[str] = ()) -> T:
        """Load the object with a name.

        Args:
            name: The name.
            known: Further names, which the error message lists.

        Raises:
            CommandError: `invalid_message`: no object has that name, and the message lists the names; or
                the object can't be used, and the message says why.
        """
        for point in _find_points(self._group):
            if point.name == name:
                return self._loaded(point)
        names = ", ".join([*known, *(each for each in self.names() if each not in known)])
        text = f"There is no {self._kind} {_short(name)}; there are: {names or 'none'}."
        raise CommandError("invalid_message", text)

    def load_all(self) -> dict[str, T]:
        """Every object that can be used, by its name."""
        found: dict[str, T] = {}
        for point in sorted(_find_points(self._group), key=lambda point: point.name):
            try:
                found.setdefault(point.name, self._loaded(point))
            except CommandError:
                continue
        return found

    def load_each(self, handler: Callable[[str, T], None], log: logging.Logger) -> None:
        """Pass every object to a handler. An object that can't be loaded or used is logged and left out.

        Args:
            handler: Called with the name and the object.
            log: Receives the failures.
        """
        for point in _find_points(self._group):
            try:
                made = point.load()
                self._check(made)
                handler(point.name, cast(T, made))
            except Exception:  # whatever their code does
                log.exception("The %s %s can't be used and is left out.", self._kind, point.name)

    def _loaded(self, point: EntryPoint) -> T:
        try:
            made: Any = point.load()
        except Exception as error:  # whatever their code does
            raise self._unusable(point, repr(error)) from error
        try:
            self._check(made)
        except TypeError as error:
            raise self._unusable(point, str(error)) from None
        return cast(T, made)

    def _unusable(self, point: EntryPoint, why: str) -> CommandError:
        text = f"The {self._kind} {point.name!r}, which is {point.value}, can't be used: {why}"
        return CommandError("invalid_message", text)


def _find_points(group: str) -> EntryPoints:
    """List a group's entry points. All packages' metadata is read again when a package was installed."""
    return _read_points(group, tuple((path, _read_time(path)) for path in sys.path))


@lru_cache(maxsize=32)
def _read_points(group: str, folders: tuple[tuple[str, int], ...]) -> EntryPoints:
    return entry_points(group=group)


def _read_time(path: str) -> int:
    """When a folder was changed, in ns; 0: there is none."""
    try:
        return Path(path).stat().st_mtime_ns  # "": the current folder
    except OSError:
        return 0


def _short(word: str) -> str:
    text = repr(word)
    return text if len(text) <= 100 else f"{text[:99]}…"
