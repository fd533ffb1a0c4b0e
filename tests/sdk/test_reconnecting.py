"""Where a lost Core is looked for, and how often."""

from __future__ import annotations

import pytest

from agentstepper_nb.discover import Endpoint, RuntimeFile, Tokens
from agentstepper_nb.sdk.reconnecting import Backoff, candidates

OURS = Endpoint("ws://127.0.0.1:1", "token")


def core(url: str, token: str | None) -> RuntimeFile:
    return RuntimeFile(pid=1, url=url, tokens=Tokens(agent=token or ""))


@pytest.mark.parametrize(
    ("running", "others"),
    [
        ([], []),
        ([core("ws://127.0.0.1:1", "token")], []),
        ([core("ws://127.0.0.1:2", "token")], [Endpoint("ws://127.0.0.1:2", "token")]),
        ([core("ws://127.0.0.1:2", "another"), core("ws://127.0.0.1:3", None)], []),
    ],
    ids=["none", "the same", "another port", "others' Cores"],
)
def test_the_same_address_first_then_the_same_token(
    running: list[RuntimeFile], others: list[Endpoint]
) -> None:
    assert candidates(OURS, running) == [OURS, *others]


def test_without_a_token_any_core_without_one_may_be_it() -> None:
    last = Endpoint("ws://127.0.0.1:1")
    running = [core("ws://127.0.0.1:2", None), core("ws://127.0.0.1:3", "token")]
    assert candidates(last, running) == [last, Endpoint("ws://127.0.0.1:2")]


def test_the_waits_grow_and_are_cut_by_chance() -> None:
    longest, shortest = Backoff(lambda: 1.0), Backoff(lambda: 0.0)
    assert [longest.wait() for _ in range(9)] == [0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5]
    assert [shortest.wait() for _ in range(4)] == [0, 0.05, 0.1, 0.2]
    longest.reset()
    assert [longest.wait() for _ in range(2)] == [0, 0.1]
