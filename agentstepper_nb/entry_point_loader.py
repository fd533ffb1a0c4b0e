"""What installed packages bring: the objects that their entry points name, by group."""

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
    """The objects of one group of entry points. Each is loaded when it is asked for.

    Args:
        group: The group's name.
        kind: What one of them is called: `moniker`.
        check: Refuses an object that is none, by a TypeError which says what it is not.
    """

    def __init__(
        self, group: str, kind: str, check: Callable[[object], None] = lambda _: None
    ) -> None:
        self._group = group
        self._kind = kind
        self._check = check

    def names(self) -> list[str]:
        """The names that there are, sorted."""
        return sorted({point.name for point in _find_points(self._group)})

    def find(self, name: str, known: Iterable[str] = ()) -> T:
        """The object of a name.

        Args:
            name: The name.
            known: Further names, which who asks for one is told.

        Raises:
            CommandError: `invalid_message`: there is none of that name, which says those that there are;
                or it can't be used, which says why.
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
        """Use every object. One that can't be loaded or used is logged and left out.

        Args:
            handler: Called with the name and the object.
            log: Gets what failed.
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
    """The entry points of a group. The metadata of all packages is read again where one came or went."""
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
