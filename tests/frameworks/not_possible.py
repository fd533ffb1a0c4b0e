"""Which rows a framework can't have, and why: each is skipped by name, and pytest prints the reason."""

from __future__ import annotations

from typing import Any

import pytest

_MCP_SERVER = "a server is another program: what its tools ask is none of this process"

#: By framework and row: a manner, or a test's name.
NOT_POSSIBLE = {
    ("mcp", "test_a_sub_agent_halts_inside_of_its_call"): _MCP_SERVER,
}


def soaked(framework: str) -> Any:
    """A framework as a parameter of tests that `make frameworks` runs, and `make test` doesn't."""
    return pytest.param(framework, marks=pytest.mark.soak)
