"""Findings about agents that run on their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .facts import BackgroundAgentFacts
from .findings import Finding
from .findings import make_note_finding as _note
from .findings import make_ok_finding as _well
from .findings import make_problem_finding as _wrong

_MIB: Final = 1 << 20
_ABOUT: Final = "agents"
_START_ONE: Final = (
    "The Core may be starting one: ask again in a minute. Else its log says why there is none; "
    "`agentstepper worker` starts one by hand."
)


def make_agent_findings(agents: BackgroundAgentFacts, url: str) -> Iterator[Finding]:
    """Say how it stands with those of a Core.

    Args:
        agents: Them.
        url: The Core.
    """
    if agents.problem:
        yield _note(
            _ABOUT, f"Of agents that run on their own at {url} nothing is told: {agents.problem}"
        )
        return
    if agents.damaged:  # has its own advice
        yield _wrong(_ABOUT, f"The agents of {url} can't be read: {agents.damaged}", "")
        return
    yield _kept(agents, url)
    if agents.kind:
        yield _work(agents, url)
    yield from map(make_set_aside_finding, agents.aside)


def make_set_aside_finding(file: str) -> Finding:
    """A file of agents was put aside, and is still there."""
    return _wrong(
        "damaged agents",
        f"{file} couldn't be read, and a new file began: agents of before are only there.",
        f"`sqlite3 {file} .recover` brings back what can be read of it; move it away once you miss "
        "nothing.",
    )


def _kept(agents: BackgroundAgentFacts, url: str) -> Finding:
    if not agents.kind:
        return _note(
            _ABOUT,
            f"The agents of {url} are kept by a worker that isn't running.",
            "The first who asks for them has the Core start it, unless that has `--no-worker`: then "
            "`agentstepper worker` does.",
        )
    if agents.kind == "memory":
        return _note(
            _ABOUT, f"The agents of {url} are kept in memory: they are gone with that Core."
        )
    size = f"{agents.size / _MIB:.1f} MiB"
    return _well(_ABOUT, f"The agents of {url} are kept in {agents.place} ({agents.kind}, {size}).")


def _work(agents: BackgroundAgentFacts, url: str) -> Finding:
    work = f"{_many(agents.live, 'session')} and {_many(agents.open, 'action')}"
    if agents.workers:
        return _well(_ABOUT, f"At {url}: {_many(agents.workers, 'worker')} for {work}.")
    if agents.live or agents.open:
        return _wrong(_ABOUT, f"At {url} {work} wait, and there is no worker for them.", _START_ONE)
    return _well(_ABOUT, f"At {url} no agent waits for a worker.")


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
