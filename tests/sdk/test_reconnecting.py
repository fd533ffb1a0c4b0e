"""Where a lost Core is looked for, and how often."""

from __future__ import annotations

import socket

import pytest

from agentstepper_nb.discover import CoreEndpoint, CoreInfo, CoreTokens
from agentstepper_nb.protocol.agent import Hello
from agentstepper_nb.sdk.core_search import CoreUnreachable, list_candidates, reach_core
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore

OURS = CoreEndpoint("ws://127.0.0.1:1", "token")


def running_core(url: str, token: str | None) -> CoreInfo:
    return CoreInfo(pid=1, url=url, tokens=CoreTokens(agent=token or ""))


@pytest.mark.parametrize(
    ("running", "others"),
    [
        ([], []),
        ([running_core("ws://127.0.0.1:1", "token")], []),
        ([running_core("ws://127.0.0.1:2", "token")], [CoreEndpoint("ws://127.0.0.1:2", "token")]),
        ([running_core("ws://127.0.0.1:2", "another"), running_core("ws://127.0.0.1:3", None)], []),
    ],
    ids=["none", "the same", "another port", "others' Cores"],
)
def test_the_same_address_first_then_the_same_token(
    running: list[CoreInfo], others: list[CoreEndpoint]
) -> None:
    assert list_candidates(OURS, running) == [OURS, *others]


def test_without_a_token_any_core_without_one_may_be_it() -> None:
    last = CoreEndpoint("ws://127.0.0.1:1")
    running = [running_core("ws://127.0.0.1:2", None), running_core("ws://127.0.0.1:3", "token")]
    assert list_candidates(last, running) == [last, CoreEndpoint("ws://127.0.0.1:2")]


@pytest.mark.parametrize(("token", "final"), [(None, False), ("t", True)])
def test_a_refusal_ends_the_search_only_where_the_core_is_ours(
    core: ScriptedCore, token: str | None, final: bool
) -> None:
    """A Core without a token may be anybody's: that it doesn't know the run says nothing."""
    with socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))  # nobody listens there
        last = CoreEndpoint(f"ws://127.0.0.1:{gone.getsockname()[1]}", token)
        hello = Hello(
            version=2, sdk="", program="P", run="r", secret="s", pid=1, host="", boot="", sent=2
        )
        found = reach_core([last, CoreEndpoint(core.url, token)], hello, TIMEOUT_S)
    assert isinstance(found, CoreUnreachable)
    assert (found.is_refused, found.has_sent_hello) == (final, True)
    assert (found.endpoint == last) is not final
