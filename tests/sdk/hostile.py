"""Values that do their worst while they are shown, each with what its mark says."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NoReturn


class FailingRepr:
    def __repr__(self) -> str:
        raise ValueError("no repr")


class EndlessRepr:
    def __repr__(self) -> str:
        return repr(self)


class LongRepr:
    def __repr__(self) -> str:
        return "x" * 1_000_000


class FailingAttributes:
    def __getattribute__(self, name: str) -> NoReturn:
        raise RuntimeError(name)


class FalseClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("who asks?")


class PretendsToBeADict:
    __class__ = dict  # type: ignore[assignment]


class FailingDict(dict[str, int]):
    def __iter__(self) -> Iterator[str]:
        raise RuntimeError

    def keys(self) -> NoReturn:
        raise RuntimeError


class FailingList(list[int]):
    def __iter__(self) -> Iterator[int]:
        raise RuntimeError


class Metaclass(type):
    def __getattr__(cls, name: str) -> NoReturn:
        raise RuntimeError(name)


class FailingMetaclass(metaclass=Metaclass):
    pass


class Unequal:
    def __eq__(self, other: object) -> bool:
        raise ValueError("The truth value is ambiguous")

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


@dataclasses.dataclass
class Unset:
    given: int
    never: int = dataclasses.field(init=False)


def circle() -> list[Any]:
    inside: list[Any] = []
    inside += [inside, inside]
    return inside


def ring() -> Pair:
    pair = Pair(1, None)
    pair.right = pair
    return pair


def tower(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def thicket(make: Any) -> Any:
    """A value of sixty levels, each of which holds the next twice: 2**60 places."""
    value: Any = "leaf"
    for _ in range(60):
        value = make(value, value)
    return value


HOSTILE: dict[str, Any] = {
    "a repr that fails": FailingRepr(),
    "a repr without end": EndlessRepr(),
    "a long repr": LongRepr(),
    "attributes that fail": FailingAttributes(),
    "a class that fails": FalseClass(),
    "no dict": PretendsToBeADict(),
    "a dict that fails": FailingDict(a=1),
    "a list that fails": FailingList([1]),
    "a metaclass that fails": FailingMetaclass(),
    "no truth": Unequal(),
    "a field that was never set": Unset(1),
    "a circle": circle(),
    "a ring of fields": ring(),
    "a tower": tower(100_000),
    "a thicket of lists": thicket(lambda one, other: [one, other]),
    "a thicket of fields": thicket(Pair),
    "a thicket of large texts": thicket(lambda one, other: ["x" * 1_000_000, one, other]),
    "a large text": "x" * (65 * 1024 * 1024),
    "a text of escapes": "\0" * (20 * 1024 * 1024),
    "large bytes": b"x" * 1_000_000,
    "not a number": [float("nan"), float("inf")],
    "a long integer": 10**5000,
    "numbers as keys": {1: {"x": None}},
    "a mark": {"$repr": "<a thing>", "$ref": 1},
    "half a character": "\ud800",
    "a type": Pair,
    "a generator": (each for each in "ab"),
}
