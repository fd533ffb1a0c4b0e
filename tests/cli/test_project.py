"""`agentstepper project` and `import-lance`, as a person starts them beside a Core."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import Agents
from agentstepper_nb.errors import CommandError
from agentstepper_nb.store.runtime.conformance.base_suite import (
    begin_session,
    make_conversation,
    make_message,
    make_step,
    write_session,
)
from agentstepper_nb.store.runtime.sqlite import open_runtime_store
from tests.docs.pages import GUIDE, blocks
from tests.goldens.test_store import GOLDENS
from tests.helpers.forked_python import run_python, start_python
from tests.helpers.lance_tables import connect

from .conftest import COMMAND, ServeProcess

Serve = Callable[..., ServeProcess]
#: Seconds in which something has to happen that takes some.
SOON = 100.0
PAGE = GUIDE / "runtime-stores.md"
EMBEDDING = """
def embed(texts):
    return [[float("loop" in text or "ring" in text), 0.1] for text in texts]
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A Core's folder, in which a session has done some steps."""

    async def fill() -> None:
        store = open_runtime_store(tmp_path / "data")
        await store.save_conversation(make_conversation())
        state = await begin_session(store)
        steps = [make_step(iteration=n, text=f"loop {n}, round and round") for n in range(3)]
        await write_session(
            store, state=state, steps=tuple(steps), messages=(make_message("m", text="A loop?"),)
        )
        await store.close()

    asyncio.run(fill())
    return tmp_path / "data"


class ProjectCommand:
    """`agentstepper project`, which goes on."""

    def __init__(self, to: Path, *arguments: str, **how: Any) -> None:
        self.process = start_python(
            [*COMMAND, "project", "--to", str(to), "--poll", "0.05", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            **how,
        )

    def wait_for_line(self, text: str) -> None:
        """Read what it says, until it says this."""
        assert self.process.stderr
        said = []
        for line in self.process.stderr:
            said.append(line)
            if text in line:
                return
        raise AssertionError(f"not a word of {text!r}: {said}")

    def end(self) -> int:
        """Ask for its end; its exit code."""
        self.process.terminate()
        self.process.communicate(timeout=SOON)
        return self.process.returncode


@contextmanager
def projecting(to: Path, *arguments: str, **how: Any) -> Iterator[ProjectCommand]:
    """One that has begun, and ends with the block."""
    with ExitStack() as stack:
        command = ProjectCommand(to, *arguments, **how)
        stack.callback(command.end)
        command.wait_for_line("projecting ")
        yield command


def project_once(to: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "project", "--to", str(to), "--once", *arguments]
    return run_python(command, timeout=SOON)


def rows(to: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = connect(to).open_table(table).to_arrow().to_pylist()
    return found


def found_texts(agents: Agents, text: str, **which: Any) -> set[str]:
    hits = agents.search(text, **which)
    return {(hit.step or hit.message).text for hit in hits}  # type: ignore[union-attr]


def search_until(agents: Agents, text: str, wanted: set[str]) -> None:
    """Search until all of this is found: the projection connects, and its tables follow."""
    until = time.monotonic() + SOON
    found: object = None
    while found != wanted:
        assert time.monotonic() < until, found
        time.sleep(0.05)
        try:
            found = found_texts(agents, text)
        except CommandError as error:
            assert error.code == "unknown_service"
            found = error


@pytest.mark.slow
def test_once_writes_all_there_is(serve: Serve, data: Path, tmp_path: Path) -> None:
    serve("--data", str(data), "--no-worker")
    done = project_once(tmp_path / "tables")
    assert done.returncode == 0, done.stderr
    assert [row["text"] for row in rows(tmp_path / "tables", "agent_steps")] == [
        f"loop {n}, round and round" for n in range(3)
    ]
    assert [row["session_id"] for row in rows(tmp_path / "tables", "agent_state")] == ["s"]


@pytest.mark.slow
def test_while_it_runs_what_is_new_is_searched(serve: Serve, data: Path, tmp_path: Path) -> None:
    served = serve("--data", str(data), "--no-worker")
    with Agents.connect(served.agents) as agents:
        with pytest.raises(CommandError, match=r"Run `agentstepper project --to FOLDER`"):
            agents.search("round")
        (tmp_path / "my_embedding.py").write_text(EMBEDDING)
        with projecting(
            tmp_path / "tables", "--embed", "my_embedding:embed", cwd=tmp_path
        ) as command:
            search_until(
                agents, "ring", {*(f"loop {n}, round and round" for n in range(3)), "A loop?"}
            )
            agents.post("c", "What rings?")
            search_until(
                agents,
                "rings",
                {*(f"loop {n}, round and round" for n in range(3)), "A loop?", "What rings?"},
            )
            assert found_texts(agents, "rings", conversation_id="c") == {"A loop?", "What rings?"}
            assert len(agents.search("rings", limit=2)) == 2
            (printed,) = (each for each in blocks(PAGE) if "agents.search(" in each.text)
            exec(printed.text, {})  # it finds the Core, and nothing of its agent
            assert project_once(tmp_path / "tables").stderr.count("agentstepper project") == 2
            assert command.end() == 0
        with pytest.raises(CommandError, match="no projection"):
            agents.search("round")


@pytest.mark.slow
def test_it_goes_on_where_the_core_comes_back(serve: Serve, data: Path, tmp_path: Path) -> None:
    first = serve("--data", str(data), "--no-worker")
    port = first.agents.rpartition(":")[2]
    with projecting(tmp_path / "tables", "--url", first.agents):
        first.stop()
        again = serve("--data", str(data), "--no-worker", "--client-port", port)
        with Agents.connect(again.agents) as agents:
            agents.post("c", "What now?")
            search_until(agents, "now", {"What now?"})


def position(to: Path) -> int:
    """The number of the last change that is noted."""
    noted = rows(to, "projection")
    return noted[0]["last"] if noted else 0


def wait_for_position(to: Path, number: int) -> None:
    until = time.monotonic() + SOON
    while position(to) < number:
        assert time.monotonic() < until
        time.sleep(0.01)


def survive_kills(serve: Serve, data: Path, tables: Path, seed: int, kills: int) -> None:
    """Kill the projection of 1,333 steps a kill, let another write the rest, and look for each row."""
    chance, steps = random.Random(seed), 1333 * kills

    async def fill_more(first: int) -> None:
        store = open_runtime_store(data)
        for number in range(first, first + steps):
            await write_session(store, steps=(make_step(iteration=number, data="x" * 500),))
        await store.close()

    asyncio.run(fill_more(3))
    served = serve("--data", str(data), "--no-worker")
    connect(tables)  # imports what takes longer than the projection
    for number in range(kills):
        with Agents.connect(served.agents) as agents, projecting(tables) as command:
            agents.post("c", f"before kill {number}")
            # While one of the next batches is written.
            wait_for_position(tables, 800 * number + chance.randint(1, 800))
            time.sleep(chance.random() / 20)
            command.process.kill()
        assert position(tables) < steps + 3
    done = project_once(tables)
    assert done.returncode == 0, done.stderr
    written = [row["id"] for row in rows(tables, "agent_steps")]
    assert sorted(written) == sorted(f"s/{n}" for n in range(steps + 3))
    said = [row["text"] for row in rows(tables, "conversation_messages")]
    assert sorted(said) == ["A loop?", *(f"before kill {n}" for n in range(kills))]


@pytest.mark.soak  # tests/unit/store/lance/test_projection writes a batch again that was not noted
def test_a_kill_loses_nothing_and_doubles_nothing(serve: Serve, data: Path, tmp_path: Path) -> None:
    survive_kills(serve, data, tmp_path / "tables", seed=0, kills=1)


@pytest.mark.soak  # the one before is killed once
@pytest.mark.parametrize("seed", range(8))
def test_three_kills_lose_nothing(serve: Serve, data: Path, tmp_path: Path, seed: int) -> None:
    survive_kills(serve, data, tmp_path / "tables", seed, kills=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--embed", "nowhere:embed"), "can't be imported: No module named 'nowhere'"),
        (("--embed", "json"), "Name it as MODULE:FUNCTION"),
    ],
)
def test_what_cannot_be(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = project_once(tmp_path / "tables", "--url", "ws://127.0.0.1:1", *arguments)
    assert done.returncode == 1
    assert said in done.stderr


# ---- an earlier store --------------------------------------------------------------------------------


def import_lance(folder: str, data: Path) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "import-lance", folder, "--data", str(data)]
    return run_python(command, timeout=SOON)


@pytest.mark.slow
def test_an_earlier_store_is_brought_over(serve: Serve, tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDENS / "lance_store.zip") as archive:
        archive.extractall(tmp_path)
    data = tmp_path / "data"
    done = import_lance(f"lance:{tmp_path / 'killed'}", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Imported 1 conversations, 4 actions, 3 agent_state, 5 agent_steps" in done.stdout
    served = serve("--data", str(data), "--no-worker")
    with Agents.connect(served.agents) as agents:
        assert [step.iteration for step in agents.list_agent_steps("live")] == [0, 1, 2]
        done = import_lance(str(tmp_path / "closed"), data)
        assert done.returncode == 1
        assert "agentstepper serve" in done.stderr  # who has the folder


def test_what_is_no_earlier_store(tmp_path: Path) -> None:
    done = import_lance(str(tmp_path), tmp_path / "data")
    assert done.returncode == 1
    assert "name the folder that stood after `lance:`" in done.stderr


def test_a_core_that_is_given_one_names_the_command(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "--runtime-store", f"lance:{tmp_path}"]
    failed = run_python(command, timeout=SOON)
    assert failed.returncode == 2
    assert f"`agentstepper import-lance {tmp_path}` once, then use sqlite" in failed.stderr
