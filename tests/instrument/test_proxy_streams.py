"""Streams through the proxy, as another client than a Python program's reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Event
from typing import Any

import httpx2
import pytest

from agentstepper_nb.instrument.proxy import HeartbeatTimes, ModelProxy
from agentstepper_nb.models.scripted import (
    DisconnectFault,
    Script,
    ScriptedServer,
    ScriptRule,
    always,
    say,
)
from agentstepper_nb.own_queries import mark_own_query
from tests.instrument.conftest import Serve
from tests.instrument.queries import MESSAGES
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S


def read_stream(proxy: ModelProxy, has_begun: Event) -> tuple[list[str], list[str]]:
    """The content types of a streamed answer, and its lines."""
    body = {"model": "m", "messages": MESSAGES, "stream": True}
    url, headers = f"{proxy.make_url('openai')}/chat/completions", {"user-agent": "node"}
    with (
        mark_own_query(),
        httpx2.Client(timeout=TIMEOUT_S) as client,
        client.stream("POST", url, json=body, headers=headers) as response,
    ):
        has_begun.set()
        return response.headers.get_list("content-type"), list(response.iter_lines())


def read_error_event(lines: list[str]) -> str:
    """The message of the error that is the last event of a stream."""
    name, data = [line for line in lines if line][-2:]
    assert name == "event: error"
    return str(json.loads(data.removeprefix("data: "))["error"]["message"])


def test_a_stream_has_the_services_content_type(
    serve: Serve, server: ScriptedServer, person: LiveView, pool: Any
) -> None:
    with serve(server.base_url) as proxy:
        asking = pool.submit(read_stream, proxy, Event())
        person.resume()
        kinds, lines = asking.result(TIMEOUT_S)
    assert kinds == ["text/event-stream; charset=utf-8"]
    assert "data: [DONE]" in lines


def test_a_stream_that_the_service_breaks_off_ends_with_an_error(
    serve: Serve, person: LiveView, pool: Any
) -> None:
    rule = ScriptRule(always, say("one two three"), DisconnectFault(2))
    with ScriptedServer(Script("cut", [rule])) as server, serve(server.base_url) as proxy:
        asking = pool.submit(read_stream, proxy, Event())
        person.resume()
        _, lines = asking.result(TIMEOUT_S)
    assert "can't be asked" in read_error_event(lines)


@pytest.mark.parametrize(
    ("refuse", "says"),
    [
        (LiveView.stop, "The person pressed Stop"),
        (lambda person: person.deny("not now"), "not now"),
    ],
    ids=["stop", "deny"],
)
def test_a_refusal_after_a_heartbeat_is_an_event_of_the_stream(
    refuse: Callable[[LiveView], None],
    says: str,
    serve: Serve,
    server: ScriptedServer,
    person: LiveView,
    pool: Any,
) -> None:
    has_begun = Event()
    with serve(server.base_url, HeartbeatTimes(0.0, TIMEOUT_S)) as proxy:
        asking = pool.submit(read_stream, proxy, has_begun)
        person.wait_until_halted()
        assert has_begun.wait(TIMEOUT_S)
        refuse(person)
        _, lines = asking.result(TIMEOUT_S)
    assert says in read_error_event(lines)
    assert server.exchanges == []
