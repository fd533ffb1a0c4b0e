"""Which of many alike are tested each time, and which by `make soak` alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def select_sample(values: Iterable[str | int], *each_time: str | int) -> list[Any]:
    """All values as parameters; those that aren't named here are marked as long."""
    every = list(values)
    assert set(each_time) <= set(every), "a name that isn't among them"
    return [
        value if value in each_time else pytest.param(value, marks=pytest.mark.soak)
        for value in every
    ]
