"""Several agents and several UIs at once, of both versions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from websockets.asyncio.server import ServerConnection, serve

from agentstepper_nb.hub import AccessRights
from agentstepper_nb.hub.access import select_subprotocol
from agentstepper_nb.hub.sockets import FairScheduler, SocketConnection, serve_connection
from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV1, AgentV2
from tests.hub.socket_uis import SocketView, ViewV1, ViewV2


def test_each_agent_is_stepped_by_another_ui(socket_harness: SocketHarness) -> None:
    uis = [socket_harness.ui(version) for version in (1, 2, 1, 2)]
    agents = [socket_harness.started(version, f"P{n}") for n, version in enumerate((1, 2, 2, 1))]
    runs = [uis[0].find_run(f"P{n}") for n in range(4)]
    points = [agent.begin_query(n) for n, agent in enumerate(agents)]
    for ui in uis:
        assert [ui.wait_until_halted(run) for run in runs] == points
    # Each is stepped by one, in an order of its own, and only it goes on.
    for n in (2, 0, 3, 1):
        uis[n].step(runs[n])
        assert agents[n].receive_answer() == n
    for ui in uis:
        for run in runs:
            assert ui.wait_for_state(run, "step")["state"] == "step"


def test_alternating_steps_leave_all_uis_the_same(socket_harness: SocketHarness) -> None:
    uis = [socket_harness.ui(2), socket_harness.ui(2)]
    assert all(isinstance(ui, ViewV2) for ui in uis)
    agents = [socket_harness.started(2, "A"), socket_harness.started(1, "B")]
    runs = [uis[0].find_run("A"), uis[0].find_run("B")]
    for ui in uis:
        for run in runs:
            ui.open_run(run)
    for turn in range(20):
        agent, run, ui = agents[turn % 2], runs[turn % 2], uis[turn // 2 % 2]
        asked = agent.begin_query(turn)
        ui.wait_until_halted(run, asked)
        ui.step(run)
        assert agent.receive_answer() == turn
        for each in uis:
            each.barrier()
    rows = [ui.rows for ui in uis]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 20
    fresh = socket_harness.ui(2)
    assert isinstance(fresh, ViewV2)
    for run in runs:
        for row in fresh.open_run(run)["rows"]:
            assert rows[0][row["id"]] == row
    assert {id: run["pending"] for id, run in fresh.runs.items()} == {run: [] for run in runs}


def test_who_is_second_is_told_and_sees_the_new_state(socket_harness: SocketHarness) -> None:
    first, second = socket_harness.ui(2), socket_harness.ui(2)
    assert isinstance(first, ViewV2)
    assert isinstance(second, ViewV2)
    agent = socket_harness.started()
    run, asked = first.find_run("P"), agent.begin_query("hi")
    for ui in (first, second):
        assert ui.wait_until_halted(run) == asked
    first.request("step", run=run, breakpoint=asked, revision=1, edit='"first"')
    error = second.expect_refusal("step", run=run, breakpoint=asked, revision=1, edit='"second"')
    assert (error["code"], error["run"]) == ("stale", run)
    assert second.pending(run) is None  # it was told before it was refused
    assert agent.receive_answer() == "first"


def test_an_edit_meanwhile_makes_a_step_stale(socket_harness: SocketHarness) -> None:
    first, second = socket_harness.ui(2), socket_harness.ui(2)
    assert isinstance(first, ViewV2)
    assert isinstance(second, ViewV2)
    agent = socket_harness.started()
    run, asked = first.find_run("P"), agent.begin_query("hi")
    second.open_run(second.find_run("P"))
    first.wait_until_halted(run)
    first.edit(run, asked, "first")
    error = second.expect_refusal("step", run=run, breakpoint=asked, revision=1)
    assert "edited this message meanwhile" in error["message"]
    assert (second.rows[asked]["revision"], second.rows[asked]["edited"]) == (2, True)
    second.request("step", run=run, breakpoint=asked, revision=2)
    assert agent.receive_answer() == "first"


def test_a_ui_of_version_1_that_is_second_does_no_harm(socket_harness: SocketHarness) -> None:
    first, second = socket_harness.ui(1), socket_harness.ui(1)
    agent = socket_harness.started(1)
    run, asked = first.find_run("P"), agent.begin_query("hi")
    for ui in (first, second):
        assert ui.wait_until_halted(run) == asked
    first.step(run)
    second.step(run)
    assert agent.receive_answer() == "hi"
    # The second step came when nothing was pending, and the next halt point halts.
    assert first.wait_until_halted(run, agent.reach("next")) is not None


def test_renaming_and_deleting_reach_everybody_else(socket_harness: SocketHarness) -> None:
    doer, other, view = socket_harness.ui(1), socket_harness.ui(1), socket_harness.ui(2)
    agent = socket_harness.started(1)
    run = doer.find_run("P")
    for ui in (other, view):
        ui.find_run("P")
    doer.run_command("rename_run", run=run, name="mine")
    assert isinstance(other, ViewV1)
    (renamed,) = other.receive_event("init_app_state")["runs"]
    assert (renamed["uuid"], renamed["name"]) == (run, "mine")
    agent.finish()
    for ui in (doer, other, view):
        ui.wait_for_state(run, "idle")
    doer.run_command("delete_run", run=run)
    assert other.receive_event("init_app_state") == {
        "runs": [],
        "activeRun": None,
        "haltedAt": None,
    }
    while run in view.runs:
        view.apply(view.receive())
    assert socket_harness.ui(2).runs == {}
    # The one who did it was told nothing: its next message answers its next command.
    assert doer.expect_refusal("step", run=run)["code"] == "unknown_run"


def test_an_import_is_announced_to_all(socket_harness: SocketHarness) -> None:
    one, other, view = socket_harness.ui(1), socket_harness.ui(1), socket_harness.ui(2)
    agent = socket_harness.started(2, "Old")
    agent.finish()
    run = one.find_run("Old")
    one.wait_for_state(run, "idle")
    assert isinstance(one, ViewV1)
    data = one.download(run)["data"]
    other.run_command("import_run", data=data)
    for ui in (one, other, view):
        ui.wait_for_state(run, "idle")
        while len(ui.runs) < 2:
            ui.apply(ui.receive())
        (copy,) = (each for id, each in ui.runs.items() if id != run)
        assert (copy["state"], copy["name"]) == ("idle", "Run #1 of Old")


def test_the_snapshot_of_version_1_names_the_run_that_halted_last(
    socket_harness: SocketHarness,
) -> None:
    ui = socket_harness.ui(2)
    first, second = socket_harness.started(2, "A"), socket_harness.started(1, "B")
    runs = [ui.find_run("A"), ui.find_run("B")]
    asked = first.begin_query()
    ui.wait_until_halted(runs[0])
    late = socket_harness.ui(1)
    assert isinstance(late, ViewV1)
    assert (late.active, late.halted_at, list(late.runs)) == (runs[0], asked, runs)
    first.finish()
    ui.wait_for_state(runs[0], "idle")
    later = socket_harness.ui(1)
    assert isinstance(later, ViewV1)
    assert (later.active, later.halted_at) == (runs[1], None)
    second.finish()


def test_a_second_program_on_a_socket_of_version_1_ends_the_first(
    socket_harness: SocketHarness,
) -> None:
    ui, agent = socket_harness.ui(1), socket_harness.started(1, "First")
    agent.begin_query()
    first = ui.find_run("First")
    ui.wait_until_halted(first)
    agent.start("Second")
    second = ui.find_run("Second")
    assert ui.runs[first]["state"] == "idle"
    agent.begin_query("hi")
    ui.wait_until_halted(second)
    ui.step(second)
    assert agent.receive_answer() == "hi"
    agent.finish()
    ui.wait_for_state(second, "idle")
    agent.start("First")
    while len(ui.runs) < 3:
        ui.apply(ui.receive())
    assert ui.runs[ui.find_run("First")]["name"] == "Run #2 of First"


def test_threads_of_an_agent_are_answered_each_once(socket_harness: SocketHarness) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started()
    assert isinstance(agent, AgentV2)
    assert isinstance(ui, ViewV2)
    run = ui.find_run("P")
    points = [agent.begin_query(n) for n in range(4)]
    while len(ui.runs[run]["pending"]) < 4:
        ui.apply(ui.receive())
    ui.request("step", run=run, breakpoint=points[2], revision=1)
    agent.withdraw(points[0])
    agent.withdraw(points[2])  # it crosses its answer
    while len(ui.runs[run]["pending"]) > 2:
        ui.apply(ui.receive())
    ui.resume(run)
    assert [agent.receive_answer_body()["breakpoint"] for _ in range(3)] == [
        points[2],
        points[1],
        points[3],
    ]
    # Nothing more comes: the next message answers what is sent now.
    last = agent.begin_query("last")
    assert agent.receive_answer_body()["breakpoint"] == last


def test_version_2_is_told_of_a_run_only_what_a_list_shows_until_it_opens_it(
    socket_harness: SocketHarness,
) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started()
    assert isinstance(ui, ViewV2)
    run = ui.find_run("P")
    ui.resume(run)
    for turn in range(3):
        agent.begin_query(turn)
        agent.receive_answer()
    agent.post_debug_message("look")
    agent.commit()
    asked = agent.begin_query("last")
    agent.receive_answer()
    ui.barrier()
    assert (ui.rows, ui.commits, ui.runs[run]["rows"]) == ({}, [], 0)
    opened = ui.open_run(run)
    assert (len(opened["rows"]), len(opened["commits"]), opened["run"]["rows"]) == (5, 1, 5)
    agent.reach("answer")
    agent.receive_answer()
    ui.barrier()
    assert len(ui.rows) == 6
    ui.request("close_run", run=run)
    agent.begin_query("unseen")
    agent.receive_answer()
    ui.barrier()
    assert len(ui.rows) == 6
    assert ui.rows[asked]["answer"] == "resume"


# ---- rights -----------------------------------------------------------------------------------------

#: Commands that change something, by the name they have in both versions.
SHARED = ("step", "continue", "halt", "rename_run", "delete_run", "import_run")


@contextmanager
def watching(socket_harness: SocketHarness, version: int) -> Iterator[SocketView]:
    """A UI whose login may watch only, on a socket of its own."""

    async def open_port() -> tuple[object, int]:
        async def handle(socket: ServerConnection) -> None:
            chosen = 1 if socket.subprotocol is None else 2
            hub = socket_harness.core.hub
            session = hub.connect_view(
                SocketConnection(socket), chosen, AccessRights(can_control=False)
            )
            await serve_connection(socket, session, FairScheduler())

        server = await serve(handle, "127.0.0.1", 0, select_subprotocol=select_subprotocol)
        return server, next(iter(server.sockets)).getsockname()[1]

    async def close_port() -> None:
        server.close()
        await server.wait_closed()

    server, port = asyncio.run_coroutine_threadsafe(open_port(), socket_harness.core.loop).result()
    try:
        ui = (ViewV1 if version == 1 else ViewV2)(socket_harness.socket(port, version))
        ui.connect()
        yield ui
    finally:
        asyncio.run_coroutine_threadsafe(close_port(), socket_harness.core.loop).result()


def test_who_may_watch_sees_all_and_changes_nothing(socket_harness: SocketHarness) -> None:
    agent = socket_harness.started()
    with watching(socket_harness, 1) as old, watching(socket_harness, 2) as new:
        assert isinstance(old, ViewV1)
        assert isinstance(new, ViewV2)
        assert new.core_hello["control"] is False
        run, asked = old.find_run("P"), agent.begin_query("hi")
        for ui in (old, new):
            ui.wait_until_halted(run)
        named = {"run": run, "message": asked, "name": "x", "data": "eJw="}
        for command in (*SHARED, "update_msg_content"):
            error = old.expect_refusal(command, **named, content=1)
            assert (error["code"], error["run"]) == ("watch_only", run)
        new.open_run(run)
        for command in (*SHARED, "stop", "edit"):
            error = new.expect_refusal(command, **named, breakpoint=asked, revision=1, edit="1")
            assert error["code"] == "watch_only"
            assert "ask for the right to execute" in error["message"]
        assert new.request("get_message", run=run, message=asked)["data"] == '"hi"'
        assert old.download(run)["name"] == new.request("export_run", run=run)["name"]
    control = socket_harness.ui(2)
    assert control.pending(run) == asked
    control.step(run)
    assert agent.receive_answer() == "hi"


def test_the_standalone_core_lets_everybody_control(socket_harness: SocketHarness) -> None:
    ui = socket_harness.ui(2)
    assert isinstance(ui, ViewV2)
    assert ui.core_hello["control"] is True


def test_a_ui_that_hangs_up_is_forgotten_and_others_go_on(socket_harness: SocketHarness) -> None:
    gone, stays, agent = socket_harness.ui(1), socket_harness.ui(2), socket_harness.started(1)
    assert isinstance(agent, AgentV1)
    run = stays.find_run("P")
    gone.disconnect()
    asked = agent.begin_query("hi")
    assert stays.wait_until_halted(run) == asked
    stays.step(run)
    assert agent.receive_answer() == "hi"
