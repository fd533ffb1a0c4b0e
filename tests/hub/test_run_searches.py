"""Searches that views start: who may, what each state says, and how a search's program is ended."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from agentstepper_nb.core.search_refusals import explain_no_search
from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.hub import AccessRights, Hub, run_restarts, run_searches, view_programs
from agentstepper_nb.hub.command_starter import CommandStarter
from agentstepper_nb.hub.run_searches import RunSearches
from agentstepper_nb.protocol.run_programs import MAX_REPEAT, StartBisect
from agentstepper_nb.protocol.start_methods import CommandStart
from agentstepper_nb.store import open_store
from tests.helpers.loops import settle
from tests.hub.harness import ScriptedAgent, ScriptedView, open_hub
from tests.hub.test_run_restarts import CELL, COMMAND, open_view, record

#: A search's program that reports what its arguments say, and waits where they say so.
PROGRAM = """
import os, sys, time
*_, last = sys.argv
pipe = int(last.removeprefix("--report-to="))
for line in os.environ["REPORTS"].splitlines():
    if line == "ask":
        print("answered", sys.stdin.readline().strip(), flush=True)
    elif line == "hang":
        time.sleep(1000)
    elif line.startswith("exit"):
        sys.exit(line.removeprefix("exit "))
    else:
        os.write(pipe, line.encode() + b"\\n")
"""
QUESTION = '{"type":"question","text":"Up to 6 LLM queries. Begin?","queries":6}'
BEGUN = '{"type":"probe","number":0,"probe":{"row":7,"votes":[],"runs":[],"queries":0}}'
VOTED = '{"type":"probe","number":0,"probe":{"row":7,"votes":[true],"runs":["x"],"queries":2}}'
NEXT = '{"type":"probe","number":1,"probe":{"row":4,"votes":[false],"runs":["y"],"queries":3}}'
FOUND = '{"type":"result","message":"Row 7 decides.","row":7}'
NONE = '{"type":"result","message":"No event decides.","row":null}'
FAILED = '{"type":"failure","message":"No check."}'


class FakeStarter(CommandStarter):
    """Starts that program in the place of `agentstepper bisect`, once it may."""

    def __init__(self) -> None:
        super().__init__(lambda: CoreEndpoint("ws://127.0.0.1:9"), Path(), logging.getLogger())
        self.reports = ""
        self.words: list[list[str]] = []
        self.folders: list[str | None] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        self.may_start = threading.Event()
        self.may_start.set()

    def spawn(
        self,
        words: Sequence[str],
        output: int,
        folder: str | None = None,
        stdin: int = subprocess.DEVNULL,
        inherited: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        self.may_start.wait()
        self.words.append(list(words))
        self.folders.append(folder)
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", PROGRAM, *words],
            stdin=stdin,
            stdout=output,
            stderr=output,
            cwd=folder,
            pass_fds=inherited,
            env={**os.environ, "REPORTS": self.reports},
            start_new_session=True,
        )
        self.processes.append(process)
        return process


@dataclass
class SearchScene:
    """A hub with a run that has ended, and a starter that is a test's."""

    hub: Hub
    starter: FakeStarter
    view: ScriptedView

    def play(self, *reports: str) -> None:
        """What the next search reports."""
        self.starter.reports = "\n".join(reports)

    async def start(self, **fields: Any) -> Any:
        asked = {"run": "r", "bad": None, "check": "true", "repeat": 3} | fields
        return (await self.view.request("start_bisect", **asked))["body"]

    async def wait(self, phase: str, run: str = "r") -> Any:
        """The state of a search once it is so."""
        seen = {}
        while True:
            state = (await self.view.request("get_bisect", run=run, **seen))["body"]
            if state["phase"] == phase:
                return state
            seen = {"seen": state["revision"]}


@asynccontextmanager
async def open_scene(tmp_path: Path) -> AsyncIterator[SearchScene]:
    hub = await open_hub(open_store(tmp_path))
    await record(hub, {**COMMAND, "folder": str(tmp_path)})
    hub.enable_restarts(lambda: CoreEndpoint("ws://127.0.0.1:9"), tmp_path)
    starter = FakeStarter()
    searches = RunSearches(starter, hub.log, kill_timeout_s=0.1)
    hub.run_searches = searches
    hub.listeners.append(searches)
    try:
        yield SearchScene(hub, starter, ScriptedView(hub))
    finally:
        for process in starter.processes:
            if process.returncode is None:
                process.kill()
        await hub.close()


async def test_a_search_asks_before_it_begins_and_says_what_it_found(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(QUESTION, "ask", BEGUN, VOTED, NEXT, FOUND)
        begun = await scene.start(check="grep -q 'a b'", repeat=5)
        assert (begun["phase"], begun["check"], begun["repeat"]) == ("reading", "grep -q 'a b'", 5)
        assert scene.starter.words[0][:-1] == ["bisect", "r", "--check=grep -q 'a b'", "--repeat=5"]
        asks = await scene.wait("asking")
        assert (asks["question"], asks["queries"]) == ("Up to 6 LLM queries. Begin?", 6)
        assert asks["probes"] == []
        answered = await scene.view.request("answer_bisect", run="r", goes_on=True)
        assert (answered["body"]["phase"], answered["body"]["question"]) == ("running", "")
        found = await scene.wait("found")
        assert (found["message"], found["row"]) == ("Row 7 decides.", 7)
        assert [(each["row"], each["votes"]) for each in found["probes"]] == [
            (7, [True]),
            (4, [False]),
        ]


async def test_a_search_runs_in_the_folder_of_its_command(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(FOUND)
        await scene.start()
        await scene.wait("found")
        assert scene.starter.folders == [str(tmp_path)]


async def test_who_declines_ends_the_search(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(QUESTION, "ask", '{"type":"result","message":"You declined.","row":null}')
        await scene.start()
        await scene.wait("asking")
        await scene.view.request("answer_bisect", run="r", goes_on=False)
        assert (await scene.wait("cancelled"))["message"] == "You declined."


@pytest.mark.parametrize(
    ("reports", "phase", "said"),
    [
        ([NONE], "undecided", "No event decides."),
        ([FAILED], "failed", "No check."),
        (["exit no such thing"], "failed", "exit code 1 before it had a result: no such thing"),
        (["no JSON", FOUND], "found", "Row 7 decides."),
        ([], "failed", "exit code 0 before it had a result: It printed nothing."),
    ],
)
async def test_how_a_search_ends(tmp_path: Path, reports: list[str], phase: str, said: str) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(*reports)
        await scene.start()
        assert said in (await scene.wait(phase))["message"]


async def test_a_view_that_comes_later_sees_the_search(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(BEGUN, VOTED, "hang")
        await scene.start()
        await scene.wait("running")
        later = open_view(scene.hub, AccessRights(can_control=False))  # who may watch sees it, too
        state = (await later.request("get_bisect", run="r"))["body"]
        assert (state["phase"], state["check"]) == ("running", "true")


async def test_the_run_that_is_executed_is_named(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(BEGUN, "hang")
        await scene.start()
        before = await scene.wait("running")
        id = scene.view.send_command("get_bisect", run="r", seen=before["revision"])
        fork = ScriptedAgent(run="again", forked_from={"run": "r"})
        await fork.connect(scene.hub)
        state = (await scene.view.wait_for_answer(id))["body"]
        assert state["execution"] == "again"


async def test_a_cancelled_search_ends_with_all_that_it_started(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(BEGUN, "hang")
        await scene.start()
        await scene.wait("running")
        cancelled = (await scene.view.request("cancel_bisect", run="r"))["body"]
        assert (cancelled["phase"], cancelled["is_cancelling"]) == ("running", True)
        ended = await scene.wait("cancelled")
        assert (ended["message"], ended["is_cancelling"]) == (run_searches.CANCELLED, False)
        assert scene.starter.processes[0].returncode != 0
        scene.play(FOUND)
        await scene.start()
        await scene.wait("found")


async def test_a_search_goes_on_though_its_view_leaves_while_it_starts(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(FOUND)
        scene.starter.may_start.clear()
        leaving = ScriptedView(scene.hub)
        leaving.send_command("start_bisect", run="r", bad=None, check="true", repeat=3)
        await scene.wait("reading")
        leaving.session.on_closed()
        await settle()
        scene.starter.may_start.set()
        assert (await scene.wait("found"))["message"] == "Row 7 decides."


async def test_a_run_has_one_search_at_a_time_and_a_core_few(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        scene.play(QUESTION, "ask")
        await scene.start()
        assert (await scene.start())["message"] == run_searches.SEARCHES_ALREADY
        for number in range(run_searches.MAX_RUNNING):
            agent = ScriptedAgent(run=f"r{number}", rights=AccessRights(False, is_local=True))
            await agent.connect(scene.hub, start={**COMMAND, "folder": "/"})
            agent.send_bye()
            came = await scene.start(run=f"r{number}")
        assert came["message"] == run_searches.TOO_MANY


async def test_what_does_not_go_on_cannot_be_answered_or_cancelled(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        assert (await scene.view.request("get_bisect", run="r"))["body"]["phase"] is None
        for command, fields, said in (
            ("answer_bisect", {"goes_on": True}, run_searches.NO_QUESTION),
            ("cancel_bisect", {}, run_searches.NO_SEARCH),
        ):
            answer = await scene.view.request(command, run="r", **fields)
            assert (answer["body"]["code"], answer["body"]["message"]) == ("cannot_bisect", said)


async def test_a_program_that_cannot_start_is_told(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        agent = ScriptedAgent(run="gone", rights=AccessRights(False, is_local=True))
        await agent.connect(scene.hub, start={**COMMAND, "folder": str(tmp_path / "gone")})
        agent.send_bye()
        came = await scene.start(run="gone")
        assert came["code"] == "cannot_bisect"
        assert came["message"].startswith("No program starts: ")
        assert (await scene.view.request("get_bisect", run="gone"))["body"]["phase"] is None


# ---- who may start one ------------------------------------------------------------------------------


async def refusal(hub: Hub, view: ScriptedView | None = None, **fields: Any) -> tuple[str, str]:
    asked = {"run": "r", "bad": None, "check": "grep -q 'a b'", "repeat": 3} | fields
    answer = await (view or ScriptedView(hub)).request("start_bisect", **asked)
    assert answer["type"] == "error", answer
    return answer["body"]["code"], answer["body"]["message"]


async def test_who_may_not_start_a_run_again_may_not_search(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        hub = scene.hub
        nobody = open_view(hub, AccessRights(has_login=False))
        assert await refusal(hub, nobody) == ("cannot_bisect", run_restarts.NO_TOKEN)
        watching = open_view(hub, AccessRights(can_control=False))
        assert (await refusal(hub, watching))[0] == "watch_only"
        for command in ("answer_bisect", "cancel_bisect"):
            fields = {"goes_on": True} if command == "answer_bisect" else {}
            assert (await watching.request(command, run="r", **fields))["body"][
                "code"
            ] == "watch_only"
        hub.allows_inspection = False
        assert await refusal(hub) == ("cannot_bisect", view_programs.SWITCHED_OFF)
        assert (await refusal(hub, run="nobody"))[0] == "unknown_run"
        assert (await refusal(hub, bad="nobody"))[0] == "unknown_run"
        assert scene.starter.processes == []


@pytest.mark.parametrize("fields", [{"check": ""}, {"repeat": 0}, {"repeat": MAX_REPEAT + 1}])
async def test_what_a_search_is_told_is_checked(tmp_path: Path, fields: Any) -> None:
    async with open_scene(tmp_path) as scene:
        assert (await refusal(scene.hub, **fields))[0] == "invalid_message"


PYTHON = 'find_deciding_event("r", None, agent, …, check="grep -q \'a b\'", repeat=3)'
LINE = "agentstepper bisect r --check 'grep -q '\"'\"'a b'\"'\"'' --repeat 3 -- "


@pytest.mark.parametrize(
    ("start", "hello", "said"),
    [
        (None, {}, f"{LINE}python agent.py, or a function, {PYTHON}."),
        (COMMAND, {"host": "elsewhere"}, f"another machine, elsewhere. Name a command, {LINE}"),
        (COMMAND, {"boot": "other"}, "This Core doesn't know how run r was started"),
        ({**COMMAND, "masked": [1]}, {}, f"1 (x.py). Give the whole command: {LINE}python …"),
        (
            {"type": "function", "module": "m", "name": "f"},
            {},
            f"function m.f. Search from Python, with the agent's function: {PYTHON}.",
        ),
        (CELL, {}, f"in a kernel. Search from Python, with the agent's function: {PYTHON}."),
    ],
)
async def test_what_cannot_be_searched_says_what_to_do(
    start: Any, hello: dict[str, Any], said: str, tmp_path: Path
) -> None:
    hub = await open_hub(open_store(tmp_path))
    hub.enable_restarts(lambda: CoreEndpoint("ws://127.0.0.1:9"), tmp_path)
    await record(hub, start, **hello)
    code, message = await refusal(hub)
    assert code == "cannot_bisect"
    assert said in message
    await hub.close()


async def test_a_core_without_a_folder_and_strange_ids(tmp_path: Path) -> None:
    hub = await open_hub()
    await record(hub, COMMAND)
    assert (await refusal(hub))[1] == run_restarts.IN_MEMORY
    state = (await ScriptedView(hub).request("get_bisect", run="r"))["body"]
    assert state["phase"] is None
    hub.enable_restarts(lambda: CoreEndpoint("ws://127.0.0.1:9"), tmp_path)
    agent = ScriptedAgent(run="--yes")
    await agent.connect(hub)
    agent.send_bye()
    assert (await refusal(hub, bad="--yes"))[1] == view_programs.STRANGE_ID.format(run="--yes")
    await hub.close()


def test_the_bad_run_stands_in_the_line() -> None:
    command = StartBisect(run="good", bad="bad", check="true", repeat=1)
    start = CommandStart(argv=("a", "x"), folder="/", masked=(1,))
    run = cast(Any, type("R", (), {"id": "good", "host": None}))
    said = explain_no_search(run, start, command, "h")
    assert said is not None
    assert said.endswith("agentstepper bisect good bad --check true --repeat 1 -- a …")


async def test_a_function_that_starts_again_is_searched_in_its_folder(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        call = {"python": "python", "folder": str(folder)}
        function = {"type": "function", "module": "m", "name": "f", "call": call}
        await record(scene.hub, function, run="called")
        scene.play(FOUND)
        answer = await scene.view.request(
            "start_bisect", run="called", bad=None, check="true", repeat=1
        )
        assert answer["type"] != "error", answer
        await scene.wait("found", "called")
        assert scene.starter.folders == [str(folder)]
