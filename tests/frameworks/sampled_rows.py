"""The rows that `make test` has: each feature of each framework, where its paths differ."""

from __future__ import annotations

import pytest

from tests.frameworks.unsupported_rows import separately_installed

FRAMEWORKS = ("langgraph", "openai-agents", "pydantic-ai")
#: `make frameworks` has these besides.
MORE_FRAMEWORKS = ("agent-framework", "anthropic", "crewai", "google-adk", "mcp", "smolagents")
#: How an agent is run.
MODES = ("sync", "asynchronous", "stream")

#: Of each module, the frameworks that are sampled, each in one mode.
SAMPLED_ROWS = {
    "test_matrix": {
        "langgraph": "stream",
        "openai-agents": "asynchronous",
        "pydantic-ai": "sync",
    },
    "agent_scopes": {"pydantic-ai": "stream"},
    "replays": {"langgraph": "asynchronous"},
}

each_framework = pytest.mark.parametrize(
    "process",
    [*FRAMEWORKS, *map(separately_installed, MORE_FRAMEWORKS)],
    indirect=True,
    scope="module",
)
each_mode = pytest.mark.parametrize("mode", MODES)
