"""What the agent works on in these tests is not ours to run; and an agent in the debugger."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from tests.coding.debugged import Debug, Debugged, View
from tests.coding.playing import Playing

collect_ignore = ["repos", "scripts"]


@pytest.fixture
def core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        yield core


@pytest.fixture
def view(core: AgentStepperCore) -> Iterator[View]:
    with View(core.ui_port) as view:
        yield view


@pytest.fixture
def debug(core: AgentStepperCore, tmp_path: Path) -> Debug:
    """Opens an agent in the debugger; at its end log and conversation agree."""

    @asynccontextmanager
    async def opened(model: Playing, mode: Any = "step", **options: Any) -> AsyncIterator[Debugged]:
        dbg = AsyncAgentStepper(
            "coder", "127.0.0.1", core.client_port, stop_on_entry=False, mode=mode
        )
        async with dbg:
            made = Debugged(tmp_path, model, dbg, **options)
            yield made
        with made:
            pass

    return opened
