"""Archives that are damaged, by the thousand; `make test` takes some of them."""

from __future__ import annotations

from tests.unit.store.test_archive import takes_or_refuses


def test_two_thousand_damaged_archives_are_refused_or_sound() -> None:
    takes_or_refuses(range(2000))
