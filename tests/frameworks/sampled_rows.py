"""The rows that `make test` has: each feature of each framework, where its paths differ."""

from __future__ import annotations

#: How an agent is run.
MODES = ("sync", "asynchronous", "stream")

#: Of each file, the frameworks that are sampled, each in one mode.
SAMPLED_ROWS = {
    "test_matrix.py": {
        "langgraph": "stream",
        "openai-agents": "asynchronous",
        "pydantic-ai": "sync",
    },
    "test_agents.py": {"pydantic-ai": "stream"},
    "test_replays.py": {"langgraph": "asynchronous"},
}
