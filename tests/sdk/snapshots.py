"""What tests of snapshots look for in what an agent sent."""

from __future__ import annotations

from agentstepper_nb.protocol.agent import CommitMade, EventBegun, HaltPointReached
from agentstepper_nb.protocol.data_model import EventSide
from tests.sdk.scripted_core import AgentPeer


def list_commits(peer: AgentPeer) -> list[CommitMade]:
    """Its commits after the first, once it is gone."""
    peer.wait_until_gone()
    return [message for message in peer.received if isinstance(message, CommitMade)][1:]


def paths(commit: CommitMade) -> list[str]:
    return [change.path for change in commit.changes]


def tool_event(peer: AgentPeer, name: str = "write") -> EventBegun:
    (event,) = (event for event in peer.events if event.name == name)
    return event


def end_of(peer: AgentPeer, event: EventBegun) -> HaltPointReached:
    (point,) = (p for p in peer.halt_points if p.event == event.id and p.side is EventSide.END)
    return point
