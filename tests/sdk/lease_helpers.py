"""Leases of a scripted Core, and what an agent under one told."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct

from agentstepper_nb.protocol.agent import (
    GetTimeline,
    LeaseMessage,
    Timeline,
)
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import Run, RunMode
from tests.sdk.scripted_core import TIMEOUT_S, AgentPeer

CONTINUE_LEASE = LeaseMessage(epoch=1, mode=RunMode.CONTINUE)
HALT = LeaseMessage(epoch=2, mode=RunMode.STEP)
NO_VIEW_LEASE = Run(id="r", name="", program="P", started_at=0)


def make_continue_lease(*breakpoints: BreakpointRule) -> LeaseMessage:
    return LeaseMessage(epoch=1, mode=RunMode.CONTINUE, breakpoints=breakpoints)


def list_waits_and_epochs(peer: AgentPeer) -> list[tuple[bool, int]]:
    """Of each halt point after the start: whether it waited, and under which lease."""
    return [(point.waits, point.epoch) for point in peer.halt_points[1:]]


def make_timeline_answerer(lease: LeaseMessage) -> Any:
    """Answers a request for the timeline after a lease: who has the answer has read the lease."""

    def answer(peer: AgentPeer, message: GetTimeline) -> Struct:
        peer.send(lease)
        return Timeline(run=NO_VIEW_LEASE, rows=(), commits=())

    return answer


async def wait_for_lease(dbg: Any) -> None:
    """Wait until a lease is read that the Core sends when it is asked."""
    stepper = getattr(dbg, "dbg", dbg)
    assert await asyncio.to_thread(stepper._timeline, TIMEOUT_S) is not None


async def query(dbg: Any, prompt: Any = "p") -> Any:
    begun = await dbg.begin_llm_query_breakpoint(prompt)
    return begun, await dbg.end_llm_query_breakpoint("r")
