"""A run as a test of pytest: recorded, exported, and run by a real pytest without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import agentstepper_nb
from agentstepper_nb import AgentStepperCore, discover, list_runs
from agentstepper_nb.history import StoredRun
from agentstepper_nb.models.scripted import (
    Script,
    ScriptedCall,
    ScriptedServer,
    ScriptRule,
    say,
    says,
    turn,
)
from agentstepper_nb.replay.pytest_export import export_test
from notebooks.driver import Driver
from tests.helpers.forked_python import fork_programs

ROOT = Path(agentstepper_nb.__file__).parents[1]
COMMAND = [sys.executable, "-m", "agentstepper_nb"]
SECRET = "sk-0123456789abcdef"

SCRIPT = Script(
    "counter",
    [
        ScriptRule(turn(0), say("Let me count.", ScriptedCall("count", {"word": "lorem"}))),
        ScriptRule(turn(1) & says("tool", "^3$"), say("There are three.")),
        ScriptRule(turn(1), say("There are others.")),
    ],
)

#: It asks by httpx, which SDKs send by, too: to import one takes a second of CPU in each process.
AGENT = """
import json
import os
import sys
from pathlib import Path

import httpx

TOOLS = [{"type": "function", "function": {"name": "count", "parameters": {}}}]


def count(word):
    with open(Path(__file__).with_name("calls.txt"), "a") as file:
        file.write(word + "\\n")
    return 3


def run(question):
    client = httpx.Client(base_url=os.environ["MODEL_URL"], timeout=None)
    messages = [
        {"role": "system", "content": "My key is " + os.environ["SHOP_API_KEY"]},
        {"role": "user", "content": question},
    ]
    while True:
        asked = {"model": "m", "messages": messages, "tools": TOOLS}
        answer = client.post("/chat/completions", json=asked).raise_for_status()
        message = answer.json()["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            result = count(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


if __name__ == "__main__":
    print(run(sys.argv[1]))
"""

#: A recording of a version of this package that is yet to come.
NEWER = '{"format": "agentstepper recording", "version": 99}'

#: A machine without a network.
OFFLINE = """
import socket


def refuse(*args, **kwargs):
    raise AssertionError("The network was used.")


socket.socket.connect = socket.socket.connect_ex = refuse
socket.create_connection = socket.getaddrinfo = refuse
"""


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(SCRIPT) as server:
        yield server


def make_environment(home: Path, model: ScriptedServer) -> dict[str, str]:
    """A user's environment, in which nothing of this machine is found."""
    named = {
        "JUPYTER_DATA_DIR": str(home / "jupyter-data"),
        "JUPYTER_RUNTIME_DIR": str(home / "jupyter-runtime"),
        "MODEL_URL": model.base_url,
        "SHOP_API_KEY": SECRET,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
    }
    dropped = ("AGENTSTEPPER_URL", "AGENTSTEPPER_TOKEN", "JPY_PARENT_PID")
    return {key: os.environ[key] for key in os.environ if key not in dropped} | named


@pytest.fixture
def environment(tmp_path: Path, model: ScriptedServer) -> dict[str, str]:
    return make_environment(tmp_path, model)


@contextmanager
def serve(data: Path, environment: dict[str, str]) -> Iterator[AgentStepperCore]:
    """A Core that stores its runs, and that processes of the environment find."""
    with (
        AgentStepperCore("127.0.0.1", 0, 0, data=data) as core,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("JUPYTER_RUNTIME_DIR", environment["JUPYTER_RUNTIME_DIR"])
        file = discover.write_core_info(
            url=core.url(core.client_port), data_dir=data, ui_url=core.url(core.ui_port or 0)
        )
        yield core
        discover.remove_core_info(file)


def execute(
    folder: Path, environment: dict[str, str], *command: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )


def run_pytest(
    folder: Path, environment: dict[str, str], *options: str
) -> subprocess.CompletedProcess[str]:
    """Run a folder's tests, with the plugin that an installed package brings."""
    plugin = ("-p", "agentstepper_nb.pytest_plugin", "-W", "error")
    return execute(folder, environment, sys.executable, "-m", "pytest", *plugin, *options)


def record(home: Path, environment: dict[str, str], text: str, *options: str) -> StoredRun:
    """Run an agent, attached to without a line of it changed and stepped by somebody.

    Its folder is `project`, and `runs` stores the run, whose Core is gone.
    """
    (home / "project").mkdir(exist_ok=True)
    (home / "project" / "agent.py").write_text(text)
    run = ("run", "--discover-tools", *options, "--", sys.executable, "agent.py", "How many?")
    with serve(home / "runs", environment) as core:
        driver = Driver(core.url(core.ui_port or 0))
        driver.start()
        done = execute(home / "project", environment, *COMMAND, *run)
        driver.stop()
    assert (done.returncode, done.stdout) == (0, "There are three.\n"), done.stderr
    return StoredRun(list_runs(home / "runs").index[-1], home / "runs")


def export(
    recorded: StoredRun, environment: dict[str, str], *options: str
) -> subprocess.CompletedProcess[str]:
    """Export a run's test into its agent's folder."""
    agent = ("--agent", "agent:run", "--arg", "How many?", "--data", str(recorded.folder))
    command = (*COMMAND, "export", "--pytest", recorded.id, *agent, "-o", "test_count.py")
    return execute(recorded.folder.with_name("project"), environment, *command, *options)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run of the agent, whose folder has its test."""
    home = tmp_path_factory.mktemp("recorded")
    with ScriptedServer(SCRIPT) as model, fork_programs():
        environment = make_environment(home, model)
        recorded = record(home, environment, AGENT)
        asked = len(model.exchanges)
        done = export(recorded, environment)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"Wrote a test of run {recorded.id} to test_count.py.\n"
        assert len(model.exchanges) == asked
    return recorded


@pytest.fixture
def exported(recorded: StoredRun, forked_programs: None, tmp_path: Path) -> Path:
    """The test of the run."""
    shutil.copytree(recorded.folder.with_name("project"), tmp_path / "project")
    return tmp_path / "project" / "test_count.py"


@pytest.mark.slow
def test_it_passes_without_a_network_and_a_core_until_the_agent_changes(
    exported: Path, environment: dict[str, str], model: ScriptedServer
) -> None:
    """Another prompt and another result fail it, with the difference."""
    folder = exported.parent
    (folder / "conftest.py").write_text(OFFLINE)
    counted = (folder / "calls.txt").read_text()
    text = exported.read_text()
    assert "from agent import run\n" in text
    assert "    result = replay_agent(run, 'How many?')\n" in text
    assert "    assert result == 'There are three.'\n" in text
    upper = 'message["content"].upper()'
    changes = {
        "prompt": AGENT.replace("My key is", "The key is"),
        "result": AGENT.replace('return message["content"]', f"return {upper}"),
    }
    for name, agent in changes.items():
        (folder / f"{name}.py").write_text(agent)
        changed = text.replace("from agent import", f"from {name} import")
        (folder / f"test_{name}.py").write_text(changed)
    done = run_pytest(folder, environment)
    assert "2 failed, 1 passed" in done.stdout, done.stdout
    assert (len(model.exchanges), (folder / "calls.txt").read_text()) == (0, counted)
    assert "The replay differs from run" in done.stdout
    assert '-      "content": "My key is [masked SHOP_API_KEY]"' in done.stdout
    assert '+      "content": "The key is [masked SHOP_API_KEY]"' in done.stdout
    assert "Where the agent is meant to do this, record it anew" in done.stdout
    assert "assert 'THERE ARE THREE.' == 'There are three.'" in done.stdout


@pytest.mark.slow
def test_no_secret_and_no_key_is_written(exported: Path, recorded: StoredRun) -> None:
    key = recorded.hash_key()
    assert key is not None
    for path in (exported, exported.with_name("test_count.recording.json")):
        text = path.read_text()
        assert SECRET not in text
        assert key not in text
    assert "[masked SHOP_API_KEY]" in text
    hashes = [event.content_hash for event in recorded.history().events]
    assert not [each for each in hashes if each and each in text]


@pytest.mark.slow
def test_it_is_recorded_anew(
    exported: Path, environment: dict[str, str], model: ScriptedServer, tmp_path: Path
) -> None:
    """The agent is changed on purpose: it is run at a Core, and replayed from then on."""
    exported.with_name("agent.py").write_text(AGENT.replace("My key is", "The key is"))
    with serve(tmp_path / "runs", environment):
        done = run_pytest(exported.parent, environment, "--agentstepper-record")
    assert "1 passed" in done.stdout, done.stdout
    assert len(model.exchanges) == 2
    recording = json.loads(exported.with_name("test_count.recording.json").read_text())
    assert recording["program"] == "agent.py"
    assert "The key is" in recording["events"][0]["request"]["messages"][0]["content"]
    kinds = [event["kind"] for event in recording["events"]]
    assert kinds == ["llm_query", "tool_invocation", "llm_query"]
    (exported.parent / "conftest.py").write_text(OFFLINE)
    done = run_pytest(exported.parent, environment)
    assert "1 passed" in done.stdout, done.stdout
    assert len(model.exchanges) == 2


@pytest.mark.slow
def test_a_damaged_recording_is_recorded_anew(
    exported: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    recording = exported.with_name("test_count.recording.json")
    recording.write_text(recording.read_text()[:-100])
    done = run_pytest(exported.parent, environment)
    assert "record it anew by `pytest --agentstepper-record`" in done.stdout
    with serve(tmp_path / "runs", environment):
        done = run_pytest(exported.parent, environment, "--agentstepper-record")
    assert "1 passed" in done.stdout, done.stdout
    assert len(json.loads(recording.read_text())["events"]) == 3


def test_a_newer_recording_is_not_replaced(
    tmp_path: Path, environment: dict[str, str], forked_programs: None
) -> None:
    (tmp_path / "a.json").write_text(NEWER)
    (tmp_path / "test_newer.py").write_text(
        'import pytest\n\n\n@pytest.mark.agentstepper_recording("a.json")\n'
        "def test_it(replay_agent):\n    replay_agent(print)\n"
    )
    done = run_pytest(tmp_path, environment, "--agentstepper-record")
    assert "Update agentstepper_nb." in done.stdout
    assert "Traceback" not in done.stdout and "pytest_plugin.py" not in done.stdout
    assert (tmp_path / "a.json").read_text() == NEWER


@pytest.mark.slow
def test_recording_anew_says_that_it_needs_a_core(
    exported: Path, environment: dict[str, str]
) -> None:
    before = exported.with_name("test_count.recording.json").read_text()
    done = run_pytest(exported.parent, environment, "--agentstepper-record")
    assert "1 failed" in done.stdout
    assert "can't record test_count.recording.json, since it needs a Core" in done.stdout
    assert "No AgentStepper Core is running." in done.stdout
    assert exported.with_name("test_count.recording.json").read_text() == before


@pytest.mark.slow
def test_what_differs_each_time_is_left_out_or_frozen_where_the_export_is_told(
    environment: dict[str, str], forked_programs: None, tmp_path: Path
) -> None:
    """The export refuses a test that can't pass, and says which patterns make it pass.

    Time and random numbers are those of the run, which was frozen. What the agent reads is not.
    """
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "today").write_text("2026-11-26")
    sees = '"It is %s %s %s, " % (datetime.now(), uuid.uuid4(), random.random()) + '
    reads = 'Path("today").read_text() + '
    imports = "import random\nimport uuid\nfrom datetime import datetime\n"
    text = imports + AGENT.replace('"My key is " + ', sees + reads)
    recorded = record(tmp_path, environment, text, "--freeze")
    (folder / "today").write_text("2026-11-27")
    done = export(recorded, environment, "--freeze")
    assert done.returncode == 1
    assert r"volatile=[r'\d{4}-\d\d-\d\d']" in done.stderr
    assert not list(folder.glob("*test_count*"))
    volatile = ("--volatile", r"\d{4}-\d\d-\d\d")
    done = export(recorded, environment, *volatile)
    assert done.returncode == 1
    assert "The replay differs from run" in done.stderr
    done = export(recorded, environment, *volatile, "--freeze")
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "today").write_text("2026-11-28")
    done = run_pytest(folder, environment)
    assert "1 passed" in done.stdout, done.stdout


# ---- the plugin -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_plugin_imports_the_lazy_package_alone(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """What of this package is loaded once pytest has started, and run a test without the marker.

    The plugin is loaded by its entry point, as where the package is installed.
    """
    info = tmp_path / "site" / "agentstepper_nb-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agentstepper_nb\nVersion: 0\n")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ((name, module),) = project["entry-points"]["pytest11"].items()
    (info / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
    environment |= {"PYTHONPATH": os.pathsep.join([str(info.parent), str(ROOT)])}
    (tmp_path / "test_plain.py").write_text(
        "import sys\n\n\ndef test_it():\n"
        "    found = [name for name in sys.modules if name.startswith('agentstepper_nb')]\n"
        "    assert sorted(found) == ['agentstepper_nb', 'agentstepper_nb._version',\n"
        "        'agentstepper_nb.pytest_plugin']\n"
    )
    pytest_command = (sys.executable, "-m", "pytest", "-p", name, "-W", "error", "test_plain.py")
    done = execute(tmp_path, environment, *pytest_command)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_what_a_test_lacks_is_told(
    tmp_path: Path, environment: dict[str, str], forked_programs: None
) -> None:
    (tmp_path / "test_bare.py").write_text(
        "import pytest\n\n\ndef test_unmarked(replay_agent):\n    replay_agent(print)\n\n\n"
        '@pytest.mark.agentstepper_recording("a.json")\n'
        "def test_unrecorded(replay_agent):\n    replay_agent(print)\n"
    )
    done = run_pytest(tmp_path, environment, "--strict-markers")
    assert "replay_agent needs the recording to replay. Mark the test with" in done.stdout
    assert "a.json doesn't exist. Record it by `pytest --agentstepper-record`." in done.stdout


# ---- what can't be exported -------------------------------------------------------------------------


def test_what_is_no_test_is_refused(tmp_path: Path) -> None:
    def local() -> None:
        raise AssertionError

    with pytest.raises(ValueError, match=r"pytest doesn't find tests in a file called agent.py"):
        export_test("run", tmp_path / "agent.py", "agent:run")
    with pytest.raises(ValueError, match="can't import"):
        export_test("run", tmp_path / "test_a.py", local)
    with pytest.raises(ValueError, match="A test can't import agent"):
        export_test("run", tmp_path / "test_a.py", "agent")
    with pytest.raises(ValueError, match="has no text that Python reads"):
        export_test("run", tmp_path / "test_a.py", "agent:run", [object()])
    with pytest.raises(ValueError, match="is no line of Python"):
        export_test("run", tmp_path / "test_a.py", "agent:run", checks=["assert ="])
    (tmp_path / "test_a.recording.json").write_text("mine")
    with pytest.raises(FileExistsError, match=r"test_a.recording.json exists"):
        export_test("run", tmp_path / "test_a.py", "agent:run")
