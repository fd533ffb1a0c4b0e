"""Which seams there are, and which of them are active in this process."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Final

import wrapt

from .options import set_discovery
from .patches import Patches

log = logging.getLogger("agentstepper_nb.instrument")

#: Each library with the module whose import loads its seam, and the module here that has the seam.
_SEAMS: Final = (
    ("httpx", "httpx", "http_seam"),
    ("httpx2", "httpx2", "http_seam"),
    ("langchain-core", "langchain_core.tools.base", "adapters.langchain"),
    ("openai-agents", "agents.agent", "adapters.openai_agents"),
    ("pydantic-ai", "pydantic_ai.agent", "adapters.pydantic_ai"),
    ("anthropic", "anthropic.lib.tools", "adapters.anthropic"),
    ("mcp", "mcp", "adapters.mcp"),
    ("google-genai", "google.genai._api_client", "adapters.google_genai"),
    ("google-adk", "google.adk.tools.base_tool", "adapters.google_adk"),
    ("agent-framework", "agent_framework._tools", "adapters.agent_framework"),
    ("smolagents", "smolagents.agents", "adapters.smolagents"),
    ("crewai", "crewai.tools.base_tool", "adapters.crewai"),
    ("mini-swe-agent", "minisweagent.agents.default", "adapters.mini_swe_agent"),
)

Install = Callable[[ModuleType, Patches], None]


@dataclass(frozen=True)
class Seam:
    """A library whose calls can halt.

    Args:
        library: Its name, as it is installed.
        is_active: Whether its calls halt wherever a run is open.
        reason: Why they don't.
        has_failed: Whether this version of the library can't be wrapped.
    """

    library: str
    is_active: bool
    reason: str = ""
    has_failed: bool = False


class _State:
    """What is wrapped just now; the lock is held while that changes."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a seam may import what another waits for
        self.is_enabled = False
        self.has_hooks = False  # they can't be taken back, and look at `is_enabled`
        self.patches = Patches()
        self.failures: dict[str, str] = {}


_state = _State()


def enable(*, discovers_tools: bool = False) -> None:
    """Let LLM queries and tool calls of this process halt where a run is open.

    Libraries that are imported later are wrapped then. A second call changes nothing but whether tools
    are discovered.

    Args:
        discovers_tools: Whether plain functions halt too that are named as the tools which a request
            offers, where the model calls them. Until the run ends another code stands in theirs.
    """
    set_discovery(discovers_tools)
    with _state.lock:
        _state.is_enabled = True
        has_hooks, _state.has_hooks = _state.has_hooks, True
    for library, module, seam in _SEAMS:
        hook = partial(_on_import, library, seam)
        if not has_hooks:
            wrapt.register_post_import_hook(hook, module)
        elif module in sys.modules:
            hook(sys.modules[module])


def disable() -> None:
    """Take back what `enable` did: each library's own functions stand in their places again."""
    from . import discovery

    with _state.lock:
        _state.is_enabled = False
        _state.failures.clear()
        _state.patches.undo()
    set_discovery(False)
    discovery.restore_functions()


def is_enabled() -> bool:
    """Whether instrumentation is on in this process."""
    return _state.is_enabled


def list_seams() -> list[Seam]:
    """The libraries whose calls can halt, and whether they do in this process."""
    return [_describe(library, module) for library, module, _ in _SEAMS]


def _describe(library: str, module: str) -> Seam:
    if not _state.is_enabled:
        return Seam(library, False, "Instrumentation is off: `instrument.enable()` turns it on.")
    if library in _state.failures:
        return Seam(library, False, _state.failures[library], has_failed=True)
    if module not in sys.modules:
        return Seam(library, False, "Nothing has imported it yet.")
    return Seam(library, True)


def _on_import(library: str, seam: str, module: ModuleType) -> None:
    """Wrap a library that was imported. Never raises: an agent's import must not fail by ours."""
    if not _state.is_enabled:
        return
    try:
        install: Install = import_module(f"{__package__}.{seam}").install
        with _state.lock:
            install(module, _state.patches)
    except Exception as error:
        _state.failures[library] = f"This version can't be wrapped: {error!r}."
        log.warning(
            "Calls of %s won't halt: this version can't be wrapped.", library, exc_info=True
        )
