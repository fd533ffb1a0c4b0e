"""Halt is pressed while an agent goes on by its lease, at a real Core."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore
from agentstepper_nb.protocol.agent import HaltPointReached, LeaseMessage
from agentstepper_nb.protocol.data_model import RunMode
from agentstepper_nb.sdk.send_queue import MessageBatch, QueueItem
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S


class LeaseLog:
    """What an agent's leasehold takes and sends, in the order in which it does.

    Args:
        dbg: The agent's AgentStepper.
    """

    def __init__(self, dbg: AgentStepper) -> None:
        self.lines: list[LeaseMessage | HaltPointReached] = []
        leasehold: Any = dbg._current_session().link._halt_lease
        breakpoints, outbox = leasehold._breakpoints, leasehold._outbox
        take, put = breakpoints.set, outbox.put

        def taking(rules: Any) -> None:
            self.lines.append(leasehold._lease)
            take(rules)

        def putting(item: QueueItem, *, is_immediate: bool = True) -> None:
            messages = item.messages if isinstance(item, MessageBatch) else ()
            self.lines.extend(m for m in messages if isinstance(m, HaltPointReached))
            put(item, is_immediate=is_immediate)

        breakpoints.set, outbox.put = taking, putting

    def log_after(self, mode: RunMode) -> list[HaltPointReached]:
        """The halt points between the first lease of a mode and the next lease."""
        modes = [line.mode if isinstance(line, LeaseMessage) else None for line in self.lines]
        start = modes.index(mode) + 1
        ends = [at for at, found in enumerate(modes) if at >= start and found is not None]
        between = self.lines[start : ends[0] if ends else None]
        return [line for line in between if isinstance(line, HaltPointReached)]


@pytest.mark.parametrize("turns", [1000, pytest.param(5000, marks=pytest.mark.soak)])
def test_it_halts_at_the_first_breakpoint_after_the_revoke_arrived(
    turns: int, live: AgentStepperCore, person: LiveView
) -> None:
    middle, released = threading.Event(), threading.Event()

    def work() -> LeaseLog:
        with AgentStepper("T", "127.0.0.1", live.client_port) as dbg:
            diary = LeaseLog(dbg)
            for turn in count():
                if turn >= turns and released.is_set():
                    return diary
                dbg.begin_llm_query_breakpoint({"turn": turn})
                dbg.end_llm_query_breakpoint({"said": turn})
                if turn == turns // 2:
                    middle.set()
        raise AssertionError("unreachable")

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        person.wait_until_halted()
        person.resume()
        assert middle.wait(TIMEOUT_S)
        person.halt()
        pending = person.wait_until(lambda run: bool(run.pending)).pending
        person.resume()
        released.set()
        diary = working.result(TIMEOUT_S)
    run = person.wait_until_ended()
    halted = diary.log_after(RunMode.STEP)
    assert [(point.id, point.waits) for point in halted] == [(pending[0], True)]
    points = [line for line in diary.lines if isinstance(line, HaltPointReached)]
    assert [point.id for point in points if point.waits] == list(pending)
    assert len(points) >= 2 * turns
    assert run.rows == len(points) + 2, "all are recorded, with the start and the end"
