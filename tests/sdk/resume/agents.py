"""An agent on a thread of its own, and what its Core sees of it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb.protocol.agent import (
    AgentMessage,
    Bye,
    Welcome,
)
from agentstepper_nb.protocol.data_model import RunEnding
from tests.sdk.both_steppers import run
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore

FINISHED = Bye(ending=RunEnding.FINISHED)


async def query(dbg: Any) -> Any:
    return await dbg.begin_llm_query_breakpoint("p")


def make_welcome(received: int) -> Welcome:
    return Welcome(version=2, core="scripted", run="", received=received)


def type_names(messages: list[AgentMessage]) -> list[str]:
    return [type(message).__name__ for message in messages]


class ThreadAgent:
    """An agent on a thread of its own; `go` lets it pass `step`, one after the other."""

    def __init__(self, pool: ThreadPoolExecutor, stepper_kind: str, core: ScriptedCore) -> None:
        self._pool, self.stepper_kind, self._core = pool, stepper_kind, core
        self._gates = [threading.Event() for _ in range(3)]

    def run(self, scenario: Callable[[Any], Any], **options: Any) -> Future[Any]:
        options = {"stop_on_entry": False, **options}
        return self._pool.submit(run, self.stepper_kind, self._core, scenario, **options)

    def release_step(self) -> None:
        next(gate for gate in self._gates if not gate.is_set()).set()

    async def wait_for_step(self, number: int) -> None:
        await asyncio.to_thread(self._gates[number].wait, TIMEOUT_S)


def wait_for_log(caplog: pytest.LogCaptureFixture, text: str) -> None:
    """Wait until something is logged."""
    heard = threading.Event()

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage():
                heard.set()

    # Behind caplog's: what the ear came too late for is in caplog already.
    log, ear = logging.getLogger(), Ear()
    log.addHandler(ear)
    try:
        assert text in caplog.text or heard.wait(TIMEOUT_S), f"{text} was not said: {caplog.text}"
    finally:
        log.removeHandler(ear)
