"""`agentstepper bisect`: which event of a recorded command decides whether it passes a check."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ..discover import discover
from ..errors import AgentStepperError
from . import EXIT_FAILURE, EXIT_OK, EXIT_USAGE_ERROR
from .terminal_text import escape_controls

if TYPE_CHECKING:
    from ..history import StoredRun
    from ..replay.cut_search import Cut, Execution
    from .bisect_reports import SearchReporter

#: Seconds that a run has to be recorded whole once its program has ended.
_RECORD_TIMEOUT_S: Final = 20.0
_POLL_S: Final = 0.05


class _Program(NamedTuple):
    """The program to execute.

    Args:
        good: The good run.
        words: The program's command line after `--`; empty: the good run's own command.
        environment: The environment of `agentstepper run`.
        check: The command that checks the program's output.
    """

    good: StoredRun
    words: Sequence[str]
    environment: Mapping[str, str]
    check: str


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line; `program` is the command line after `--`, None without one.

    Returns:
        0 if an event was found, 1 if none decides or the search failed, 2 for wrong usage.
    """
    from .bisect_reports import open_reporter

    if namespace.repeat < 1:
        return _fail(
            f"--repeat {namespace.repeat} isn't allowed. Use 1 or more, best an odd number.",
            EXIT_USAGE_ERROR,
        )
    reporter = open_reporter(namespace.report_to)
    try:
        return _search(namespace, reporter)
    except (AgentStepperError, OSError, ValueError) as error:
        reporter.fail(str(error))
        return _fail(str(error), EXIT_FAILURE)


def _search(namespace: Namespace, reporter: SearchReporter) -> int:
    from ..history import load_run
    from ..history.runs_folder import find_folder_of_core
    from ..replay import load_recording
    from ..replay.cut_search import CutSearch, run_check
    from ..sdk.environment_replays import RUNS_FOLDER_VARIABLE

    core = discover(namespace.url, namespace.token)
    folder = os.environ.get(RUNS_FOLDER_VARIABLE) or find_folder_of_core(core.url)
    good = load_run(namespace.good, folder)
    bad = None if namespace.bad is None else load_run(namespace.bad, folder)
    environment = {**os.environ, "AGENTSTEPPER_URL": core.url}
    if core.token:
        environment["AGENTSTEPPER_TOKEN"] = core.token
    program = _Program(good, namespace.program or (), environment, namespace.check)
    search = CutSearch(
        load_recording(good),
        None if bad is None else load_recording(bad),
        lambda came: run_check(program.check, *came),
        namespace.repeat,
        lambda question: namespace.yes or reporter.ask(question, search.asked_queries),
        reporter.show,
    )
    found = search.run(partial(_execute, program))
    reporter.end(found)
    print(escape_controls(str(found)))
    return EXIT_FAILURE if found.event is None else EXIT_OK


def _execute(program: _Program, cut: Cut) -> Execution:
    """Execute the program once. Returns its output, and the queries of its run."""
    from ..replay.cut_search import Execution

    known = _list_forks(program.good)
    # `-P`: what lies in this folder is not imported in the package's place.
    command = [sys.executable, "-P", "-m", "agentstepper_nb", "run"]
    command += ["--cut", f"{program.good.id}@{cut.count}"]
    command += ["--", *program.words] if program.words else []
    done = subprocess.run(
        command,
        env=program.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    forks = _list_forks(program.good) - known
    if not forks:
        raise ChildProcessError(
            f"The program ended with exit code {done.returncode}, and no run of it came to the Core. "
            f"Start it by hand to see why: agentstepper run --rerun {program.good.id}"
        )
    run, queries = min(forks), _count_queries(program.good, forks)
    if done.returncode != 0:
        return Execution(run, failure=ChildProcessError(done.returncode), queries=queries)
    return Execution(run, (run, done.stdout), queries=queries)


def _list_forks(good: StoredRun) -> set[str]:
    """List the ids of the good run's forks."""
    from ..history.runs_folder import open_folder

    with open_folder(good.folder) as reader:
        headers = reader.list_headers()
    return {each.id for each in headers if each.forked_from and each.forked_from.run == good.id}


def _count_queries(good: StoredRun, runs: set[str]) -> int:
    """Count the LLM queries of runs, once the runs are recorded to their ends."""
    from ..history import StoredRun
    from ..protocol.data_model import EventKind, EventSide
    from ..protocol.replay_marks import ReplayRole

    stored = [StoredRun(run, good.folder) for run in runs]
    end = time.monotonic() + _RECORD_TIMEOUT_S
    while live := [run.id for run in stored if run.header.live]:
        if time.monotonic() > end:
            raise ChildProcessError(
                f"The program has ended, and its run {live[0]} hasn't: the Core didn't record its end "
                "in time. Look at the Core's log, and try again."
            )
        time.sleep(_POLL_S)
    return sum(
        point.kind is EventKind.LLM_QUERY
        and point.side is EventSide.BEGIN
        and not (point.replay and point.replay.role is ReplayRole.SERVED)
        for run in stored
        for point in run.history().halt_points
    )


def _fail(message: str, code: int) -> int:
    print(f"agentstepper bisect: {escape_controls(message)}", file=sys.stderr)
    return code
