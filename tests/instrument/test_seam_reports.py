"""What a person is told of where a run halts, and what the run records of it."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from importlib.metadata import version
from types import ModuleType

import pytest
from anthropic import beta_tool

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper, instrument
from agentstepper_nb.instrument import announcement
from agentstepper_nb.instrument.proxy import ModelProxy
from agentstepper_nb.models.scripted import ScriptedServer
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import Event, EventKind, Run
from agentstepper_nb.protocol.header_limits import MAX_FOUND_TOOLS
from agentstepper_nb.protocol.seams import FoundBy, FoundTool, RunSeams, SeamKind
from agentstepper_nb.store import archive
from tests.frameworks.agent_process import SCRIPT
from tests.instrument.queries import ask_chat
from tests.instrument.test_discovery import loop, make_tools
from tests.sdk.person import LiveView

HTTPX = f"httpx2 {version('httpx2')}"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


@pytest.fixture
def discovering(seams: None) -> None:
    instrument.enable(discovers_tools=True)


@pytest.fixture
def notices() -> Iterator[list[str]]:
    """What the program's person read."""
    lines: list[str] = []
    announcement.set_output(lines.append)
    yield lines
    announcement.set_output(None)


@beta_tool
def multiply(a: int, b: int) -> str:
    """Multiply.

    Args:
        a: A number.
        b: Another.
    """
    return str(a * b)


def open_run(live: AgentStepperCore) -> AgentStepper:
    return AgentStepper(
        "agent", "127.0.0.1", live.client_port, stop_on_entry=False, mode="continue"
    )


def list_messages(person: LiveView) -> list[str]:
    return [row.summary for row in person.list_rows() if row.kind is EventKind.DEBUG_MESSAGE]


def has_seams(run: Run) -> bool:
    return isinstance(run.seams, RunSeams)


def get_seams(run: Run) -> RunSeams:
    assert isinstance(run.seams, RunSeams)
    return run.seams


def list_events(person: LiveView) -> tuple[Event, ...]:
    """The run's events, as its archive has them."""
    command = ui.ExportRun(run=person.run.id, format="archive")
    exported = person._request(command, ui.RunExported)
    return archive.load_archive(base64.b64decode(exported.data)).events


def found(*tools: tuple[str, FoundBy]) -> set[FoundTool]:
    return {FoundTool(name=name, found_by=method) for name, method in tools}


# ---- what the agent's author can ask -----------------------------------------------------------------


def test_a_stepper_lists_seams(dbg: AgentStepper) -> None:
    listed = {seam.library: seam for seam in dbg.seams().seams}
    assert listed["httpx2"].is_active
    assert (listed["httpx2"].version, listed["httpx2"].kind) == (
        version("httpx2"),
        SeamKind.QUERIES,
    )
    assert not listed["crewai"].is_active
    assert "imported" in listed["crewai"].reason
    table = repr(dbg.seams()).splitlines()
    assert table[0].split() == ["Library", "Version", "Halts", "at", "State"]
    assert ["httpx2", version("httpx2"), "queries", "active"] in [line.split() for line in table]
    assert any(line.startswith("Not imported: ") and "crewai" in line for line in table)
    assert "instrument.enable(discovers_tools=True)" in table[-1]


async def test_an_asynchronous_stepper_lists_them_too(live: AgentStepperCore, seams: None) -> None:
    async with AsyncAgentStepper(
        "agent", "127.0.0.1", live.client_port, stop_on_entry=False, mode="continue"
    ) as dbg:
        async with dbg.tool("ls", {}) as call:
            call.result = "files"
        assert set(dbg.seams().tools) == found(("ls", FoundBy.HAND))
        assert repr(dbg.seams()).endswith("Tool  Found by\nls    by hand")
    assert set(dbg.seams().tools) == found(("ls", FoundBy.HAND))  # also of a run that is over


def test_without_instrumentation_that_is_said(live: AgentStepperCore, person: LiveView) -> None:
    with open_run(live) as dbg, dbg.tool("ls", {}) as call:
        call.result = "files"
    assert repr(dbg.seams()).startswith("Instrumentation is off")
    assert not isinstance(person.wait_until_ended().seams, RunSeams)


def test_a_library_that_cannot_be_wrapped_is_named(
    live: AgentStepperCore, person: LiveView, seams: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", ModuleType("mcp"))  # of a version without sessions
    instrument.enable()
    with open_run(live) as dbg:
        (failed,) = (seam for seam in dbg.seams().seams if seam.has_failed)
        assert (failed.library, failed.is_active) == ("mcp", False)
        assert "can't be wrapped: AttributeError" in failed.reason
        assert "can't be wrapped" in repr(dbg.seams())
    assert failed in get_seams(person.wait_until_ended()).seams


def test_a_tools_name_may_be_any_text(
    live: AgentStepperCore, seams: None, person: LiveView
) -> None:
    names = ["\ud800", "long" * 100, *(f"tool {number}" for number in range(200))]
    with open_run(live) as dbg:
        for name in names[:2]:
            with dbg.tool(name, {}) as call:
                call.result = "done"
        for name in names[2:]:
            dbg._current_session().events.seams.add_tool(name, FoundBy.HAND)
        assert len(dbg.seams().tools) == MAX_FOUND_TOOLS
    first, second, *_ = get_seams(person.wait_until_ended()).tools
    assert (first.name, second.name) == ("\\ud800", ("long" * 50)[:199] + "…")


# ---- what is said ------------------------------------------------------------------------------------


def test_the_first_query_says_where_the_run_halts_and_nothing_is_said_twice(
    live: AgentStepperCore,
    discovering: None,
    server: ScriptedServer,
    person: LiveView,
    notices: list[str],
) -> None:
    with open_run(live):
        assert notices == []
        assert loop(server, "add", make_tools()) == "The tools say: 5"
    person.wait_until_ended()
    (line,) = notices
    assert line.startswith("Halting at queries of ")
    assert HTTPX in line
    assert line.endswith("; also halting at: add, search (discovered).")
    assert list_messages(person) == [line]
    rows = person.list_rows()
    assert [row.kind for row in rows[:3]] == [
        EventKind.PROGRAM_STARTED,
        EventKind.DEBUG_MESSAGE,
        EventKind.LLM_QUERY,
    ]


def test_tools_that_are_discovered_later_are_added_by_a_line(
    live: AgentStepperCore,
    discovering: None,
    server: ScriptedServer,
    person: LiveView,
    notices: list[str],
) -> None:
    with open_run(live):
        ask_chat(server)
        loop(server, "add", make_tools())
    person.wait_until_ended()
    assert len(notices) == 2
    assert "also" not in notices[0]
    assert notices[1] == "Also halting at: add, search (discovered)."
    assert list_messages(person) == notices


def test_the_next_run_says_it_again(
    live: AgentStepperCore, seams: None, server: ScriptedServer, notices: list[str]
) -> None:
    for _ in range(2):
        with open_run(live):
            ask_chat(server)
    assert len(notices) == 2
    assert notices[0] == notices[1]


def test_a_tool_call_alone_says_it_too(
    live: AgentStepperCore, seams: None, person: LiveView, notices: list[str]
) -> None:
    with open_run(live):
        multiply.call({"a": 2, "b": 3})
    person.wait_until_ended()
    assert len(notices) == 1
    assert f"; tools of anthropic {version('anthropic')}" in notices[0]
    assert list_messages(person) == notices


def test_an_output_that_fails_fails_no_query(
    live: AgentStepperCore,
    seams: None,
    server: ScriptedServer,
    person: LiveView,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(line: str) -> None:
        raise ValueError("I/O operation on closed file")

    announcement.set_output(fail)
    try:
        with open_run(live):
            ask_chat(server)
    finally:
        announcement.set_output(None)
    assert "can't be shown: Halting at queries" in caplog.text
    person.wait_until_ended()
    assert len(list_messages(person)) == 1


def test_a_run_that_is_traced_by_hand_alone_says_nothing(
    live: AgentStepperCore, seams: None, person: LiveView, notices: list[str]
) -> None:
    with open_run(live) as dbg, dbg.llm("hello") as query:
        query.response = "hi"
    person.wait_until_ended()
    assert (notices, list_messages(person)) == ([], [])


# ---- what the run records ----------------------------------------------------------------------------


def test_each_tool_call_has_the_method_that_found_it(
    live: AgentStepperCore, discovering: None, server: ScriptedServer, person: LiveView
) -> None:
    with open_run(live) as dbg:
        multiply.call({"a": 2, "b": 3})
        loop(server, "add", make_tools())
        with dbg.tool("ls", {}) as call:
            call.result = "files"
    seams = get_seams(person.wait_until_ended())
    assert set(seams.tools) == found(
        ("multiply", FoundBy.ADAPTER),
        ("add", FoundBy.DISCOVERY),
        ("search", FoundBy.DISCOVERY),
        ("ls", FoundBy.HAND),
    )
    assert set(dbg.seams().tools) == set(seams.tools)
    assert seams.discovery_off_reason == ""
    assert {seam.library for seam in seams.seams} >= {"httpx2", "anthropic"}
    calls = [each for each in list_events(person) if each.kind is EventKind.TOOL_INVOCATION]
    methods = {each.name: each.found_by for each in calls}
    assert (methods["multiply"], methods["add"]) == (FoundBy.ADAPTER, FoundBy.DISCOVERY)
    assert not isinstance(methods["ls"], FoundBy)  # by hand is what nothing is said of


def test_views_have_it_from_the_start_and_views_that_come_later_too(
    live: AgentStepperCore, seams: None, person: LiveView
) -> None:
    with open_run(live):
        command = ui.OpenRun(run=person.wait_until(lambda run: True).id)
        opened = person._request(command, ui.RunOpened).run  # from here on all headers are sent
        if not has_seams(opened):
            opened = person.wait_until(has_seams)
        assert get_seams(opened).tools == ()
        multiply.call({"a": 2, "b": 3})
        person.wait_until(lambda run: has_seams(run) and get_seams(run).tools != ())
    with LiveView(live.ui_port) as later:
        assert later.run.id == person.run.id
        assert get_seams(later.run) == get_seams(person.run)
    assert set(get_seams(person.run).tools) == found(("multiply", FoundBy.ADAPTER))


def test_disable_takes_the_seams_from_the_run(
    live: AgentStepperCore, seams: None, person: LiveView
) -> None:
    with open_run(live) as dbg:
        instrument.disable()
        with dbg.tool("ls", {}) as call:
            call.result = "files"
    sent = get_seams(person.wait_until_ended())
    assert sent.seams == ()
    assert set(sent.tools) == found(("ls", FoundBy.HAND))


async def test_a_proxy_is_a_seam(dbg: AgentStepper) -> None:
    proxy = ModelProxy(dbg, {"openai": "https://models.example.com"})
    async with proxy.serve():
        (seam,) = (each for each in dbg.seams().seams if each.library == "proxy")
        assert seam.is_active
        assert f"active: on port {proxy.port} of this machine, for openai" in repr(dbg.seams())
        assert proxy.token not in repr(dbg.seams())
    assert all(each.library != "proxy" for each in dbg.seams().seams)
