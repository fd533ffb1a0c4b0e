"""A scene for each user that there is."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.coding.sandbox.scenes import (
    ORDINARY,
    THIS,
    HomeFolders,
    PythonUser,
    UserWorkspace,
    make_user_workspace,
)


@pytest.fixture(params=[THIS, pytest.param(ORDINARY, marks=pytest.mark.soak)])
def scene(request: pytest.FixtureRequest) -> Iterator[HomeFolders]:
    """A person's home, of each user."""
    yield from _make_home(request.param)


@pytest.fixture
def mine() -> Iterator[HomeFolders]:
    """A person's home, of whoever runs the tests."""
    yield from _make_home(THIS)


@pytest.fixture
def own() -> Iterator[UserWorkspace]:
    """A workspace of whoever runs the tests."""
    with make_user_workspace("root" if os.geteuid() == 0 else "ordinary") as made:
        yield made


def _make_home(user: str) -> Iterator[HomeFolders]:
    made = HomeFolders(PythonUser(user))
    yield made
    made.remove()
