"""The tables of a store in memory, made once for all tests of a process."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from threading import Lock
from typing import Any

import pytest

from agentstepper_nb.store.runtime.sqlite import runtime_file


@pytest.fixture(scope="session", autouse=True)
def cheap_starts() -> Iterator[None]:
    """Give each Core of this process a copy of the tables. Cores of other processes make theirs."""
    with pytest.MonkeyPatch.context() as patch, closing(runtime_file.open_writer(None)) as first:
        patch.setattr(runtime_file, "_in_memory", _copy(first))
        yield


def _copy(first: sqlite3.Connection) -> Any:
    """Give each store in memory the tables of a first one."""
    lock = Lock()

    def copy() -> sqlite3.Connection:
        made = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        with lock:
            first.backup(made)
        return made

    return copy
