"""A scene for each user that there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.coding.sandbox.home_folder import HomeFolders
from tests.coding.sandbox.users import ORDINARY, THIS, PythonUser


@pytest.fixture(params=[THIS, pytest.param(ORDINARY, marks=pytest.mark.soak)])
def scene(request: pytest.FixtureRequest) -> Iterator[HomeFolders]:
    made = HomeFolders(PythonUser(request.param))
    yield made
    made.remove()
