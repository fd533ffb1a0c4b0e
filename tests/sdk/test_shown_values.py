"""How single values look in the tree of variables, and which parts they have there."""

from __future__ import annotations

import weakref
from collections import UserDict
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from agentstepper_nb.sdk.inspection.value_children import Child, count_children, list_children
from agentstepper_nb.sdk.inspection.variable_texts import VariableDescriber
from agentstepper_nb.sdk.payload import PayloadEncoder


class OwnDict:
    """An object whose `__dict__` is no dict."""

    __dict__ = ("not", "a dict")  # type: ignore[assignment]


class ComputedDict:
    """An object whose `__dict__` is computed by the agent's code."""

    @property
    def __dict__(self) -> dict[str, int]:  # type: ignore[override]
        raise AssertionError("the agent's code ran")


class Proxy:
    """An object that says it is a dictionary, as proxies do."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return dict


class CountedMapping(UserDict[str, int]):
    """A mapping whose length is computed by the agent's code."""

    def __len__(self) -> int:
        raise AssertionError("the agent's code ran")


class Plain:
    """An object whose `__dict__` is of a dict's subclass."""

    def __init__(self) -> None:
        self.__dict__ = Members(a=1)


class Members(dict[str, int]):
    pass


class ComputedBases(type):
    """A metaclass that computes what classes tell of themselves."""

    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError("the agent's code ran")


class OwnBases(metaclass=ComputedBases):
    def __init__(self) -> None:
        self.a = 1


def make_dead_proxy() -> Any:
    return weakref.proxy(Plain())


def make_error() -> ValueError:
    error = ValueError("bad", 3)
    error.code = 7  # type: ignore[attr-defined]
    return error


@pytest.fixture
def describer() -> VariableDescriber:
    return VariableDescriber(PayloadEncoder())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({}, "{}"),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, "{'a': {'b': {'c': {'d': {…}}}}}"),
        (dict.fromkeys(range(10), 0), "{" + ", ".join(f"{n}: 0" for n in range(10)) + "}"),
        (dict.fromkeys(range(11), 0), "{" + ", ".join(f"{n}: 0" for n in range(10)) + ", …}"),
        ({"api_key": "sk-1", 2: "b"}, "{'api_key': [masked api_key], 2: 'b'}"),
        (b"a\xff", r"b'a\xff'"),
        (bytearray(b"ab"), "bytearray(b'ab')"),
        (b"x" * 9000, "b'" + "x" * 483 + "… (9,000 bytes)"),
        (bytearray(600), "bytearray(b'" + r"\x00" * 118 + r"\x… (600 bytes))"),
        ([b"password='x'"], """[b"password='[masked]'"]"""),
    ],
    ids=[
        "empty",
        "deep",
        "ten",
        "eleven",
        "secret",
        "bytes",
        "bytearray",
        "long",
        "long array",
        "secret bytes",
    ],
)
def test_containers_and_bytes_are_shown_in_short(
    describer: VariableDescriber, value: Any, shown: str
) -> None:
    assert describer.describe(Child("name", value)).value == shown


def test_values_after_those_that_took_too_long_are_not_read(
    describer: VariableDescriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describer, "_deadline", float("-inf"))  # the page's time is over
    texts = [describer.describe(Child("name", value)).value for value in ([1], "plain", None)]
    assert texts == ["<list, not read: the values before it took too long>", "'plain'", "None"]


@pytest.mark.parametrize(
    ("value", "children"),
    [
        (
            MappingProxyType({"a": 1, 2: "b"}),
            [Child("a", 1, is_key=True), Child(2, "b", is_key=True)],
        ),
        (make_error(), [Child("args", ("bad", 3)), Child("code", 7)]),
        (OwnDict(), []),
        (ComputedDict(), []),
        (Proxy(), []),
        (MappingProxyType(CountedMapping()), []),
        (MappingProxyType(MappingProxyType({"a": 1})), [Child("a", 1, is_key=True)]),
        (SimpleNamespace(a=1), [Child("a", 1)]),
        (Plain(), [Child("a", 1)]),
        (OwnBases(), [Child("a", 1)]),
    ],
    ids=[
        "mapping proxy",
        "exception",
        "no dict",
        "computed dict",
        "proxy",
        "own mapping",
        "proxy of a proxy",
        "namespace",
        "members",
        "computed bases",
    ],
)
def test_the_parts_of_a_value(value: Any, children: list[Child]) -> None:
    assert count_children(value) == len(children)
    assert list_children(value, 0, 10) == children
    assert list_children(value, 1, 1) == children[1:2]


def test_a_variable_that_computes_what_it_is_fails_no_page(describer: VariableDescriber) -> None:
    values = (make_dead_proxy(), OwnBases(), Proxy())
    shown = [describer.describe(Child("token", value)) for value in values]
    assert [each.masked for each in shown] == [False, False, True], "a proxy may stand for a text"
    assert [each.children for each in shown[:2]] == [0, 1]
