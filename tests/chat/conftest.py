"""A debugger that sessions find, a person who looks at it, and tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
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


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {
        name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters
    }
    asyncio.run(pyfuncitem.obj(**given))
    return True
