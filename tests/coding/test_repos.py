"""Small repositories with planted bugs are mended, with an approval edited on the way."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import tarfile
import termios
import threading
import traceback
from functools import partial
from pathlib import Path
from typing import Final

import nbformat
import pexpect
import pytest
from nbclient import NotebookClient
from pexpect import fdpexpect

from agentstepper_nb import cli
from agentstepper_nb.coding.approvals import ApprovalDecision
from agentstepper_nb.coding.session import CodingSession
from agentstepper_nb.coding.session_list import CodingDataPaths
from agentstepper_nb.llm_wire.events import AgentEvent
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import Run
from tests.coding import repair_scenarios
from tests.coding.scripted_parts import FakeApprover
from tests.helpers.sampling import select_sample
from tests.sdk.person import LiveView

pytestmark = pytest.mark.usefixtures("cached_python")

#: What is unpacked from PyPI, and the line that is changed in it.
SDIST: Final = "colorama==0.4.6"
RIGHT: Final = "return CSI + str(code) + 'm'"
WRONG: Final = "return CSI + str(code) + 'M'"
ITS_TESTS: Final = "colorama.tests.ansi_test"


@pytest.fixture(autouse=True)
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is read or written."""
    for name, value in repair_scenarios.environment().items():
        if not name.startswith(("AGENTSTEPPER", "JUPYTER")):
            monkeypatch.setenv(name, value)
    for name in ("AGENTSTEPPER_MODEL", "NO_COLOR", "EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    return home


# A notebook mends all of them in such a session, in soak.
@pytest.mark.slow
@pytest.mark.parametrize("repo", select_sample(["bill", "names"], "bill"))
def test_by_the_session_alone(repo: str, home: Path, person: LiveView) -> None:
    copy = repair_scenarios.prepare(repo, home)
    assert not repair_scenarios.passes(copy)
    heard: list[AgentEvent] = []

    async def scene() -> Path:
        session = await CodingSession.create(
            workspace=copy,
            provider="scripted",
            model=repair_scenarios.script(repo),
            data_dir=home / "data",
            mode="run",
            approver=FakeApprover(
                ApprovalDecision(approved=True, edited=True, args=repair_scenarios.EDITED)
            ),
            listener=heard.append,
        )
        async with session:
            assert (await session.run(repair_scenarios.PROMPT)).reason == "done"
        return CodingDataPaths(home / "data").log(session.id)

    log = asyncio.run(scene())
    assert repair_scenarios.is_mended(copy)
    person.wait_until(lambda run: True)
    person.wait_until_ended()
    repair_scenarios.check_log(log)
    repair_scenarios.check_stream(log, heard)
    repair_scenarios.check_run(log, person)


@pytest.mark.slow
def test_in_a_terminal(home: Path, person: LiveView) -> None:
    copy = repair_scenarios.prepare("calc", home)
    mend_in_terminal(copy, repair_scenarios.script("calc"), repair_scenarios.PROMPT, home / "data")
    assert repair_scenarios.is_mended(copy)
    person.wait_until(lambda run: True)
    person.wait_until_ended()
    (kept,) = CodingDataPaths(home / "data").sessions()
    log = CodingDataPaths(home / "data").log(kept.id)
    repair_scenarios.check_log(log)
    repair_scenarios.check_run(log, person)


def mend_in_terminal(copy: Path, script: str, prompt: str, data: Path) -> None:
    """`agentstepper code`, whose approval is edited and given on its terminal."""
    options = ["--provider", "scripted", "--model", script, "--data", str(data)]
    terminal = ForkedTerminal(copy, ["code", prompt, *options])
    try:
        terminal.expect(r"In the debugger: Run #\d+ of code")
        terminal.expect(r"→ run_command\(command=python -m unittest.*\)")
        terminal.expect("exit code 1")
        terminal.expect("✓")
        terminal.expect("Asks for approval · high risk · ")
        terminal.expect(r"\[a\]pprove .*: ")
        terminal.sendline('e {"command": "rm -rf build/cache"}')
        terminal.expect(r"now: run_command\(command=rm -rf build/cache\)")
        terminal.expect(r"\[a\]pprove .*: ")
        terminal.sendline("a")
        terminal.expect("High risk: type “run_command” and Enter")
        terminal.sendline("run_command")
        terminal.expect("approved")
        terminal.expect("All tests pass")
        terminal.expect("Done · 6 queries")
        terminal.expect(pexpect.EOF)
        assert terminal.wait() == 0
    finally:
        terminal.close()


class ForkedTerminal(fdpexpect.fdspawn):  # type: ignore[misc]
    """`agentstepper` on a terminal, in a process that is forked from this one.

    This process has imported what the command needs.

    Args:
        folder: The folder that it runs in.
        arguments: Its arguments.
    """

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self._child, terminal = pty.fork()
        if self._child == 0:
            code = 1
            try:
                os.chdir(folder)
                sys.stdin, sys.stdout, sys.stderr = (
                    os.fdopen(n, "w" if n else "r") for n in range(3)
                )
                code = cli.main(arguments)
            except BaseException:
                # `os._exit` leaves without printing what ended it.
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        termios.tcsetwinsize(terminal, (50, 200))
        super().__init__(terminal, encoding="utf-8", timeout=60)
        self.delaybeforesend = None

    def wait(self) -> int:
        """Wait for its end; its exit code."""
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """End it, whatever it does."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self.wait()
        super().close()


# ---- in a notebook -----------------------------------------------------------------------------------

CELL: Final = """\
from pathlib import Path

import msgspec
from agentstepper_nb.coding.session import CodingSession

heard = []
async with await CodingSession.create(
    workspace=Path({copy!r}),
    provider="scripted",
    model={script!r},
    data_dir=Path({data!r}),
    mode="repl",
    session_id={repo!r},
    listener=heard.append,
) as session:
    result = await session.run({prompt!r})
assert result.reason == "done", result
print(msgspec.json.encode(heard).decode())
"""


@pytest.mark.soak
def test_in_a_notebook(home: Path, person: LiveView) -> None:
    copies = {repo: repair_scenarios.prepare(repo, home) for repo in repair_scenarios.REPOS}
    cells = [
        nbformat.v4.new_code_cell(
            CELL.format(
                copy=str(copy),
                script=repair_scenarios.script(repo),
                data=str(home / "data"),
                repo=repo,
                prompt=repair_scenarios.PROMPT,
            )
        )
        for repo, copy in copies.items()
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    approving = threading.Thread(target=approve_each, args=(person, len(cells)))
    approving.start()
    NotebookClient(notebook, timeout=60).execute()
    approving.join()
    person.wait_until_ended()
    for cell, (repo, copy) in zip(notebook.cells, copies.items(), strict=True):
        assert repair_scenarios.is_mended(copy)
        log = CodingDataPaths(home / "data").log(repo)
        heard = json.loads(cell.outputs[0].text)
        repair_scenarios.check_log(log)
        repair_scenarios.check_stream(log, heard)
    repair_scenarios.check_run(
        CodingDataPaths(home / "data").log(repair_scenarios.REPOS[-1]), person
    )


def approve_each(person: LiveView, times: int) -> None:
    """Edit and approve what asks, in run after run, as a person at the view does."""
    edit = json.dumps({"Tool": "run_command", "Argument": repair_scenarios.EDITED})
    for number in range(1, times + 1):
        run = person.wait_until(partial(asks, person, number))
        (halted,) = run.pending
        meant = {"run": run.id, "halt_point": halted, "revision": 1, "edit": edit}
        person._request(ui.ApproveCall(**meant, confirmed=True))
        person.wait_until(lambda run: not run.pending)


def asks(person: LiveView, number: int, run: Run) -> bool:
    """Whether the run of a number is there, and waits."""
    return len(person.runs) == number and bool(run.pending)


# ---- a package of others -----------------------------------------------------------------------------


@pytest.mark.soak
def test_a_package_from_pypi(home: Path, person: LiveView) -> None:
    copy = unpacked(home)
    repair_scenarios.dirty(copy)
    ansi = copy / "colorama" / "ansi.py"
    ansi.write_text(ansi.read_text().replace(RIGHT, WRONG))
    assert not repair_scenarios.passes(copy, ITS_TESTS)
    mend_in_terminal(
        copy, repair_scenarios.script("colorama"), repair_scenarios.PROMPT, home / "data"
    )
    assert repair_scenarios.is_mended(copy, ITS_TESTS)
    person.wait_until(lambda run: True)
    person.wait_until_ended()
    (kept,) = CodingDataPaths(home / "data").sessions()
    log = CodingDataPaths(home / "data").log(kept.id)
    repair_scenarios.check_log(log)
    repair_scenarios.check_run(log, person)


def unpacked(folder: Path) -> Path:
    """The package's source, which pip fetches once for this environment."""
    cache = Path(sys.prefix) / "agentstepper-tests"
    name = SDIST.replace("==", "-")
    archive = cache / f"{name}.tar.gz"
    if not archive.exists():
        options = [
            "--no-deps",
            "--no-binary",
            ":all:",
            "--no-build-isolation",
            "--dest",
            str(cache),
        ]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *options, SDIST]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        if done.returncode:
            pytest.skip(f"{SDIST} can't be fetched here: {done.stderr.strip().splitlines()[-1]}")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / name
