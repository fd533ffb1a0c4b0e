"""The rows that `make test` has: one framework's, in one mode. `make frameworks` has all."""

from __future__ import annotations

import pytest

from tests.frameworks.unsupported_rows import separately_installed

FRAMEWORKS = ("langgraph", "openai-agents", "pydantic-ai")
MORE_FRAMEWORKS = ("agent-framework", "anthropic", "crewai", "google-adk", "mcp", "smolagents")
#: How an agent is run.
MODES = ("sync", "asynchronous", "stream")

#: Of each module, the frameworks that are sampled, each in one mode.
SAMPLED_ROWS: dict[str, dict[str, str]] = {
    "test_matrix": {"langgraph": "stream"},
    "agent_scopes": {},
    "replays": {},
}

each_framework = pytest.mark.parametrize(
    "process",
    [*FRAMEWORKS, *map(separately_installed, MORE_FRAMEWORKS)],
    indirect=True,
    scope="module",
)
each_mode = pytest.mark.parametrize("mode", MODES)
