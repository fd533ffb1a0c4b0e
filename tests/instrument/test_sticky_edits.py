"""Edits of a prompt's messages that a person makes sticky: they hold in later prompts, too."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor as Pool
from typing import Any

import pytest
from msgspec import UNSET, Raw

from agentstepper_nb import AgentStepper
from agentstepper_nb.models.scripted import ScriptedServer
from agentstepper_nb.protocol.answers import ResumeAnswer
from agentstepper_nb.sdk.sticky_edits import StickyEdits
from tests.instrument.clients import CLIENT_MODES, ClientMode
from tests.instrument.queries import TEXT, halted_body, replace_text, wait_for_queries
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

ASYNC = ClientMode("chat", is_async=True, is_streamed=True)


def sent(server: ScriptedServer) -> list[str]:
    return [json.dumps(exchange.json) for exchange in server.exchanges]


def stick(person: LiveView, old: str, new: str) -> None:
    """Edit the prompt that the run halts at, for later ones too, and step."""
    person.edit(replace_text(halted_body(person), old, new), sticky=True)
    person.step(revision=2)


@pytest.mark.parametrize("client_mode", CLIENT_MODES)
def test_a_sticky_edit_is_made_again(
    client_mode: ClientMode, dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(
        lambda: [client_mode.query(server, "hello"), client_mode.query(server, "hello")]
    )
    stick(person, "hello", "good day")
    person.step()
    assert "good day" in json.dumps(halted_body(person))  # before anybody has done anything
    person.resume()
    assert asking.result(TIMEOUT_S) == [TEXT, TEXT]
    assert ["good day" in text for text in sent(server)] == [True, True]
    rows = wait_for_queries(person, 4)
    assert [row.edited for row in rows] == [True, False, True, False]
    assert rows[2].revision == 1


def test_it_holds_where_the_run_does_not_halt(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(lambda: [ASYNC.query(server, "hello") for _ in range(3)])
    stick(person, "hello", "good day")
    person.resume()
    asking.result(TIMEOUT_S)
    assert ["good day" in text for text in sent(server)] == [True, True, True]


def test_an_edit_that_is_not_sticky_holds_once(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(lambda: [ASYNC.query(server, "hello") for _ in range(2)])
    person.step(replace_text(halted_body(person), "hello", "good day"))
    person.resume()
    asking.result(TIMEOUT_S)
    assert ["good day" in text for text in sent(server)] == [True, False]


def test_it_can_be_taken_back(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(lambda: [ASYNC.query(server, "hello") for _ in range(3)])
    stick(person, "hello", "good day")
    person.step()
    person.step(replace_text(halted_body(person), "good day", "hello"))
    person.resume()
    asking.result(TIMEOUT_S)
    assert ["good day" in text for text in sent(server)] == [True, False, False]


def test_a_prompt_of_a_traced_function_is_edited_again(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    asked: list[Any] = []

    @dbg.traced_llm
    def ask(prompt: str, temperature: float) -> str:
        asked.append((prompt, temperature))
        return "said"

    running = pool.submit(lambda: [ask("hello", 0.5), ask("hello", 1.5), ask("other", 1.0)])
    stick(person, "hello", "good day")
    person.resume()
    running.result(TIMEOUT_S)
    assert asked == [("good day", 0.5), ("good day", 1.5), ("other", 1.0)]


def test_only_a_prompts_edit_can_be_sticky(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    asking = pool.submit(ASYNC.query, server, "hello")
    person.step()
    body = halted_body(person)
    with pytest.raises(AssertionError, match="can't be made in later prompts too"):
        person.edit(body, sticky=True)
    person.resume()
    assert asking.result(TIMEOUT_S) == TEXT


# ---- which messages ----------------------------------------------------------------------------------

A, B, C = ({"role": "user", "content": each} for each in "abc")
NEW, OTHER = {"role": "user", "content": "new"}, {"role": "user", "content": "other"}


@pytest.mark.parametrize(
    ("edited", "later", "expected"),
    [
        ([A, NEW], [A, B, C], [A, NEW, C]),
        ([A], [A, B, C], [A, C]),
        ([A, B, NEW], [A, B, C], [A, B, NEW, C]),
        ([NEW, A, B], [A, C], [NEW, A, C]),
        ([NEW, OTHER], [C, A, B], [C, NEW, OTHER]),
        ([A, NEW, OTHER], [B, A], [NEW, OTHER, A]),
    ],
)
def test_messages_are_replaced_left_out_and_added(edited: Any, later: Any, expected: Any) -> None:
    def make(messages: Any) -> Raw:
        return Raw(json.dumps({"model": "m", "messages": messages}).encode())

    edits = StickyEdits()
    edits.accept(ResumeAnswer(data=make(edited), sticky=True), make([A, B]), UNSET)
    again = edits.apply(make(later), lambda _: None)
    assert isinstance(again, Raw)
    assert json.loads(bytes(again))["messages"] == expected
    assert edits.accept(ResumeAnswer(), make(later), again) == ResumeAnswer(data=again)
    assert edits.apply(make(later), lambda _: "no") is UNSET
