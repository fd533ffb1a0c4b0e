"""Finding back to a Core: where to try, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import NamedTuple

from websockets.sync.client import ClientConnection

from ..discover import Endpoint, RuntimeFile
from ..protocol.agent import Hello, Welcome
from .dialing import Refused, dial, greet, is_final, why_not_opened


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
