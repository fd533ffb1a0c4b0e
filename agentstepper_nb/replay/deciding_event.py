"""Finds the deciding event: the event of a good run without whose outcome the agent fails.

The agent is executed repeatedly. Each execution is served the good run's outcomes up to another event,
and continues live from there. See docs/design/0026-replay.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from ..history import StoredRun
from ..sdk import AgentStepper
from .agent_runs import load_recording, open_replay_run
from .cut_search import Ask, Check, Cut, CutSearch, DecidingEvent, Execution
from .recordings import Recording
from .replayer import ForkPoint, Replayer
from .workspace import prepare_cut_workspace


def find_deciding_event(
    good_run: str | StoredRun | Recording,
    bad_run: str | StoredRun | Recording | None,
    function: Callable[..., Any],
    *args: Any,
    check: Check,
    repeat: int = 3,
    yes: bool = False,
    ask: Ask | None = None,
) -> Any:
    """Find the first event of a good run that decides whether the agent passes a check.

    The search executes the agent again: on the recording of the good run up to an event, and on its
    own from there. It executes the agent `repeat` times for each event that it tries; the agent
    passes if more than half of these executions pass. Before the search begins, it states the
    number of LLM queries that it may cost, and asks for a yes. If the good run had a workspace,
    each execution works on a new folder with the files of its row, as a fork does.

    Args:
        good_run: A run that passes the check: its id or name, a stored run, or a recording.
        bad_run: A run that fails the check; the search skips the events that both runs have in
            common. None: the agent is first executed alone, to see that it fails.
        function: The agent, as for `replay_run`.
        args: The function's arguments.
        check: A function that is called with the agent's result and returns whether the result is
            good; or a command, as a text for a shell or as a list of words. The command gets the
            result as JSON on its standard input and the run's id as AGENTSTEPPER_RUN, and exits
            with 0 if the result is good. An agent that raises an exception fails the check.
        repeat: How often the agent is executed for each event.
        yes: Whether to begin without asking.
        ask: Asks the person a question, which is its argument; None: `input()` asks.

    Returns:
        A `DecidingEvent`; for an `async` function an awaitable of one.

    Raises:
        CommandError: `unknown_run`.
        ValueError: `repeat` is below 1, or the shell can't execute the check's command.
        OSError: The check's command is a list of words and can't be executed.
        WorkspaceError: The good run's snapshots aren't on this machine, or can't be written.
        ConnectionError: No Core can be reached.
    """
    if repeat < 1:
        raise ValueError(f"repeat={repeat} isn't allowed. Use 1 or more, best an odd number.")
    search = CutSearch(
        _load(good_run),
        None if bad_run is None else _load(bad_run),
        check,
        repeat,
        (lambda _: True) if yes else ask or ask_person,
    )
    if inspect.iscoroutinefunction(function):
        return _execute_async(search, function, args)
    return _execute(search, function, args)


def _load(run: str | StoredRun | Recording) -> Recording:
    return run if isinstance(run, Recording) else load_recording(run)


def ask_person(question: str) -> bool:
    """Ask a yes-or-no question in the terminal or the notebook."""
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _execute(
    search: CutSearch, function: Callable[..., Any], args: tuple[Any, ...]
) -> DecidingEvent:
    def execute(cut: Cut) -> Execution:
        replayer = open_cut(cut.recording)
        with _open(replayer, function) as stepper:
            try:
                came = Execution(stepper.run_id, function(*args))
            except Exception as error:
                came = Execution(stepper.run_id, failure=error)
        return replace(came, queries=replayer.made_queries)

    return search.run(execute)


async def _execute_async(
    search: CutSearch, function: Callable[..., Any], args: tuple[Any, ...]
) -> DecidingEvent:
    steps = search.steps()
    try:
        cut = next(steps)
        while True:
            replayer = open_cut(cut.recording)
            with _open(replayer, function) as stepper:
                try:
                    came = Execution(stepper.run_id, await function(*args))
                except Exception as error:
                    came = Execution(stepper.run_id, failure=error)
            cut = steps.send(replace(came, queries=replayer.made_queries))
    except StopIteration as done:
        found: DecidingEvent = done.value
        return found


def _open(replayer: Replayer, function: Callable[..., Any]) -> AbstractContextManager[AgentStepper]:
    """The run of an execution, in a folder with the files that the last served outcome left."""
    return open_replay_run(replayer, function, prepare_cut_workspace(replayer.recording))


def open_cut(recording: Recording) -> Replayer:
    """Open an execution that is served from a cut recording and then goes on by itself."""
    return Replayer(recording, ForkPoint(""))
