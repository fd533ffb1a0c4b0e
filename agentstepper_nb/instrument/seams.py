"""The list of seams, and of those that are active in this process."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Final

import wrapt

from ..protocol.seams import Seam, SeamKind
from .options import get_discovery_off_reason, set_discovery
from .patches import Patches

log = logging.getLogger("agentstepper_nb.instrument")

#: Each library with the module whose import loads its seam, and this package's module with the seam.
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
#: Libraries whose queries halt; of the others, tool calls halt.
_QUERY_LIBRARIES: Final = frozenset({"httpx", "httpx2", "google-genai"})
#: The distributions that may install a library, where its own name isn't the only one.
_OTHER_DISTRIBUTIONS: Final = {
    "pydantic-ai": "pydantic-ai-slim",
    "agent-framework": "agent-framework-core",
}
_NOT_IMPORTED: Final = "Nothing has imported it yet."
_IS_OFF: Final = "Instrumentation is off: `instrument.enable()` turns it on."

#: For each framework with agents: the module whose import installs the seam that names agents.
_AGENT_SEAMS: Final = (
    ("langgraph", "langgraph.pregel", "adapters.langchain"),
    ("openai-agents", "agents.tracing.scope", "adapters.openai_agents"),
    ("google-adk", "google.adk.agents.base_agent", "adapters.google_adk"),
    ("agent-framework", "agent_framework._agents", "adapters.agent_framework"),
    ("crewai", "crewai.agent.core", "adapters.crewai"),
)

Install = Callable[[ModuleType, Patches], None]


class _State:
    """The current wraps; the lock is held while they change."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a seam may import what another waits for
        self.is_enabled = False
        self.has_hooks = False  # hooks can't be removed, so they check `is_enabled`
        self.patches = Patches()
        self.failures: dict[str, str] = {}
        self.proxy_reason = ""  # what a proxy of this process serves; "" without one
        self.generation = 0  # changes with each change of a seam

    def list_seams(self) -> list[Seam]:
        """List the seams as the module's function does."""
        return list_seams()

    def get_discovery_off_reason(self) -> str:
        """The reason why plain functions aren't discovered; "": they are discovered."""
        return get_discovery_off_reason()


_state = _State()
#: The module that is told of the seams once it is imported, which an agent does when it opens a run.
_REPORTER: Final = f"{__package__.rpartition('.')[0]}.sdk.seam_report"


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
        _state.generation += 1
        _state.is_enabled = True
        has_hooks, _state.has_hooks = _state.has_hooks, True
    if not has_hooks:
        wrapt.register_post_import_hook(lambda found: found.register_source(_state), _REPORTER)
    for seams, on_import in ((_SEAMS, _on_import), (_AGENT_SEAMS, _on_import_of_agents)):
        for library, module, seam in seams:
            hook = partial(on_import, library, seam)
            if not has_hooks:
                wrapt.register_post_import_hook(hook, module)
            elif module in sys.modules:
                hook(sys.modules[module])


def disable() -> None:
    """Take back what `enable` did: each library's own functions stand in their places again."""
    from . import discovery

    with _state.lock:
        _state.generation += 1
        _state.is_enabled = False
        _state.failures.clear()
        _state.patches.undo()
    set_discovery(False)
    discovery.restore_functions()


def is_enabled() -> bool:
    """Whether instrumentation is on in this process."""
    return _state.is_enabled


def list_seams() -> list[Seam]:
    """List the libraries whose calls can halt, and whether their seams are active in this process."""
    proxy = [_make_proxy_seam()] if _state.proxy_reason else []
    return [*proxy, *(_describe(library, module) for library, module, _ in _SEAMS)]


def list_installed_seams() -> list[Seam]:
    """The seams of a program that imports all of this environment's libraries that have one.

    Whether their versions can be wrapped shows once a program imports them.
    """
    named = [(library, _find_version(library)) for library, _, _ in _SEAMS]
    return [_make_seam(library, version, "") for library, version in named if version]


def set_proxy(reason: str) -> None:
    """Record that a proxy of this process halts other programs' queries.

    Args:
        reason: The proxy's address and services, for a person; "" once it has stopped.
    """
    _state.proxy_reason = reason
    _state.generation += 1


def _make_proxy_seam() -> Seam:
    return Seam(library="proxy", kind=SeamKind.QUERIES, is_active=True, reason=_state.proxy_reason)


def _describe(library: str, module: str) -> Seam:
    if not _state.is_enabled:
        return _make_seam(library, "", _IS_OFF)
    if library in _state.failures:
        return _make_seam(library, _find_version(library), _state.failures[library], True)
    if module not in sys.modules:
        return _make_seam(library, "", _NOT_IMPORTED)
    return _make_seam(library, _find_version(library), "")


def _make_seam(library: str, version: str, reason: str, has_failed: bool = False) -> Seam:
    return Seam(
        library=library,
        kind=SeamKind.QUERIES if library in _QUERY_LIBRARIES else SeamKind.TOOLS,
        version=version,
        is_active=not reason,
        reason=reason,
        has_failed=has_failed,
    )


@cache
def _find_version(library: str) -> str:
    """The version that is installed; "" where that isn't known."""
    for distribution in (library, _OTHER_DISTRIBUTIONS.get(library, library)):
        with suppress(PackageNotFoundError):
            return version(distribution)
    return ""


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
    _state.generation += 1


def _on_import_of_agents(library: str, seam: str, module: ModuleType) -> None:
    """Install the seam that names a framework's agents. Without that seam, calls halt all the same."""
    if not _state.is_enabled:
        return
    try:
        install: Install = import_module(f"{__package__}.{seam}").install_agents
        with _state.lock:
            install(module, _state.patches)
    except Exception:
        log.warning(
            "Events of %s won't name their agents: this version can't be wrapped.",
            library,
            exc_info=True,
        )
