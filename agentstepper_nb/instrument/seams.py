"""Which seams there are, and which of them are active in this process."""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import wrapt

log = logging.getLogger("agentstepper_nb.instrument")

_HTTP_LIBRARIES: Final = ("httpx", "httpx2")


@dataclass(frozen=True)
class Seam:
    """A library whose calls can halt.

    Args:
        library: Its name.
        is_active: Whether its calls halt wherever a run is open.
        reason: Why they don't.
    """

    library: str
    is_active: bool
    reason: str = ""


class _Wrapped:
    """What is wrapped just now; the lock is held while that changes."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_enabled = False
        self.has_hooks = False  # they can't be taken back, and look at `is_enabled`
        self.originals: list[tuple[type, Any]] = []  # each client class and its own `send`
        self.failures: dict[str, str] = {}


_wrapped = _Wrapped()


def enable() -> None:
    """Let each LLM query of this process halt where a run is open, whatever library asks.

    Libraries that are imported later are wrapped then. A second call changes nothing.
    """
    with _wrapped.lock:
        _wrapped.is_enabled = True
        has_hooks, _wrapped.has_hooks = _wrapped.has_hooks, True
    for name in _HTTP_LIBRARIES:
        if not has_hooks:
            wrapt.register_post_import_hook(_on_import, name)
        elif name in sys.modules:
            _on_import(sys.modules[name])


def disable() -> None:
    """Take back what `enable` did: each library's own functions stand in their places again."""
    with _wrapped.lock:
        _wrapped.is_enabled = False
        originals, _wrapped.originals = _wrapped.originals, []
        _wrapped.failures.clear()
    for client, send in originals:
        client.send = send  # type: ignore[attr-defined]


def list_seams() -> list[Seam]:
    """The libraries whose calls can halt, and whether they do in this process."""
    return [_describe(name) for name in _HTTP_LIBRARIES]


def _describe(name: str) -> Seam:
    if not _wrapped.is_enabled:
        return Seam(
            name, False, "Instrumentation is off: call agentstepper_nb.instrument.enable()."
        )
    if name in _wrapped.failures:
        return Seam(name, False, _wrapped.failures[name])
    if name not in sys.modules:
        return Seam(name, False, "Nothing has imported it yet.")
    return Seam(name, True)


def _on_import(library: ModuleType) -> None:
    """Wrap a library that was imported. Never raises: an agent's import must not fail by ours."""
    if not _wrapped.is_enabled:
        return
    try:
        from .http_seam import wrap_clients

        with _wrapped.lock:
            _wrapped.originals += wrap_clients(library)
    except Exception as error:
        _wrapped.failures[library.__name__] = f"It can't be wrapped: {error!r}."
        log.warning("LLM queries through %s won't halt.", library.__name__, exc_info=True)
