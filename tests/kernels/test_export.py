"""`%agentstepper --export`: runs in the kernel's memory become files."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstepper_nb.protocol.data_model import RunState
from agentstepper_nb.protocol.v1 import runfile
from tests.kernels.front import Frontend
from tests.kernels.test_view import BLOCKS

#: What is exported lies in a Core, whichever ipykernel it is in.
pytestmark = [BLOCKS, pytest.mark.slow]


@pytest.fixture
def front(front: Frontend) -> Frontend:
    """A kernel in whose Core two agents ran, the later one without an end."""
    front.run("%agentstepper --kernel")
    front.run("%%step 'first one'\ndbg.post_debug_message('hello')")
    front.run("from agentstepper_nb import AgentStepper")
    assert front.run("later = AgentStepper('later', stop_on_entry=False)").status == "ok"
    return front


def test_the_newest_and_a_named_one(front: Frontend, tmp_path: Path) -> None:
    newest, named = tmp_path / "newest.run", tmp_path / "with space.run"
    told = front.run(f"%agentstepper --export {newest}").text
    assert "agentstepper serve --runs" in told
    told = front.run(f"%agentstepper --export '{named}' --run 'first one'").text
    assert f"'{named}'" in told  # to be pasted into a shell
    later, first = (runfile.load_run(path.read_bytes()) for path in (newest, named))
    assert (later.run.program, first.run.program) == ("later", "first one")
    assert first.run.state is RunState.IDLE
    assert "hello" in repr(first.events)
    assert newest.stat().st_mode & 0o077 == 0


def test_what_can_not_be(front: Frontend, tmp_path: Path) -> None:
    def refused(line: str) -> str:
        ran = front.run(f"%agentstepper --export {line}")
        assert ran.error == "UsageError"
        return ran.text + ran.traceback

    assert "No run has the name 'nobody'" in refused(f"{tmp_path / 'a.run'} --run nobody")
    assert "is a folder" in refused(str(tmp_path))
    assert "can't be written: No such file" in refused(str(tmp_path / "missing" / "a.run"))
    assert list(tmp_path.iterdir()) == []
