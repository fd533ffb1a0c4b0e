"""Which rows a framework can't have, and why: each is skipped by name, and pytest prints the reason."""

from __future__ import annotations

from typing import Any

import pytest

_SUB_AGENT = "test_a_sub_agent_halts_inside_of_its_call"
_SYNC = "its agents run synchronously alone"
_DENIED_QUERY = "test_a_denied_query_is_not_repeated"

#: By framework and row: a manner, or a test's name.
NOT_POSSIBLE = {
    ("mcp", _SUB_AGENT): "a server is another program: what its tools ask is not seen here",
    ("crewai", _DENIED_QUERY): "it runs a task that failed again, as often as `max_retry_limit`",
    ("mini-swe-agent", _DENIED_QUERY): "it repeats what litellm makes of status 403; Stop ends it",
    ("mini-swe-agent", "asynchronous"): _SYNC,
    ("mini-swe-agent", "stream"): "its models give whole answers",
    ("mini-swe-agent", _SUB_AGENT): "its agents have no sub-agents: the one tool is bash",
    ("smolagents", "asynchronous"): _SYNC,
}


def installed_apart(framework: str) -> Any:
    """A framework as a parameter of tests that `make frameworks` runs, and `make test` doesn't."""
    return pytest.param(framework, marks=pytest.mark.frameworks)
