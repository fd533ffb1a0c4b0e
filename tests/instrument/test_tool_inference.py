"""Tools of which the debugger sees nothing but the model's calls and the agent's next requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor as Pool
from functools import partial
from threading import Event
from typing import Any

import pytest

from agentstepper_nb import AgentStepper
from agentstepper_nb.instrument.current_run import expect_remote_agent
from agentstepper_nb.instrument.tool_inference import InferredTools
from agentstepper_nb.llm_wire.tool_calls import find_tool_calls, find_tool_results, remove_call
from agentstepper_nb.models.scripted import (
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    say,
    turn,
)
from agentstepper_nb.own_queries import mark_own_query
from agentstepper_nb.protocol.data_model import EventKind, EventSide, TimelineRow
from agentstepper_nb.sdk.drivers import run_flow
from tests.frameworks.agent_process import SCRIPT
from tests.instrument.conftest import Serve
from tests.instrument.queries import wait_for_queries
from tests.instrument.tool_loops import LOOPS, Loop, Toolbox, loop_chat, serve_gemini
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

TOOL = EventKind.TOOL_INVOCATION
ARGS = {"a": 2, "b": 3}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


@pytest.fixture(params=LOOPS)
def loop(request: Any, server: ScriptedServer) -> Iterator[tuple[Loop, str]]:
    """An agent, and its model's address."""
    if request.param == "gemini":
        with serve_gemini() as url:
            yield LOOPS["gemini"], url
    else:
        yield LOOPS[request.param], server.root_url


def run_elsewhere(loop: Loop, url: str, text: str, tools: Toolbox) -> str:
    """Run an agent as in another process: this process's seams see the proxy's requests alone."""
    with mark_own_query():
        return loop(url, text, tools)


def edit_at(person: LiveView, kind: EventKind, change: Callable[[Any], Any]) -> TimelineRow:
    pending = person.wait_until_halted()
    row = next(row for row in person.list_rows() if row.id == pending)
    assert row.kind is kind, row
    person.step(change(person.get_data(row)))
    return row


def replace_numbers(value: Any) -> Any:
    """5, as a text or in an object, becomes 1005."""
    return json.loads(json.dumps(value).replace("5", "1005"))


def list_tools(person: LiveView) -> list[TimelineRow]:
    return [row for row in person.list_rows() if row.kind is TOOL]


# ---- in the agent's own process ----------------------------------------------------------------------


def test_a_result_halts_and_can_be_edited_as_the_api_takes_it(
    dbg: AgentStepper, loop: tuple[Loop, str], person: LiveView, pool: Pool
) -> None:
    run, url = loop
    running = pool.submit(run, url, "add", Toolbox())
    person.step()
    person.step()
    person.wait_until_halted()
    with pytest.raises(AssertionError, match=r"a text, or a list|is a JSON object"):
        person.step(7)
    edit_at(person, TOOL, replace_numbers)
    person.step()
    person.step()
    assert running.result(TIMEOUT_S) == "The tools say: 1005"
    begin, end = list_tools(person)
    assert (begin.name, begin.side, end.side) == ("add", EventSide.BEGIN, EventSide.END)
    assert person.get_data(begin) == {"Tool": "add", "Argument": ARGS}
    assert begin.at < end.at


def test_an_edited_result_is_edited_in_each_later_request(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    def reply(request: Any) -> Any:
        texts = [message.text for message in request.messages if message.role == "tool"]
        return say(", ".join(texts)) if len(texts) == 2 else say(None, ScriptedCall("add", ARGS))

    script = Script(
        "twice",
        [
            ScriptRule(turn(0), say(None, ScriptedCall("add", ARGS))),
            ScriptRule(lambda _: True, reply),
        ],
    )
    with ScriptedServer(script) as server:
        running = pool.submit(loop_chat, server.root_url, "add twice", Toolbox())
        person.step()
        person.step()
        edit_at(person, TOOL, replace_numbers)
        person.resume()
        assert running.result(TIMEOUT_S) == "1005, 5"
    assert [
        [each.get("content") for each in exchange.json["messages"] if each["role"] == "tool"]
        for exchange in server.exchanges
    ] == [[], ["1005"], ["1005", "5"]]


def test_parallel_calls_end_each_with_its_own_result(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    running = pool.submit(loop_chat, server.root_url, "both", Toolbox())
    person.step()
    person.step()
    edit_at(person, TOOL, lambda _: "six")
    edit_at(person, TOOL, lambda text: text.replace("boats", "ships"))
    person.resume()
    assert running.result(TIMEOUT_S) == "The tools say: six, found ships"
    assert [row.name for row in list_tools(person)] == ["add", "add", "search", "search"]


def test_gemini_calls_without_ids_are_known_by_their_place(
    dbg: AgentStepper, person: LiveView, pool: Pool
) -> None:
    with serve_gemini() as url:
        running = pool.submit(LOOPS["gemini"], url, "twice", Toolbox())
        person.step()
        person.step()
        edit_at(person, TOOL, lambda _: {"result": "first"})
        person.step()
        person.step()
        edit_at(person, TOOL, lambda _: {"result": "second"})
        person.resume()
        assert running.result(TIMEOUT_S) == "The tools say: first, second"


@pytest.mark.parametrize("name", ["add", "Adder"])
def test_a_call_that_is_traced_is_not_inferred(
    name: str, dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    class Traced(Toolbox):
        @dbg.traced_tool(name=name)
        def add(self, a: int, b: int) -> int:
            return a + b

        def execute(self, name: str, args: Any) -> str:
            return str(self.add(**args))

    running = pool.submit(loop_chat, server.root_url, "add", Traced())
    person.step()
    person.resume()
    assert running.result(TIMEOUT_S) == "The tools say: 5"
    wait_for_queries(person, 4)
    assert [row.name for row in list_tools(person)] == [name, name]


def test_agents_side_by_side_may_have_calls_of_one_id(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    """The model is asked by the right agent after the left one's tool begins, and before it ends."""
    left_began, right_asked, left_ended = Event(), Event(), Event()

    class Left(Toolbox):
        @dbg.traced_tool
        def add(self, a: int, b: int) -> int:
            left_began.set()
            assert right_asked.wait(TIMEOUT_S)
            return a + b

        def execute(self, name: str, args: Any) -> str:
            return str(self.add(**args))

    class Right(Left):
        def execute(self, name: str, args: Any) -> str:
            right_asked.set()
            assert left_ended.wait(TIMEOUT_S)
            return super().execute(name, args)

    def run(name: str, tools: Toolbox) -> str:
        with dbg.agent(name):
            return loop_chat(server.root_url, "add", tools)

    left = pool.submit(run, "left", Left())
    person.step()
    person.resume()
    assert left_began.wait(TIMEOUT_S)
    right = pool.submit(run, "right", Right())
    assert left.result(TIMEOUT_S) == "The tools say: 5"
    left_ended.set()
    assert right.result(TIMEOUT_S) == "The tools say: 5"
    wait_for_queries(person, 8)
    assert [row.name for row in list_tools(person)] == ["add"] * 4


def test_a_tool_that_traces_another_is_inferred(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    class Outer(Toolbox):
        def execute(self, name: str, args: Any) -> str:
            return str(self.look_up("sum"))

        @dbg.traced_tool
        def look_up(self, key: str) -> int:
            return 5

    running = pool.submit(loop_chat, server.root_url, "add", Outer())
    person.step()
    person.resume()
    running.result(TIMEOUT_S)
    wait_for_queries(person, 4)
    assert sorted(str(row.name) for row in list_tools(person)) == [
        "add",
        "add",
        "look_up",
        "look_up",
    ]


def test_stop_at_a_result_ends_the_agent(
    dbg: AgentStepper, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    running = pool.submit(loop_chat, server.root_url, "add", Toolbox())
    person.step()
    person.step()
    person.wait_until_halted()
    person.stop()
    with pytest.raises(BaseException, match="The person pressed Stop"):
        running.result(TIMEOUT_S)
    assert len(server.exchanges) == 1


# ---- through the proxy -------------------------------------------------------------------------------


def test_a_call_of_another_process_is_edited_at_its_begin_and_its_end(
    serve: Serve, loop: tuple[Loop, str], person: LiveView, pool: Pool
) -> None:
    run, url = loop
    tools = Toolbox()
    with serve(url) as proxy:
        running = pool.submit(run_elsewhere, run, proxy.make_url("openai"), "add", tools)
        person.step()
        person.step()
        edit_at(person, TOOL, lambda call: {**call, "Argument": {"a": 2, "b": 13}})
        edit_at(person, TOOL, lambda value: json.loads(json.dumps(value).replace("15", "1500")))
        person.resume()
        assert running.result(TIMEOUT_S) == "The tools say: 1500"
    assert tools.made == [("add", {"a": 2, "b": 13})]
    assert [row.side for row in list_tools(person)] == [EventSide.BEGIN, EventSide.END]


def test_a_denied_call_is_taken_out_of_the_answer(
    serve: Serve, loop: tuple[Loop, str], person: LiveView, pool: Pool
) -> None:
    run, url = loop
    tools = Toolbox()
    with serve(url) as proxy:
        running = pool.submit(run_elsewhere, run, proxy.make_url("openai"), "add", tools)
        person.step()
        person.step()
        person.wait_until_halted()
        person.deny("not today")
        assert running.result(TIMEOUT_S) == "add was not called: not today"
    assert tools.made == []


def test_of_parallel_calls_the_others_are_made(
    serve: Serve, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    tools = Toolbox()
    with serve(server.root_url) as proxy:
        url = proxy.make_url("openai")
        running = pool.submit(run_elsewhere, loop_chat, url, "both", tools)
        person.step()
        person.step()
        person.wait_until_halted()
        person.deny("no sums")
        person.resume()
        assert running.result(TIMEOUT_S) == "The tools say: found boats"
    assert tools.made == [("search", {"text": "boats"})]
    message = server.exchanges[1].json["messages"][1]
    assert message["content"] == "add was not called: no sums"
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["search"]


def test_another_tool_than_those_offered_is_refused(
    serve: Serve, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    with serve(server.root_url) as proxy:
        url = proxy.make_url("openai")
        running = pool.submit(run_elsewhere, loop_chat, url, "add", Toolbox())
        person.step()
        person.step()
        person.wait_until_halted()
        with pytest.raises(AssertionError, match="The request offers no tool 'format'"):
            person.step({"Tool": "format", "Argument": {}})
        edit_at(person, TOOL, lambda _: {"Tool": "search", "Argument": {"text": "ships"}})
        person.resume()
        assert running.result(TIMEOUT_S) == "The tools say: found ships"


def test_a_live_stream_of_another_process_has_its_calls(
    serve: Serve, server: ScriptedServer, person: LiveView, pool: Pool
) -> None:
    with serve(server.root_url) as proxy:
        url = proxy.make_url("openai")
        running = pool.submit(run_elsewhere, LOOPS["chat-stream"], url, "add", Toolbox())
        person.wait_until_halted()
        person.resume()
        assert running.result(TIMEOUT_S) == "The tools say: 5"
        wait_for_queries(person, 4)
        while [row.side for row in list_tools(person)] != [EventSide.BEGIN, EventSide.END]:
            person.wait_change()  # the proxy may send the call's end after the answer


def test_a_result_that_comes_before_its_call_ends_the_call(
    dbg: AgentStepper, person: LiveView
) -> None:
    """An agent reads a live stream, and asks on, before the stream's end is recorded."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    asked = {"model": "m", "messages": [{"role": "user", "content": "add"}]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "5"}
    later = {**asked, "messages": [*asked["messages"], message, result]}
    answer = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    tools, flow, link = InferredTools(), dbg._flow(), dbg._current_session().link
    with expect_remote_agent():
        assert run_flow(link, tools.end_calls(flow, later)) is later
        run_flow(link, tools.begin_calls(flow, asked, answer, waits=False))
        assert run_flow(link, tools.end_calls(flow, later)) is later
    dbg.post_debug_message("asks on")
    while person.list_rows()[-1].kind is not EventKind.DEBUG_MESSAGE:
        person.wait_change()
    rows = list_tools(person)
    assert [row.side for row in rows] == [EventSide.BEGIN, EventSide.END]
    assert person.get_data(rows[1]) == "5"


# ---- on the wire -------------------------------------------------------------------------------------


def test_a_call_known_by_its_place_is_another_in_another_conversation() -> None:
    part = {"functionCall": {"name": "add", "args": ARGS}}
    answer = {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
    asked = [{"role": "user", "parts": [{"text": "add"}]}]
    result = {"functionResponse": {"name": "add", "response": {"result": 5}}}
    later = {"contents": [*asked, {"parts": [part]}, {"parts": [result]}]}
    (call,) = find_tool_calls(answer, {"contents": asked})
    (other,) = find_tool_calls(answer, {"contents": [{"role": "user", "parts": []}]})
    (found,) = find_tool_results(later)
    assert call.match_keys == found.match_keys != other.match_keys


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            {
                "choices": [
                    {
                        "finish_reason": "tool_calls",
                        "message": {
                            "content": None,
                            "tool_calls": [
                                {"id": "1", "type": "function", "function": {"name": "add"}}
                            ],
                        },
                    }
                ]
            },
            "stop",
        ),
        (
            {
                "stop_reason": "tool_use",
                "content": [{"type": "tool_use", "id": "1", "name": "add"}],
            },
            "end_turn",
        ),
    ],
)
def test_an_answer_without_its_only_call_says_that_it_ended(answer: Any, reason: str) -> None:
    find: Callable[[], Any] = partial(find_tool_calls, answer, {})
    remove_call(find()[0], "no")
    assert find() == []
    owner = answer["choices"][0] if "choices" in answer else answer
    assert reason in (owner.get("finish_reason"), owner.get("stop_reason"))
