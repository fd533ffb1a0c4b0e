"""Rules that match sessions to workers by moniker, version and labels (docs/design/0024-fleet.md).

By these rules stores give workers sessions, and the Core reports sessions that match no worker.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from .field_types import Count, Time
from .runtime import AgentState, Labels, NonEmptyName


class OfferedMoniker(Struct, frozen=True, kw_only=True):
    """A moniker that a worker has."""

    name: NonEmptyName
    version: Annotated[str, Meta(max_length=200)] = ""  # as its class declares it


class WorkerOffer(Struct, frozen=True, kw_only=True):
    """The monikers and labels of a worker. A worker without monikers gets no session."""

    monikers: Annotated[tuple[OfferedMoniker, ...], Meta(max_length=1000)] = ()
    labels: Labels = ()


class SessionRoute(Struct, frozen=True, kw_only=True):
    """The moniker, version and labels that a session requires of its worker."""

    moniker: NonEmptyName
    moniker_version: NonEmptyName | None = None  # None: any
    requires: Labels = ()  # sorted, each once


class LoadQuery(Struct, frozen=True, kw_only=True):
    """`loads`: the number of live sessions of each route, and their owners."""

    now: Time


class OwnerLoad(Struct, frozen=True, kw_only=True):
    """The number of sessions that an owner has."""

    owner: str
    sessions: Count


class RouteLoad(Struct, frozen=True, kw_only=True):
    """Live sessions of one route. Sessions without an owner wait for one."""

    route: SessionRoute
    live: Count
    held: tuple[OwnerLoad, ...] = ()

    @property
    def waiting(self) -> int:
        """The number of sessions that wait for an owner."""
        return max(0, self.live - sum(each.sessions for each in self.held))


class RouteLoads(Struct, frozen=True, kw_only=True):
    """Loads, of each route that has a live session."""

    routes: tuple[RouteLoad, ...]


class RouteCount(Struct, frozen=True, kw_only=True):
    """A number of sessions of one route."""

    route: SessionRoute
    sessions: Count


def find_route(state: AgentState) -> SessionRoute:
    """Return the moniker, version and labels that a session requires of its worker."""
    return SessionRoute(
        moniker=state.moniker,
        moniker_version=state.moniker_version,
        requires=tuple(sorted(set(state.requires))),
    )


def is_fitting(offer: WorkerOffer | None, route: SessionRoute) -> bool:
    """Whether a worker may have a session.

    Args:
        offer: The worker's offer. None: all sessions, as workers of earlier versions send no offer.
        route: The session's route.
    """
    if offer is None:
        return True
    return bool(_find_versions(offer, route)) and set(route.requires) <= set(offer.labels)


def describe_misfit(route: SessionRoute, offers: Collection[WorkerOffer | None]) -> str | None:
    """Describe for a person why a session waits for a worker.

    Args:
        route: The session's route.
        offers: The offers of the connected workers.

    Returns:
        What all workers lack; None where a worker may have the session.
    """
    if any(is_fitting(offer, route) for offer in offers):
        return None
    present = [offer for offer in offers if offer is not None]
    if not present:
        return "no worker is connected"
    named = [offer for offer in present if _find_versions(offer, route, any_version=True)]
    if not named:
        where = "the worker" if len(present) == 1 else f"any of the {len(present)} workers"
        return f"the moniker {route.moniker!r} isn't installed in {where}"
    able = [offer for offer in named if _find_versions(offer, route)]
    if not able:
        found = {repr(each) for offer in named for each in _find_versions(offer, route, True)}
        return (
            f"no worker has version {route.moniker_version!r} of the moniker {route.moniker!r}: "
            f"they have {', '.join(sorted(found))}"
        )
    return _describe_missing_labels(route, able)


def _describe_missing_labels(route: SessionRoute, able: Sequence[WorkerOffer]) -> str:
    offered = {label for offer in able for label in offer.labels}
    missing = [label for label in route.requires if label not in offered]
    wanted = missing or list(route.requires)
    labels = f"the label {wanted[0]!r}" if len(wanted) == 1 else _join_labels(wanted)
    return f"no worker with the moniker {route.moniker!r} has {labels}"


def _join_labels(labels: Sequence[str]) -> str:
    return f"all of the labels {', '.join(map(repr, labels))}"


def _find_versions(
    offer: WorkerOffer, route: SessionRoute, any_version: bool = False
) -> tuple[str, ...]:
    """The versions of a session's moniker that a worker has and the session accepts."""
    accepts_any = any_version or route.moniker_version is None
    return tuple(
        each.version
        for each in offer.monikers
        if each.name == route.moniker and (accepts_any or each.version == route.moniker_version)
    )
