"""What tests of snapshots look for in what an agent sent."""

from __future__ import annotations

from agentstepper_nb.protocol.agent import CommitMade, EventBegun, HaltPointReached
from agentstepper_nb.protocol.data_model import EventSide
from tests.sdk.scripted_core import Peer


def commits(peer: Peer) -> list[CommitMade]:
    """Its commits after the first, once it is gone."""
    peer.ends()
    return [message for message in peer.sent if isinstance(message, CommitMade)][1:]


def paths(commit: CommitMade) -> list[str]:
    return [change.path for change in commit.changes]


def tool_event(peer: Peer, name: str = "write") -> EventBegun:
    (event,) = (event for event in peer.events if event.name == name)
    return event


def end_of(peer: Peer, event: EventBegun) -> HaltPointReached:
    (point,) = (p for p in peer.points if p.event == event.id and p.side is EventSide.END)
    return point
