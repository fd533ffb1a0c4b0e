"""What the parts of the runtime work with."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...store.runtime.base import RuntimeStore
from .news import News

_NAMESPACE: Final = uuid.UUID("6c1f0c53-7a7e-4a52-9d4f-0f6f6f4b3d6e")


@dataclass(frozen=True)
class Kit:
    """What the parts of the runtime work with.

    Args:
        store: Keeps the rows.
        log: Gets what is passed over without an error.
        clock: Gives POSIX seconds.
        new_id: Gives ids.
        tell: Tells what became new. To be called right after the store has answered, so that it is
            told in the order in which it was kept.
        wake: Lets all dispatchers look for work.
    """

    store: RuntimeStore
    log: logging.Logger
    clock: Callable[[], float]
    new_id: Callable[[], str]
    tell: Callable[[News], None]
    wake: Callable[[], None]


def derived(*names: str) -> str:
    """An id that follows from names: who does the same again finds what it did.

    Args:
        names: What it is the id of.
    """
    return str(uuid.uuid5(_NAMESPACE, "\0".join(names)))
