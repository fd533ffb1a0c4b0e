"""`%%step --fork` and `--replay` in a real kernel, whose Core keeps its runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.history import StoredRun, list_runs
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.replay_marks import ReplayRole
from agentstepper_nb.protocol.start_methods import CellStart, ForkOrigin
from tests.widgets.kernel import Kernel
from tests.widgets.person import KernelTestView

pytestmark = pytest.mark.slow

#: Calls a tool of the kernel twice.
CELL = """print("READY")
look = dbg.traced_tool(look_up)
print("got", *[look(word) for word in WORDS])
"""
NAMES = """
CALLS = []
WORDS = ["a", "b"]
def look_up(word: str) -> str:
    CALLS.append(word)
    return word.upper()
"""
SERVED, FORKED, LIVE = ReplayRole.SERVED, ReplayRole.FORKED, ReplayRole.LIVE


@pytest.fixture(scope="module")
def runs(folder: Path) -> Path:
    """Where the kernel looks for runs."""
    return folder / "data" / "agentstepper"


@pytest.fixture(scope="module")
def core(runs: Path) -> Iterator[AgentStepperCore]:
    with AgentStepperCore(client_port=0, ui_port=0, data=runs) as core:
        yield core


def newest(runs: Path) -> StoredRun:
    return StoredRun(list_runs(runs).index[-1], runs)


@pytest.fixture
def recorded(kernel: Kernel, person: KernelTestView, runs: Path) -> StoredRun:
    """A run of the cell, which a person stepped through."""
    assert kernel.run(NAMES).status == "ok"
    ran = kernel.run(f"%%step looker\n{CELL}", lambda: [person.step() for _ in range(4)])
    assert "got A B" in ran.text
    return newest(runs)


def roles(run: StoredRun) -> list[ReplayRole]:
    return [point.replay.role for point in run.history().halt_points if point.replay]


@pytest.mark.parametrize("body", ["", "\n", "\n  \n"])
def test_an_empty_cell_takes_the_recorded_one(
    kernel: Kernel, recorded: StoredRun, runs: Path, body: str
) -> None:
    ran = kernel.run(f"%%step --replay {recorded.id}{body}")
    assert ran.status == "ok", ran
    assert (
        f"Runs on the recording of run {recorded.id}, with the names of this kernel as they are now."
    ) in ran.text
    assert "got A B" in ran.text
    assert kernel.run("CALLS").value == "['a', 'b']"  # no more than the first time
    run = newest(runs)
    assert roles(run) == [SERVED, SERVED]
    assert run.forked_from == ForkOrigin(run=recorded.id)
    assert run.header.program == "looker"
    assert run.start_method() == CellStart(source=CELL, line="")


def test_a_fork_halts_at_its_row(
    kernel: Kernel, person: KernelTestView, recorded: StoredRun, runs: Path
) -> None:
    (first, second) = recorded.events().query("kind == 'tool_invocation' and side == 'end'").seq
    cell = CELL.replace('"got"', '"again"')  # which is taken in the recorded one's place

    def edit_and_go_on() -> None:
        run = person.find_halted_run()
        assert (run.rows, run.forked_from) == (first, ForkOrigin(run=recorded.id, row=first))
        person.step_run(run, '"other"')

    steps = [edit_and_go_on, person.step, person.step]
    ran = kernel.run(
        f"%%step 'my fork' --fork {recorded.id}@{first}\n{cell}",
        lambda: [step() for step in steps],
    )
    assert "again other B" in ran.text
    assert kernel.run("CALLS").value == "['a', 'b', 'b']"
    run = newest(runs)
    assert roles(run) == [SERVED, FORKED, LIVE]
    assert run.start_method() == CellStart(source=cell, line="'my fork'")
    assert second > first


def test_a_fork_has_the_files_of_its_row(
    kernel: Kernel, person: KernelTestView, runs: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    setup = f"""
import os
import agentstepper_nb
os.chdir({str(project)!r})
def write(name: str) -> str:
    (agentstepper_nb.workspace / name).write_text(name)
    return name
"""
    cell = """print("READY")
call = dbg.traced_tool(write)
print(call("one"), call("two"), sorted(os.listdir()), agentstepper_nb.workspace == dbg.workspace)
"""
    assert kernel.run(setup).status == "ok"
    ran = kernel.run(
        f"%%step writer --workspace {project}\n{cell}", lambda: [person.step() for _ in range(4)]
    )
    assert "one two ['one', 'two'] True" in ran.text
    recorded = newest(runs)
    row = int(recorded.events().query("kind == 'tool_invocation' and side == 'begin'").seq.iloc[1])

    def edit_and_go_on() -> None:
        person.step_run(
            person.find_halted_run(), '{"Tool": "write", "Argument": {"name": "other"}}'
        )

    ran = kernel.run(
        f"%%step --fork {recorded.id}@{row}\n{cell}",
        lambda: [step() for step in (edit_and_go_on, person.step)],
    )
    assert "one other ['one', 'other'] True" in ran.text
    assert "1 file written" in ran.text
    assert sorted(path.name for path in project.iterdir()) == ["one", "two"]
    assert Path(newest(runs).header.workspace or "") != project
    assert kernel.run("os.getcwd()").value == repr(str(project))


def test_other_names_make_another_run(
    kernel: Kernel, person: KernelTestView, recorded: StoredRun
) -> None:
    assert kernel.run("WORDS = ['c']").status == "ok"
    ran = kernel.run(f"%%step --replay {recorded.id}", person.step)  # where it differs, it halts
    assert (ran.status, ran.error) == ("error", "Divergence")
    assert kernel.run("WORDS = ['a']").status == "ok"
    ran = kernel.run(f"%%step --replay {recorded.id}\n")
    assert (ran.status, ran.error) == ("error", "Divergence")
    assert "ended before its recording" in ran.traceback


#: Asks by what isn't deterministic.
FROZEN_CELL = """print("READY")
import random, time
look = dbg.traced_tool(look_up)
print("got", look(str(time.time())), look(str(random.random())))
"""


def test_a_frozen_cell_is_replayed_exactly(
    kernel: Kernel, person: KernelTestView, runs: Path
) -> None:
    assert kernel.run(NAMES).status == "ok"
    ran = kernel.run(
        f"%%step chancer --freeze\n{FROZEN_CELL}", lambda: [person.step() for _ in range(4)]
    )
    recorded = newest(runs)
    assert recorded.start_method() == CellStart(source=FROZEN_CELL, line="chancer", freezes=True)
    again = kernel.run(f"%%step --replay {recorded.id}\n")
    assert (again.status, read_got(again.text)) == ("ok", read_got(ran.text))
    assert roles(newest(runs)) == [SERVED, SERVED]
    assert newest(runs).start_method() == CellStart(source=FROZEN_CELL, line="", freezes=True)


def test_a_fork_of_a_frozen_cell_sees_its_time_up_to_the_row(
    kernel: Kernel, person: KernelTestView, runs: Path
) -> None:
    assert kernel.run(NAMES).status == "ok"
    ran = kernel.run(f"%%step --freeze\n{FROZEN_CELL}", lambda: [person.step() for _ in range(4)])
    recorded = newest(runs)
    row = int(recorded.events().query("kind == 'tool_invocation' and side == 'begin'").seq.iloc[1])
    again = kernel.run(
        f"%%step --fork {recorded.id}@{row}\n", lambda: [person.step() for _ in range(2)]
    )
    # What was drawn before the row is what was recorded; the call is made again, with the same number.
    assert (again.status, read_got(again.text)) == ("ok", read_got(ran.text))
    assert roles(newest(runs)) == [SERVED, FORKED]


def test_a_cell_that_is_not_frozen_diverges(
    kernel: Kernel, person: KernelTestView, runs: Path
) -> None:
    assert kernel.run(NAMES).status == "ok"
    kernel.run(f"%%step\n{FROZEN_CELL}", lambda: [person.step() for _ in range(4)])
    ran = kernel.run(f"%%step --replay {newest(runs).id}\n", person.step)
    assert (ran.status, ran.error) == ("error", "Divergence")


def read_got(text: str) -> str:
    return text.partition("got ")[2].strip()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--fork ID", "names no row to fork at. Write RUN@ROW"),
        ("--fork ID@77", "can't be forked at row 77"),
        ("--replay nobody", "No run has the id or name 'nobody'."),
        ("--replay ID --fork ID@2", "not allowed with argument"),
    ],
)
def test_lines_that_are_wrong(kernel: Kernel, recorded: StoredRun, line: str, said: str) -> None:
    ran = kernel.run(f"%%step {line.replace('ID', recorded.id)}\n")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert said in str(ran.outputs)


def test_a_run_that_is_no_cell_needs_one(kernel: Kernel, runs: Path) -> None:
    code = "from agentstepper_nb import AgentStepper\nAgentStepper('x', mode='continue').close()"
    assert kernel.run(code).status == "ok"
    ran = kernel.run(f"%%step --replay {newest(runs).id}\n")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert "isn't known as a cell's. Put the agent's code below %%step --replay" in str(ran.outputs)


def test_a_masked_cell_must_be_given(
    kernel: Kernel, person: KernelTestView, recorded: StoredRun, runs: Path
) -> None:
    assert kernel.run("import os; os.environ['SOME_TOKEN'] = 'of-great-value'").status == "ok"
    assert kernel.run("%%step\nx = 'of-great-value'").status == "ok"
    ran = kernel.run(f"%%step --replay {newest(runs).id}\n")
    assert "had a secret, which was masked when it was recorded." in str(ran.outputs)
