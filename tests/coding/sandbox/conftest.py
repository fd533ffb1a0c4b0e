"""A scene for each user that there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.coding.sandbox.home_folder import Scene
from tests.coding.sandbox.users import ORDINARY, THIS, User


@pytest.fixture(params=[THIS, pytest.param(ORDINARY, marks=pytest.mark.soak)])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = Scene(User(request.param))
    yield made
    made.remove()
