"""A Core that answers only a run's start, and an agent whose Core may go away."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentstepper_nb.sdk import run_session as session_module
from tests.sdk.resume.agents import ThreadAgent
from tests.sdk.scripted_core import ScriptedCore, answer_start


@pytest.fixture
def core() -> Iterator[ScriptedCore]:
    with ScriptedCore(answer_start) as core:
        yield core


@pytest.fixture
def agent(pool: ThreadPoolExecutor, core: ScriptedCore, stepper_kind: str) -> Iterator[ThreadAgent]:
    yield ThreadAgent(pool, stepper_kind, core)
    for session in session_module._sessions:  # of a test that failed
        session.link.give_up()
