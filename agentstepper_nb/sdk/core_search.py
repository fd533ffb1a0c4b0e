"""Finding back to a Core: where to try, and what stands in the way."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import Final, NamedTuple

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from ..discover import CoreEndpoint, CoreInfo, list_announced_cores
from ..protocol.agent import Hello, Welcome
from .handshake import (
    AgentRefusedError,
    exchange_hello,
    explain_close,
    explain_not_opened,
    is_final_refusal,
    is_too_large,
    open_socket,
)
from .run_protocol import RunProtocol

log = logging.getLogger("agentstepper_nb.sdk")

_ADVICE: Final = {
    "wait": (
        "The agent waits for the Core at the next halt point: start the Core again with "
        "the same data folder, or end the wait by an interrupt (Ctrl+C)."
    ),
    "continue": "The agent continues without edits, and sends its events once the Core is back.",
}
_LEASED_ADVICE: Final = (
    "The agent continues until a breakpoint halts it, and waits for the Core there: "
    "start the Core again with the same data folder."
)


def list_running_cores() -> list[CoreInfo]:
    """List this user's running Cores; empty if their files can't be read."""
    with suppress(OSError):
        return list(list_announced_cores())
    return []


def list_candidates(last: CoreEndpoint, running: Iterable[CoreInfo]) -> list[CoreEndpoint]:
    """List the endpoints at which the Core of a run may be now.

    The same address first. Then the running Cores with the same token, which lies in the data folder:
    a Jupyter server often comes back on another port.

    Args:
        last: The Core's last endpoint.
        running: This user's running Cores.
    """
    others = [
        each
        for each in (core.endpoint for core in running)
        if each.token == last.token and each.url != last.url
    ]
    return [last, *others]


class CoreReached(NamedTuple):
    """A connection to a Core that accepts or resumes the run."""

    connection: ClientConnection
    exit_stack: ExitStack  # to leave closes the connection
    endpoint: CoreEndpoint
    welcome: Welcome | None  # None: the Core is of version 1


class CoreUnreachable(NamedTuple):
    """The failure to find a Core that resumes the run."""

    endpoint: CoreEndpoint
    error: ConnectionError
    has_sent_hello: bool  # whether the Core may have received hello
    is_refused: bool  # whether the refusal is final
    code: str = ""  # the Core's error code, if any


def reach_core(
    endpoints: list[CoreEndpoint], hello: Hello, timeout_s: float
) -> CoreReached | CoreUnreachable:
    """Try to reach a Core at several endpoints, one after the other.

    Args:
        endpoints: The endpoints to try; the first is the Core's last one.
        hello: The hello that asks to resume the run.
        timeout_s: Seconds per endpoint.

    Returns:
        The first Core that resumes the run; else the first refusal, else the first failure.
    """
    failures: list[CoreUnreachable] = []
    for endpoint in endpoints:
        found = _try(endpoint, hello, timeout_s)
        if isinstance(found, CoreReached):
            return found
        # A Core without a token may be anybody's: what it refuses says nothing about ours.
        is_own = endpoint is endpoints[0] or endpoint.token is not None
        failures.append(found if is_own else found._replace(is_refused=False))
    chosen = next((failure for failure in failures if failure.is_refused), failures[0])
    return chosen._replace(has_sent_hello=any(failure.has_sent_hello for failure in failures))


def _try(endpoint: CoreEndpoint, hello: Hello, timeout_s: float) -> CoreReached | CoreUnreachable:
    has_sent_hello = False
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(open_socket(endpoint, timeout_s))
            has_sent_hello = True
            welcome = exchange_hello(connection, hello)
            if welcome is None:
                raise AgentRefusedError(
                    "The original AgentStepper runs at this address now, and it can't resume a run."
                )
            return CoreReached(connection, stack.pop_all(), endpoint, welcome)
    except Exception as error:
        why = explain_not_opened(endpoint, error, timeout_s)
        code = error.code if isinstance(error, AgentRefusedError) else ""
        return CoreUnreachable(endpoint, why, has_sent_hello, is_final_refusal(error), code)


class ReconnectReporter:
    """Logs notices while the Core is away, each advice once."""

    def __init__(self) -> None:
        self._lost_reason = ""  # the connection is gone
        self._reported_advice: set[str] = set()

    def report_lost(self, close_error: Exception, runs: Iterable[RunProtocol], url: str) -> None:
        """Say that the Core is away, where halt points are about to be passed unedited."""
        self._lost_reason = ""
        if isinstance(close_error, ConnectionClosed) and not is_too_large(close_error):
            self._lost_reason = explain_close(close_error)
            passing = [run for run in runs if run.can_resume and run.on_disconnect == "continue"]
            self._log_advice(passing, url)

    def report_not_found(
        self, reason: str, disconnected_runs: Iterable[RunProtocol], url: str
    ) -> None:
        """Say that no Core was found for the runs that are away."""
        self._lost_reason = self._lost_reason or reason
        for run in disconnected_runs:
            run.unreachable_reason = reason
        self._log_advice(disconnected_runs, url)

    def report_reconnected(self, url: str) -> None:
        """Report that the Core is back, if its absence was reported."""
        if self._reported_advice:
            self._reported_advice.clear()
            log.warning("The Core is back at %s, and the run continues.", url)

    def _log_advice(self, runs: Iterable[RunProtocol], url: str) -> None:
        """Log advice for each run, but for runs that say goodbye: they report undelivered messages."""
        for run in runs:
            is_continuing = run.on_disconnect == "wait" and run.listener.is_in_continue_mode()
            advice = _LEASED_ADVICE if is_continuing else _ADVICE[run.on_disconnect]
            if not (advice in self._reported_advice or run.is_closing):
                self._reported_advice.add(advice)
                log.warning(
                    "Connection lost to the Core at %s: %s. %s", url, self._lost_reason, advice
                )
