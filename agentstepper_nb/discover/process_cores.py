"""The Cores that run in this process: nothing but this process can find them, or their tokens."""

from __future__ import annotations

import os
import threading
from typing import Final

from .core_info import CoreInfo
from .tokens import CoreTokens

_lock = threading.Lock()
_cores: Final[dict[str, CoreInfo]] = {}


def add_process_core(
    url: str, tokens: CoreTokens, ui_url: str = "", data_dir: str = "", certificate: str = ""
) -> None:
    """Let this process find a Core of its own.

    Args:
        url: The Core's URL for agents.
        tokens: The Core's tokens.
        ui_url: The Core's URL for UIs.
        data_dir: The Core's data folder.
        certificate: The file with its TLS certificate; "" where it has none.
    """
    core = CoreInfo(os.getpid(), url, ui_url, data_dir, certificate=certificate, tokens=tokens)
    with _lock:
        _cores[url] = core


def remove_process_core(url: str) -> None:
    """Forget a Core that has stopped."""
    with _lock:
        _cores.pop(url, None)


def list_process_cores() -> list[CoreInfo]:
    """The Cores of this process."""
    with _lock:
        return list(_cores.values())


def _leave_to_parent() -> None:
    """Leave the Cores and their tokens, except agent tokens, to the parent process of a forked child."""
    global _lock
    _lock = threading.Lock()
    for url, core in list(_cores.items()):
        tokens = CoreTokens(agent=core.tokens.agent)
        _cores[url] = CoreInfo(core.pid, url, certificate=core.certificate, tokens=tokens)


os.register_at_fork(after_in_child=_leave_to_parent)
