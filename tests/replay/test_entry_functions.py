"""`@entry`: functions whose calls are runs, under a real Core, and started again in new processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import agentstepper_nb
from agentstepper_nb import DiscoveryError, instrument, replay_run
from agentstepper_nb.history import StoredRun
from agentstepper_nb.protocol.replay_marks import ReplayRole
from agentstepper_nb.protocol.start_methods import ForkOrigin, FunctionStart
from agentstepper_nb.sdk import environment_replays
from tests.replay.command_scene import Scene, open_scene, scene
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

__all__ = ["open_scene", "scene"]

SERVED, FORKED, LIVE = ReplayRole.SERVED, ReplayRole.FORKED, ReplayRole.LIVE
#: Imports its tool from beside it, and counts that tool's calls in a file of the working folder.
AGENT = """
import agentstepper_nb
from agentstepper_nb import AgentStepper
from tools import look_up

@agentstepper_nb.entry(name="looker", mode="continue")
def answer(question, *words, api_key=None, client=None):
    with AgentStepper("any") as dbg:
        look = dbg.traced_tool(look_up)
        return " ".join([question, *[look(word) for word in words]])

@agentstepper_nb.entry
async def answer_later(question):
    async with agentstepper_nb.AsyncAgentStepper("any") as dbg:
        async with dbg.tool("look_up", {"word": question}) as call:
            if not call.skipped:
                call.result = look_up(question)
        return call.result

class Agent:
    @staticmethod
    @agentstepper_nb.entry(mode="continue")
    def run(word):
        return AgentStepper("any").traced_tool(look_up)(word)

    @staticmethod
    @agentstepper_nb.entry(mode="continue")
    def run_keyed(word):
        return {(1, 2): AgentStepper("any").traced_tool(look_up)(word)}

if __name__ == "__main__":
    answer("Which?", "a", "b")
"""
TOOLS = """
def look_up(word):
    with open("counted", "a") as file:
        file.write(word + " ")
    return word.upper()
"""
#: The tool of an agent that has a workspace.
WRITER = """
import agentstepper_nb

def look_up(word):
    (agentstepper_nb.workspace / word).write_text(word)
    return ",".join(sorted(path.name for path in agentstepper_nb.workspace.iterdir()))
"""


@pytest.fixture
def project(scene: Scene, tmp_path: Path) -> Path:
    """A folder with a program in `src`, which is run from the folder."""
    source = tmp_path / "src"
    source.mkdir()
    (source / "agent.py").write_text(AGENT)
    (source / "tools.py").write_text(TOOLS)
    return tmp_path


def execute(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def call(scene: Scene, project: Path, code: str) -> StoredRun:
    """Run a line of a program that imports the agent; the run of it."""
    program = f"import sys; sys.path.insert(0, 'src'); import agent; {code}"
    done = execute(project, "-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    return scene.newest


def read_counted(project: Path) -> str:
    return (project / "counted").read_text()


def roles(run: StoredRun) -> list[ReplayRole]:
    return [point.replay.role for point in run.history().halt_points if point.replay]


def find_row(run: StoredRun, side: str, number: int) -> int:
    found = run.events().query(f"kind == 'tool_invocation' and side == '{side}'")
    return int(found.seq.iloc[number])


def test_a_call_says_how_it_is_made_again(scene: Scene, project: Path) -> None:
    run = call(scene, project, "agent.answer('Which?', 'a', api_key=None)")
    start = run.start_method()
    assert isinstance(start, FunctionStart)
    assert (start.module, start.name) == ("agent", "answer")
    assert start.call
    assert (start.call.python, start.call.folder) == (sys.executable, str(project))
    assert str(project / "src") in start.call.paths
    assert (start.call.arguments, start.call.keywords) == ('["Which?","a"]', '{"api_key":null}')
    assert (start.call.masked, start.call.unrecorded, start.call.freezes) == ((), (), False)
    assert run.header.program == "looker"


@pytest.mark.slow
def test_a_fork_of_a_script_imports_its_function(scene: Scene, project: Path) -> None:
    done = execute(project, str(Path("src", "agent.py")))
    assert done.returncode == 0, done.stderr
    recorded = scene.newest
    row = find_row(recorded, "end", 0)
    with (
        LiveView(scene.core.ui_port) as person,
        scene.start("--fork", f"{recorded.id}@{row}", cwd=project / "src") as process,
    ):
        person.wait_until(lambda run: run.id != recorded.id and bool(run.pending))
        person.step("other")
        person.resume()
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out, err) == (0, '"Which? other B"\n', "")
    assert read_counted(project) == "a b b "
    assert roles(scene.newest) == [SERVED, FORKED, LIVE]
    assert scene.newest.forked_from == ForkOrigin(run=recorded.id, row=row)
    again = scene.newest.start_method()
    assert isinstance(again, FunctionStart)
    assert (again.module, again.name) == ("agent", "answer")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "name", "printed"),
    [
        pytest.param(
            "agent.answer('q', 'a')", "answer", '"q A"', marks=pytest.mark.soak, id="answer"
        ),
        ("agent.Agent.run('é')", "Agent.run", '"É"'),
        ("agent.Agent.run_keyed('é')", "Agent.run_keyed", """"{(1, 2): 'É'}\""""),
    ],
)
def test_a_replay_calls_no_tool(
    scene: Scene, project: Path, code: str, name: str, printed: str
) -> None:
    recorded = call(scene, project, code)
    counted = read_counted(project)
    start = recorded.start_method()
    assert isinstance(start, FunctionStart)
    assert start.name == name
    assert scene.execute("--replay", recorded.id) == (0, printed, "")
    assert read_counted(project) == counted
    assert roles(scene.newest) == [SERVED]


@pytest.mark.slow
def test_a_view_forks_a_call_of_a_coroutine(scene: Scene, project: Path) -> None:
    program = "import asyncio, sys; sys.path.insert(0, 'src'); import agent; "
    program += "asyncio.run(agent.answer_later('a'))"
    with (
        LiveView(scene.core.ui_port) as person,
        subprocess.Popen([sys.executable, "-c", program], cwd=project) as process,
    ):
        person.wait_until(lambda run: bool(run.pending))
        recorded = person.run
        person.resume()
        person.wait_until_ended()
        assert process.wait(TIMEOUT_S) == 0
        row = find_row(StoredRun(recorded.id, scene.folder / "runs"), "end", 0)
        begun = person.start_again(recorded.id, row=row)
        run = person.wait_until(lambda run: run.id == begun.run and bool(run.pending))
        assert run.forked_from == ForkOrigin(run=recorded.id, row=row)
        person.resume()
        person.wait_until_ended()
        begun = person.start_again(recorded.id)  # and once more, with nothing served
        run = person.wait_until(lambda run: run.id == begun.run and bool(run.pending))
        assert run.forked_from == ForkOrigin(run=recorded.id, is_live=True)
        person.resume()
        person.wait_until_ended()
    assert read_counted(project) == "a a "


@pytest.mark.slow
def test_each_call_of_a_program_is_a_run_of_its_own(scene: Scene, project: Path) -> None:
    second = call(scene, project, "agent.answer('1', 'a'); agent.answer('2', 'b')")
    assert scene.execute("--replay", second.id) == (0, '"2 B"', "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "agent.answer('q', 'a', api_key='of-great-value')",
            "Arguments of agent.answer in run ID were masked when it was recorded: api_key. Call the "
            'function in Python, replay_run("NAME", answer, …).',
        ),
        (
            "agent.answer('q', client=print)",
            "Arguments of agent.answer in run ID aren't JSON, and weren't recorded: client. Call the "
            'function in Python, replay_run("NAME", answer, …).',
        ),
        (
            "import agentstepper_nb; f = agentstepper_nb.entry(mode='continue')(lambda: 1); f()",
            "Run ID is a call of the Python function __main__.<lambda>, which no other process can "
            "import. Name a command, agentstepper run --replay ID -- python agent.py, or a function, "
            'replay_run("NAME", agent, …).',
        ),
    ],
    ids=["masked", "no JSON", "no name"],
)
def test_what_cannot_be_called_again_says_why(
    scene: Scene, project: Path, code: str, said: str
) -> None:
    run = call(scene, project, code)
    stored = b"".join(
        path.read_bytes() for path in (scene.folder / "runs").iterdir() if path.is_file()
    )
    assert b"of-great-value" not in stored
    exit_code, _, err = scene.execute("--replay", run.id)
    told = said.replace("ID", run.id).replace("NAME", run.header.name)
    assert (exit_code, err) == (125, f"agentstepper run: {told}")


def test_a_secret_of_the_environment_is_masked(
    scene: Scene, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "of-great-value-1234")
    start = call(scene, project, "agent.answer('by of-great-value-1234')").start_method()
    assert isinstance(start, FunctionStart)
    assert start.call
    assert start.call.masked == ("question",)
    assert start.call.arguments == '["by [masked SOME_TOKEN]"]'


@pytest.mark.slow
def test_what_cannot_be_imported_any_more(scene: Scene, project: Path) -> None:
    recorded = call(scene, project, "agent.answer('q')")
    changes = {
        ("def answer(", "def other("): "the module agent has no answer any more.",
        ("from tools", "from no_tools"): "No module named 'no_tools'",
        (
            'if __name__ == "__main__":',
            "if True:",
        ): "The module agent calls answer where it is imported. Put the call below if __name__",
    }
    for change, said in changes.items():
        (project / "src" / "agent.py").write_text(AGENT.replace(*change))
        code, _, err = scene.execute("--rerun", recorded.id)
        assert (code, err.startswith("agentstepper run: ")) == (125, True)
        assert said in err


@pytest.mark.slow
def test_a_frozen_call_is_frozen_again(scene: Scene, project: Path) -> None:
    (project / "src" / "agent.py").write_text(
        AGENT.replace("return word.upper()", "return word").replace(
            "[question,",
            "[str(__import__('time').time()), look(str(__import__('random').random())),",
        )
    )
    program = "import sys; sys.path.insert(0, 'src'); import agent; print(agent.answer('q'))"
    code, out, _ = scene.execute(
        "--freeze", "--no-attach", "--", sys.executable, "-c", program, cwd=project
    )
    assert code == 0
    assert scene.execute("--replay", scene.newest.id) == (0, f'"{out}"', "")


@pytest.mark.slow
def test_a_fork_works_on_the_files_of_its_row(scene: Scene, project: Path) -> None:
    (project / "src" / "agent.py").write_text(
        AGENT.replace('entry(name="looker",', 'entry(workspace="notes",')
    )
    (project / "src" / "tools.py").write_text(WRITER)
    (project / "notes").mkdir()
    recorded = call(scene, project, "agent.answer('q', 'one', 'two')")
    row = find_row(recorded, "begin", 1)
    with (
        LiveView(scene.core.ui_port) as person,
        scene.start("--fork", f"{recorded.id}@{row}") as process,
    ):
        person.wait_until(lambda run: run.id != recorded.id and bool(run.pending))
        person.step({"Tool": "look_up", "Argument": {"word": "other"}})
        person.resume()
        out, _ = process.communicate(timeout=TIMEOUT_S)
    assert out == '"q one one,other"\n'
    assert sorted(path.name for path in (project / "notes").iterdir()) == ["one", "two"]


@pytest.mark.slow
def test_bisect_reads_what_the_function_returns(scene: Scene, project: Path) -> None:
    (project / "src" / "tools.py").write_text(
        "def look_up(word):\n    return open('state').read() if word == 'b' else word\n"
    )
    (project / "state").write_text("good")
    recorded = call(scene, project, "agent.answer('q', 'a', 'b')")
    (project / "state").write_text("bad")
    command = ["bisect", recorded.id, "--check", "grep -q good", "--repeat", "1", "--yes"]
    done = execute(project, "-m", "agentstepper_nb", *command)
    row = find_row(recorded, "end", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Row {row} of run {recorded.id}, the end of tool_invocation")


# ---- in this process --------------------------------------------------------------------------------


@contextmanager
def attached() -> Iterator[None]:
    """An entry's first call attaches, and leaves that so."""
    try:
        yield
    finally:
        instrument.disable()


@agentstepper_nb.entry(mode="continue")
def add(first: int, *, second: int = 2) -> str:
    dbg = agentstepper_nb.AgentStepper("any")
    assert dbg.traced_tool(inner)(first, second) == first + second
    return dbg.run_id


@agentstepper_nb.entry
def inner(first: int, second: int) -> int:
    return first + second


def test_a_call_inside_a_run_belongs_to_it(scene: Scene) -> None:
    with attached():
        run = add(1)
    assert scene.newest.id == run
    assert scene.newest.header.program == "add"
    replayed = replay_run(scene.newest, add, 1)
    assert replayed not in ("", run)
    assert scene.newest.id == replayed
    assert roles(scene.newest) == [SERVED]


def test_a_call_with_wrong_arguments_opens_no_run(scene: Scene) -> None:
    with attached():
        add(1)
        newest = scene.newest.id
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            add()  # type: ignore[call-arg]
    assert scene.newest.id == newest


def test_without_a_core_the_function_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:9")
    with attached():
        with pytest.warns(RuntimeWarning, match="runs without the debugger") as warned:
            assert inner(1, 2) == 3
        assert warned[0].filename == __file__
        monkeypatch.delenv("AGENTSTEPPER_URL")
        monkeypatch.setenv(environment_replays.REPLAY_VARIABLE, "any")
        with pytest.raises(DiscoveryError):  # and the recorded calls aren't made once more
            inner(1, 2)


def generate() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "said"), [(generate, "yields, and entry marks"), (3, "not 3"), (int, "not <class")]
)
def test_what_is_no_entry(function: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        agentstepper_nb.entry(function)
