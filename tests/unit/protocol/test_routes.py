"""Which worker may have which session, and what is said where none may."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.routes import (
    OfferedMoniker,
    SessionRoute,
    WorkerOffer,
    describe_misfit,
    find_route,
    is_fitting,
)
from agentstepper_nb.protocol.runtime import AgentState


def offer(*monikers: tuple[str, str], labels: tuple[str, ...] = ()) -> WorkerOffer:
    return WorkerOffer(
        monikers=tuple(OfferedMoniker(name=name, version=version) for name, version in monikers),
        labels=labels,
    )


def route(version: str | None = None, *requires: str) -> SessionRoute:
    return SessionRoute(moniker="x", moniker_version=version, requires=requires)


JOKE = offer(("joke", ""))
X1 = offer(("x", "1"))
X2 = offer(("x", "2"), labels=("gpu",))
X_PLAIN = offer(("joke", ""), ("x", ""), labels=("gpu", "region=eu"))


@pytest.mark.parametrize(
    ("needs", "offers", "reason"),
    [
        (route(), [], "no worker is connected"),
        (route(), [JOKE], "the moniker 'x' isn't installed in the worker"),
        (route(), [JOKE, offer()], "the moniker 'x' isn't installed in any of the 2 workers"),
        (route("3"), [X1], "no worker has version '3' of the moniker 'x': they have '1'"),
        (
            route("3"),
            [JOKE, X2, X1, X_PLAIN],
            "no worker has version '3' of the moniker 'x': they have '', '1', '2'",
        ),
        (route(None, "gpu"), [JOKE, X1], "no worker with the moniker 'x' has the label 'gpu'"),
        (route("1", "gpu"), [X1, X2], "no worker with the moniker 'x' has the label 'gpu'"),
        (
            route(None, "a", "b", "gpu"),
            [X2, X_PLAIN],
            "no worker with the moniker 'x' has all of the labels 'a', 'b'",
        ),
        (
            route(None, "gpu", "region=eu"),
            [X2, offer(("x", ""), labels=("region=eu",))],
            "no worker with the moniker 'x' has all of the labels 'gpu', 'region=eu'",
        ),
        (route(), [JOKE, X1], None),
        (route("2", "gpu"), [X1, X2], None),
        (route(None, "region=eu", "gpu"), [X_PLAIN], None),
        (route("9", "anything"), [JOKE, None], None),
    ],
)
def test_a_person_is_told_what_no_worker_has(
    needs: SessionRoute, offers: list[WorkerOffer | None], reason: str | None
) -> None:
    assert describe_misfit(needs, offers) == reason
    assert any(is_fitting(each, needs) for each in offers) == (reason is None)


def test_what_is_required_twice_or_in_another_order_is_the_same() -> None:
    fields = {"agent_id": "a", "session_id": "s", "moniker": "x", "created_at": 1, "updated_at": 1}
    one, other = (
        AgentState(**fields, requires=requires) for requires in (("b", "a", "b"), ("a", "b"))
    )
    assert find_route(one) == find_route(other) == route(None, "a", "b")
