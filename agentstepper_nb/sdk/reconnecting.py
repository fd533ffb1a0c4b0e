"""Finding back to a Core: where to try, and what stands in the way."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import Final, NamedTuple

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from ..discover import Endpoint, RuntimeFile, running_servers
from ..protocol.agent import Hello, Welcome
from .dialing import Refused, dial, greet, is_final, is_too_large, why_gone, why_not_opened
from .run_protocol import RunProtocol

log = logging.getLogger("agentstepper_nb.sdk")

_ADVICE: Final = {
    "wait": (
        "The agent waits for it at the next breakpoint: start the Core again, with the same data "
        "folder. An interrupt (Ctrl+C) ends the wait."
    ),
    "continue": "The agent goes on without it, unedited, and what it does is told once it is back.",
}
_LEASED: Final = (
    "The agent goes on, as its run continues, and waits for it where a stop halts: start the Core "
    "again, with the same data folder."
)


def running() -> list[RuntimeFile]:
    """This user's running Cores, as far as they can be read."""
    with suppress(OSError):
        return list(running_servers())
    return []


def candidates(last: Endpoint, running: Iterable[RuntimeFile]) -> list[Endpoint]:
    """Where the Core of a run may be by now.

    The same address first. Then the running Cores with the same token, which lies in the data folder:
    a Jupyter server often comes back on another port.

    Args:
        last: Where it was.
        running: This user's running Cores.
    """
    others = [
        each
        for each in (core.endpoint for core in running)
        if each.token == last.token and each.url != last.url
    ]
    return [last, *others]


class Reached(NamedTuple):
    """A Core that takes the run, or goes on with it."""

    connection: ClientConnection
    open: ExitStack  # to leave closes the connection
    endpoint: Endpoint
    welcome: Welcome | None  # None: it is of version 1


class Unreached(NamedTuple):
    """No Core goes on with the run."""

    endpoint: Endpoint
    why: ConnectionError
    greeted: bool  # whether it may have heard hello
    refused: bool  # whether it won't ever
    code: str = ""  # the Core's own word for it, where it gave one


def reach(places: list[Endpoint], hello: Hello, patience: float) -> Reached | Unreached:
    """Try one place after the other.

    Args:
        places: Where to try: the first is where the Core was.
        hello: Asks to go on.
        patience: Seconds that each has.

    Returns:
        The first that goes on with the run; else the first refusal, else why the first can't be reached.
    """
    failures: list[Unreached] = []
    for place in places:
        found = _try(place, hello, patience)
        if isinstance(found, Reached):
            return found
        # A Core without a token may be anybody's: what it refuses says nothing about ours.
        ours = place is places[0] or place.token is not None
        failures.append(found if ours else found._replace(refused=False))
    chosen = next((failure for failure in failures if failure.refused), failures[0])
    return chosen._replace(greeted=any(failure.greeted for failure in failures))


def _try(place: Endpoint, hello: Hello, patience: float) -> Reached | Unreached:
    greeted = False
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(dial(place, patience))
            greeted = True
            welcome = greet(connection, hello)
            if welcome is None:
                raise Refused("The original runs there by now, which can't take a run up again.")
            return Reached(connection, stack.pop_all(), place, welcome)
    except Exception as error:
        why = why_not_opened(place, error, patience)
        code = error.code if isinstance(error, Refused) else ""
        return Unreached(place, why, greeted, is_final(error), code)


class Advice:
    """What a person is told while the Core is away, each advice once."""

    def __init__(self) -> None:
        self._why = ""  # the connection is gone
        self._told: set[str] = set()

    def lost(self, gone: Exception, runs: Iterable[RunProtocol], url: str) -> None:
        """Say that the Core is away, where breakpoints are about to be passed unedited."""
        self._why = ""
        if isinstance(gone, ConnectionClosed) and not is_too_large(gone):
            self._why = why_gone(gone)
            passing = [run for run in runs if run.resumes and run.on_disconnect == "continue"]
            self._advise(passing, url)

    def not_found(self, why: str, away: Iterable[RunProtocol], url: str) -> None:
        """Say that no Core was found for the runs that are away."""
        self._why = self._why or why
        for run in away:
            run.why = why
        self._advise(away, url)

    def back(self, url: str) -> None:
        """Say that the Core is back, where somebody heard that it was away."""
        if self._told:
            self._told.clear()
            log.warning("The Core is back at %s: the run goes on.", url)

    def _advise(self, runs: Iterable[RunProtocol], url: str) -> None:
        """Say it; who says goodbye hears of it by what isn't delivered."""
        for run in runs:
            goes_on = run.on_disconnect == "wait" and run.listener.goes_on
            advice = _LEASED if goes_on else _ADVICE[run.on_disconnect]
            if not (advice in self._told or run.closing):
                self._told.add(advice)
                log.warning("Connection lost to the Core at %s: %s. %s", url, self._why, advice)
