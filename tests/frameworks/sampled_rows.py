"""The rows that `make test` has: one framework's, in one mode. `make frameworks` has all."""

from __future__ import annotations

import pytest

from tests.frameworks.unsupported_rows import separately_installed

FRAMEWORKS = ("langgraph", "openai-agents", "pydantic-ai")
MORE_FRAMEWORKS = ("agent-framework", "anthropic", "crewai", "google-adk", "mcp", "smolagents")
#: How an agent is run.
MODES = ("sync", "asynchronous", "stream")

#: The rows of `test_matrix` that are sampled: one framework's, and in one mode where a row has modes.
SAMPLED_FRAMEWORK, SAMPLED_MODE = "langgraph", "stream"

each_framework = pytest.mark.parametrize(
    "process",
    [*FRAMEWORKS, *map(separately_installed, MORE_FRAMEWORKS)],
    indirect=True,
    scope="module",
)
each_mode = pytest.mark.parametrize("mode", MODES)
