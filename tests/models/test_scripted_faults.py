from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import openai
import pytest
from openai import OpenAI

from agentstepper_nb.models.scripted import (
    DisconnectFault,
    ErrorFault,
    Fault,
    PauseFault,
    Script,
    ScriptedServer,
    ScriptRule,
    always,
    say,
)

ASK: Any = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
TEXT = "one two three"

Serve = Callable[[Fault], tuple[ScriptedServer, OpenAI]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(fault: Fault) -> tuple[ScriptedServer, OpenAI]:
            script = Script("faulty", [ScriptRule(always, say(TEXT), fault)])
            server = stack.enter_context(ScriptedServer(script))
            client = OpenAI(base_url=server.base_url, api_key="any")
            return server, stack.enter_context(client)

        yield start


def test_a_refusal_passes_when_the_client_tries_again(serve: Serve) -> None:
    server, client = serve(ErrorFault(503, times=2))
    completion = client.chat.completions.create(**ASK)
    assert completion.choices[0].message.content == TEXT
    assert [exchange.status for exchange in server.exchanges] == [503, 503, 200]


def test_refusals_are_counted_for_each_question(serve: Serve) -> None:
    server, client = serve(ErrorFault(503, times=1))
    other: Any = {**ASK, "model": "other"}
    for question in (ASK, other, ASK):
        client.chat.completions.create(**question)
    assert [exchange.status for exchange in server.exchanges] == [503, 200, 503, 200, 200]


def test_a_refusal_without_end(serve: Serve) -> None:
    server, client = serve(ErrorFault(429, times=None))
    with pytest.raises(openai.RateLimitError, match="as the script asks") as caught:
        client.chat.completions.create(**ASK)
    assert caught.value.code == "scripted_refusal"
    assert len(server.exchanges) == 3


def test_a_refusal_says_when_to_try_again(serve: Serve) -> None:
    _, client = serve(ErrorFault(503, retry_after=2.5))
    with pytest.raises(openai.InternalServerError) as caught:
        client.with_options(max_retries=0).chat.completions.create(**ASK)
    headers = caught.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("2", "2500")


def test_a_stream_that_breaks_off(serve: Serve) -> None:
    _, client = serve(DisconnectFault(pieces_sent=2))
    heard = []
    with pytest.raises(openai.APIConnectionError):
        for chunk in client.chat.completions.create(**ASK, stream=True):
            heard.append(chunk.choices[0].delta.content)
    assert heard == ["", "one "]


def test_a_stream_that_ends_too_early_raises_nothing(serve: Serve) -> None:
    _, client = serve(DisconnectFault(pieces_sent=2, ends_cleanly=True))
    chunks = list(client.chat.completions.create(**ASK, stream=True))
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["", "one "]
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, None]


def test_a_whole_answer_that_breaks_off(serve: Serve) -> None:
    server, client = serve(DisconnectFault())
    with pytest.raises(openai.APIConnectionError):
        client.with_options(max_retries=0).chat.completions.create(**ASK)
    assert len(server.exchanges) == 1


def test_a_stream_waits_at_its_gate(serve: Serve) -> None:
    server, client = serve(PauseFault("middle", pieces_sent=2))
    stream = iter(client.chat.completions.create(**ASK, stream=True))
    heard = [next(stream).choices[0].delta.content for _ in range(2)]
    assert server.gate("middle").wait_reached(60)
    server.gate("middle").open()
    heard += [chunk.choices[0].delta.content for chunk in stream]
    assert heard == ["", "one ", "two ", "three", None]


def test_a_whole_answer_waits_at_its_gate(serve: Serve) -> None:
    server, client = serve(PauseFault("start"))
    gate = server.gate("start")
    assert not gate.wait_reached(0)
    with ThreadPoolExecutor(1) as pool:
        completion = pool.submit(lambda: client.chat.completions.create(**ASK))
        assert gate.wait_reached(60)
        assert not completion.done()
        gate.open()
        assert completion.result().choices[0].message.content == TEXT


def test_a_server_that_closes_lets_nobody_wait(serve: Serve) -> None:
    server, client = serve(PauseFault("never"))
    with ThreadPoolExecutor(1) as pool:
        impatient = client.with_options(max_retries=0)
        waiting = pool.submit(lambda: impatient.chat.completions.create(**ASK))
        assert server.gate("never").wait_reached(60)
        server.close()
        with pytest.raises(openai.APIConnectionError):
            waiting.result()


def test_a_gate_that_no_rule_has(serve: Serve) -> None:
    server, _ = serve(PauseFault("a"))
    with pytest.raises(KeyError):
        server.gate("b")
