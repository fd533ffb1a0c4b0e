"""Which rows a framework can't have, and why: each is skipped by name, and pytest prints the reason."""

from __future__ import annotations

from typing import Any

import pytest

_SUB_AGENT = "test_a_sub_agent_halts_inside_of_its_call"
_NAMES, _APART = "test_events_say_whose_they_are", "test_parallel_sub_agents_are_told_apart"
_SAME = "test_a_run_is_where_it_was_before"
_IDS = "test_a_call_has_the_id_that_the_model_gave_it"
_OTHER_PROGRAM = "a server is another program: what its tools ask is not seen here"
_NO_NAMES = "its runner has no agents with names: `with dbg.agent(...)` names one"
_SYNC = "its agents run synchronously alone"
_DENIED_QUERY = "test_a_denied_query_is_not_repeated"

#: By framework and row: a mode, or a test's name.
UNSUPPORTED_ROWS = {
    ("mcp", _SUB_AGENT): _OTHER_PROGRAM,
    ("crewai", _DENIED_QUERY): "it runs a task that failed again, as often as `max_retry_limit`",
    ("mini-swe-agent", _DENIED_QUERY): "it repeats what litellm makes of status 403; Stop ends it",
    ("mini-swe-agent", "asynchronous"): _SYNC,
    ("mini-swe-agent", "stream"): "its models give whole answers",
    ("mini-swe-agent", _SUB_AGENT): "its agents have no sub-agents: the one tool is bash",
    ("smolagents", "asynchronous"): _SYNC,
    ("mcp", _NAMES): _OTHER_PROGRAM,
    ("mcp", _APART): _OTHER_PROGRAM,
    ("mcp", _SAME): _OTHER_PROGRAM,
    ("mcp", _IDS): _OTHER_PROGRAM,
    ("anthropic", _NAMES): _NO_NAMES,
    ("anthropic", _APART): _NO_NAMES,
}


def separately_installed(framework: str, *more: str) -> Any:
    """A framework, and more, as parameters of tests that `make frameworks` alone runs."""
    return pytest.param(framework, *more, marks=pytest.mark.frameworks)
