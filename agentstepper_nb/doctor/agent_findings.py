"""Findings about background agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .facts import BackgroundAgentFacts
from .findings import Finding
from .findings import make_note_finding as _note
from .findings import make_ok_finding as _well
from .findings import make_problem_finding as _wrong

_MIB: Final = 1 << 20
_SUBJECT: Final = "agents"
_START_ONE: Final = (
    "The Core may be starting a worker: run the doctor again in a minute. If there is "
    "still none, see the Core's log, or run `agentstepper worker`."
)


def make_agent_findings(agents: BackgroundAgentFacts, url: str) -> Iterator[Finding]:
    """Say how it stands with those of a Core.

    Args:
        agents: Them.
        url: The Core.
    """
    if agents.problem:
        yield _note(
            _SUBJECT, f"The Core at {url} doesn't report on its background agents: {agents.problem}"
        )
        return
    if agents.damaged:  # has its own advice
        yield _wrong(
            _SUBJECT, f"The background agents of {url} can't be read: {agents.damaged}", ""
        )
        return
    yield _make_store_finding(agents, url)
    if agents.kind:
        yield _work(agents, url)
    if agents.workers:
        for number, reason in agents.waiting:
            yield _make_waiting_finding(number, reason, url)
    yield from map(make_damaged_store_finding, agents.set_aside_files)


def make_damaged_store_finding(file: str) -> Finding:
    """A file of agents was put aside, and is still there."""
    return _wrong(
        "damaged agents",
        f"{file} couldn't be read, so the Core began a new file. Earlier background "
        "agents are only in the old one.",
        f"Run `sqlite3 {file} .recover` to read what is left; move the file away once you "
        "miss nothing.",
    )


def _make_store_finding(agents: BackgroundAgentFacts, url: str) -> Finding:
    if agents.kind == "memory":
        return _note(
            _SUBJECT,
            f"The background agents of {url} are in memory only, and are lost when that Core ends.",
        )
    size = f"{agents.size_bytes / _MIB:.1f} MiB"
    return _well(
        _SUBJECT,
        f"The background agents of {url} are stored in {agents.store_location} ({agents.kind}, {size}).",
    )


def _work(agents: BackgroundAgentFacts, url: str) -> Finding:
    work = f"{_many(agents.live_sessions, 'session')} and {_many(agents.open_actions, 'action')}"
    if agents.workers:
        return _well(_SUBJECT, f"At {url}: {_many(agents.workers, 'worker')} for {work}.")
    if agents.live_sessions or agents.open_actions:
        return _wrong(
            _SUBJECT, f"{work} at {url} wait for a worker, and none is connected.", _START_ONE
        )
    return _well(_SUBJECT, f"No background agent at {url} waits for a worker.")


def _make_waiting_finding(number: int, reason: str, url: str) -> Finding:
    wait = "waits" if number == 1 else "wait"
    return _wrong(
        _SUBJECT,
        f"{_many(number, 'session')} at {url} {wait}: {reason}.",
        "Start a worker that has it: install the moniker's package where the worker runs, or run "
        "`agentstepper worker --label LABEL`; or destroy the session.",
    )


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
