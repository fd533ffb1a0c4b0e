"""A workspace, and a book of rules outside of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstepper_nb.coding.policy import PolicyRulesFile
from agentstepper_nb.coding.workspace import LocalWorkspace


@pytest.fixture
def workspace(tmp_path: Path) -> LocalWorkspace:
    root = tmp_path / "ws"
    root.mkdir()
    return LocalWorkspace(root)


@pytest.fixture
def book(tmp_path: Path) -> PolicyRulesFile:
    return PolicyRulesFile(tmp_path / "data" / "coding" / "rules.json")
