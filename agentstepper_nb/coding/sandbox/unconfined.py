"""No sandbox: a command may do what the user may do; its processes and resources are still held."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from ..tools.environment import environment
from .base import Access, Launch, ResourceLimits
from .launching import DAEMONS_STAY, launching, orders_of
from .limits import Limiter


class Unconfined:
    """Starts commands without any confinement, with the user's own HOME and temporary folder.

    Args:
        limits: What one command may use.
    """

    name: Literal["none"] = "none"

    def __init__(self, limits: ResourceLimits | None = None) -> None:
        self._limits = Limiter(limits or ResourceLimits())

    @property
    def gaps(self) -> tuple[str, ...]:
        """What isn't held: nothing is."""
        left = () if sys.platform == "linux" else (DAEMONS_STAY,)
        return (
            "Nothing confines commands: they read, change and delete what you can, and use the network.",
            "Approvals are no protection against a command itself: it can read the control token.",
            *left,
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """Which limits hold."""
        return self._limits.sentences

    @contextlib.contextmanager
    def command(self, words: Sequence[str], folder: Path, access: Access) -> Iterator[Launch]:
        """Prepare a command; see `Sandbox.command`. Nothing of `access` is enforced."""
        env = environment()
        with launching(orders_of(words, folder, env), env, self._limits) as launch:
            yield launch
