"""A debugger that sessions find, and a person who looks at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentstepper_nb import AgentStepperCore
from tests.coding.debugged import View


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")
        yield core


@pytest.fixture
def view(core: AgentStepperCore) -> Iterator[View]:
    with View(core.ui_port) as view:
        yield view
