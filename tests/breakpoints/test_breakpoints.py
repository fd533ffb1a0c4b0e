"""Stops and prices in Python, at a Core that agents find."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agentstepper_nb import (
    AgentStepper,
    Breakpoint,
    add_breakpoint,
    delete_price,
    discover,
    dry_run,
    list_breakpoints,
    list_prices,
    set_price,
)
from agentstepper_nb.breakpoints import breakpoint_syntax
from agentstepper_nb.errors import CommandError, DiscoveryError, ProtocolError
from agentstepper_nb.hub.standalone import AgentStepperCore
from agentstepper_nb.protocol.breakpoint_rules import Price
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    Event,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunState,
    Usage,
)
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.store import archive
from notebooks.driver import Driver
from tests.docs.pages import GUIDE, blocks


@pytest.fixture(scope="module")
def running() -> Iterator[AgentStepperCore]:
    with AgentStepperCore(client_port=0, ui_port=0) as core:
        yield core


@pytest.fixture(autouse=True)
def core(running: AgentStepperCore, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    """A Core that this process finds, without a rule in the end."""
    monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{running.client_port}")
    yield running
    for breakpoint in list_breakpoints():
        breakpoint.delete()
    for price in list_prices():
        delete_price(price.model)


def store_run(core: AgentStepperCore, name: str, *paths: str, program: str = "reader") -> str:
    """A run that calls a tool on each of these files, as the Core keeps it."""
    points = [
        HaltPoint(
            id=f"b{seq}",
            run="r",
            event=f"e{seq}",
            seq=seq,
            side=EventSide.BEGIN,
            kind=EventKind.TOOL_INVOCATION,
            name="open",
            at=float(seq),
            data=json.dumps({"Tool": "open", "Argument": {"path": path}}),
            answer=AnswerKind.RESUME,
            answered_at=float(seq),
        )
        for seq, path in enumerate(paths, 1)
    ]
    events = [
        Event(id=point.event, run="r", kind=point.kind, at=point.at, name="open", ended_at=point.at)
        for point in points
    ]
    run = Run(
        id="r",
        name=name,
        program=program,
        started_at=1.0,
        ended_at=9.0,
        state=RunState.IDLE,
        agent_state=AgentActivity.FINISHED,
        rows=len(points),
    )
    history = RunHistory(run=run, events=tuple(events), halt_points=tuple(points))
    imported = core.hub.import_run(archive.dump_archive(history))
    return asyncio.run_coroutine_threadsafe(imported, core.loop).result().id


@contextmanager
def driven(core: AgentStepperCore) -> Iterator[None]:
    """Somebody steps whatever halts."""
    driver = Driver(f"ws://127.0.0.1:{core.ui_port}")
    driver.start()
    try:
        yield
    finally:
        driver.stop()


# ---- breakpoints -------------------------------------------------------------------------------------


def test_breakpoints_are_set_changed_and_deleted() -> None:
    assert (list_breakpoints(), repr(list_breakpoints())) == ([], "No breakpoints are set.")
    first = add_breakpoint("before tool run_tests hit 2")
    second = add_breakpoint(Breakpoint("after error", "librarian"))
    assert list_breakpoints() == [first, second]
    second.disable()
    assert [breakpoint.enabled for breakpoint in list_breakpoints()] == [True, False]
    assert repr(list_breakpoints()).splitlines() == [
        "             breakpoint                   agents",
        "1  enabled   before tool run_tests hit 2  *",
        "2  disabled  after error                  librarian",
    ]
    second.enable()
    assert list_breakpoints() == [first, second]
    first.delete()
    assert list_breakpoints() == [second]
    assert repr(second) == "<Breakpoint: after error for librarian>"


def test_a_table_of_breakpoints_is_text() -> None:
    add_breakpoint('tool where "<b>" in text')
    assert "&lt;b&gt;" in list_breakpoints()._repr_html_()
    assert "<b>" not in list_breakpoints()._repr_html_()


def test_a_condition_is_the_cores_to_judge() -> None:
    with pytest.raises(ProtocolError) as error:
        add_breakpoint("tool where args.path +")
    assert error.value.code == "invalid_stop"
    with pytest.raises(ProtocolError):
        dry_run("tool where import os")
    assert list_breakpoints() == []


def test_a_breakpoint_that_is_not_set_can_not_be_deleted() -> None:
    with pytest.raises(CommandError) as error:
        Breakpoint("any").delete()
    assert error.value.code == "unknown_stop"


def test_what_the_guide_shows_works(core: AgentStepperCore) -> None:
    page = GUIDE / "breakpoints.md"
    store_run(core, "Sunday", "/etc/passwd", program="writer")
    for block in blocks(page):
        if block.language == "python" and block.name is None:  # no program of its own
            exec(block.text, {})
    lines = [line for block in blocks(page) if block.language == "text" for line in block.lines]
    written = [rest for line in lines for _, _, rest in [line.partition("%agentstepper break ")]]
    assert [breakpoint_syntax.parse_breakpoint(line, "s").id for line in written if line] == [
        "s"
    ] * 7


# ---- tried ------------------------------------------------------------------------------------------


def test_a_breakpoint_is_tried_on_what_is_kept(core: AgentStepperCore) -> None:
    assert repr(dry_run("tool for nobody")) == "These agents have no recorded run yet."
    first = store_run(core, "Monday", "a.py", "b.txt", "a.py")
    second = store_run(core, "Tuesday", *["a.py"] * 12)
    found = dry_run('before tool open for reader where args.path.endswith(".py")')
    assert [(trial.run.id, trial.result.total) for trial in found] == [(second, 12), (first, 2)]
    assert [trial.hits for trial in found] == [tuple(range(1, 13)), (1, 3)]
    assert (found.total, list_breakpoints()) == (14, [])
    assert repr(found).splitlines() == [
        "It would have hit 14 times in these 2 runs.",
        "run      rows  hits  at rows",
        "Tuesday  12    12    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …",
        "Monday   3     2     1, 3",
    ]


def test_the_run_is_named_as_people_name_one(core: AgentStepperCore) -> None:
    run = store_run(core, "Wednesday <b>", "a.py")
    for named in (run, "Wednesday <b>"):
        assert [trial.run.id for trial in dry_run("tool open", named)] == [run]
    assert dry_run("tool", "reader")[0].run.program == "reader"
    assert repr(dry_run("after error", run)).startswith("No hit in this run.")
    assert "Wednesday &lt;b&gt;" in dry_run("tool", run)._repr_html_()
    with pytest.raises(CommandError) as error:
        dry_run("tool", "Thursday")
    assert error.value.code == "unknown_run"


def test_a_condition_that_fails_says_so(core: AgentStepperCore) -> None:
    run = store_run(core, "Friday", "a.py")
    found = dry_run("tool where 1 / 0 > 1", run)
    assert "Friday: " in repr(found).splitlines()[-1]
    assert "Friday: " in found._repr_html_()


# ---- prices -----------------------------------------------------------------------------------------


def test_names_come_before_patterns() -> None:
    assert (list_prices(), repr(list_prices())) == ([], "No prices are set.")
    set_price("*", 1, 2)
    set_price("gpt-*", 3, 4.5)
    set_price("gpt-mini", 0.25, 2)
    set_price("gpt-*", 5, 6)
    assert list_prices() == [
        Price(model="gpt-mini", input=0.25, output=2.0),
        Price(model="gpt-*", input=5.0, output=6.0),
        Price(model="*", input=1.0, output=2.0),
    ]
    assert repr(list_prices()).splitlines()[1] == "gpt-mini  $0.25  $2"
    assert "<td" in list_prices()._repr_html_()
    assert [price.model for price in delete_price("gpt-*")] == ["gpt-mini", "*"]


def test_a_price_that_can_not_be() -> None:
    with pytest.raises(ProtocolError, match=">= 0"):
        set_price("gpt-mini", -1, 2)


def test_a_query_is_priced_by_what_was_set(core: AgentStepperCore) -> None:
    set_price("gpt-*", 1000, 2000)
    with driven(core), AgentStepper("asks", stop_on_entry=False) as agent:
        for model, told in (("gpt-mini", {}), ("other", {}), ("gpt-mini", {"cost": 0.25})):
            with agent.llm({"model": model}) as query:
                query.response = {"usage": {"prompt_tokens": 100, "completion_tokens": 50, **told}}
        run = agent.run_id
    usage = core.hub.run(run).usage
    assert usage == Usage(input_tokens=300, output_tokens=150, cost=0.45, estimated=True)


# ---- with a token -----------------------------------------------------------------------------------


def test_the_agent_token_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentStepperCore(client_port=0, ui_port=None, token="agents") as guarded:
        url = guarded.url(guarded.client_port)
        discover.remove_process_core(url)  # as for a program of another machine
        with monkeypatch.context() as there:
            there.setenv("AGENTSTEPPER_URL", url)
            there.setenv("AGENTSTEPPER_TOKEN", "agents")
            with pytest.raises(CommandError, match="control token"):
                add_breakpoint("before tool open")
            there.setenv("AGENTSTEPPER_CONTROL_TOKEN", guarded.tokens.control)
            add_breakpoint("before tool open")
            assert len(list_breakpoints()) == 1


# ---- without a Core ---------------------------------------------------------------------------------


def test_no_core(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:1")
        with pytest.raises(DiscoveryError, match="No Core listens"):
            list_breakpoints()
