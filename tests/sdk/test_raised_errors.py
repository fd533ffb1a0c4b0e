"""Exceptions made by name: only of classes that this process has loaded, and without their code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.sdk.raised_errors import describe_signal, find_error_class, make_signal


class Submitted(Exception):
    """A framework's exception, which wants more than a message."""

    def __init__(self, answer: str, *, cost: float) -> None:
        super().__init__(answer)
        self.cost = cost

    class Nested(Exception):
        pass


def sent(error: BaseException) -> Any:
    """What a replay reads of a framework's exception."""
    return json.loads(json.dumps(describe_signal(error)))


def test_a_framework_s_exception_is_raised_again_with_its_state() -> None:
    error = Submitted("the patch", cost=0.5)
    error.add_note("for a person")
    made = make_signal(sent(error))
    assert isinstance(made, Submitted)
    assert (made.args, vars(made)) == (("the patch",), {"cost": 0.5})


@pytest.mark.parametrize(
    "signal",
    [
        sent(Submitted("the patch", cost=object())),  # type: ignore[arg-type]
        {"type": "not.loaded.Here", "args": [], "state": {}},
        {"type": "KeyboardInterrupt", "args": [], "state": {}},
        None,
    ],
    ids=["no JSON", "not loaded", "no Exception", "null"],
)
def test_a_signal_that_can_not_be_made_again_is_none(signal: Any) -> None:
    assert make_signal(signal) is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ValueError", ValueError),
        ("json.decoder.JSONDecodeError", json.JSONDecodeError),
        (f"{__name__}.Submitted.Nested", Submitted.Nested),
        ("math.pi.Error", None),  # a number has no attributes of its own
        ("math.nothing", None),
        ("json.loads", None),
        ("SystemExit", None),
        ("StopIteration", None),  # Python takes it for the end of a loop
    ],
)
def test_an_error_class_is_found_where_its_name_stands(name: str, found: Any) -> None:
    assert find_error_class(name) is found
