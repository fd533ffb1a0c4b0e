"""The attempts of one LLM query: a client's retry after a failure belongs to the same event.

The clients of OpenAI and Anthropic number their attempts in a header. They don't announce whether
another attempt follows a failed one: this is read from the frame of the client's own loop. Where a
client has no such loop, each attempt is an event of its own.

The loop of a program in another process can't be seen. After a failed attempt, its event goes on if
the run can't halt there, and the next attempt with the same body belongs to it. Where the run may
halt, the person decides on each failure, and each attempt is an event; the next has the edited prompt.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from ..llm_wire.answer_events import JsonObject
from ..sdk.base_stepper import BaseStepper
from ..sdk.drivers import run_flow_async
from ..sdk.run_events import OpenEvent

_ATTEMPT_HEADER: Final = "x-stainless-retry-count"
_RETRY_HEADER: Final = "x-should-retry"
#: Statuses after which those clients ask again; so they do from 500 on.
_RETRIED_STATUSES: Final = frozenset({408, 409, 429})
#: Frames between the HTTP client's `send` and the loop that counts attempts.
_MAX_FRAMES: Final = 40


@dataclass(frozen=True)
class FailedAttempt:
    """A failed attempt that the client retries.

    Args:
        event: The event that goes on.
        original: The body that the agent sent.
        body: The body that is sent, with the person's edit.
        error: The error of the attempt.
    """

    event: OpenEvent
    original: JsonObject
    body: JsonObject
    error: Exception


_failed: ContextVar[FailedAttempt | None] = ContextVar("agentstepper_failed_attempt", default=None)


def record_failed_attempt(attempt: FailedAttempt) -> None:
    """Expect the next attempt in this context, which the client makes in the same thread or task."""
    _failed.set(attempt)


def pop_failed_attempt() -> FailedAttempt | None:
    """The attempt that failed before in this context, once; None where there is none."""
    attempt = _failed.get()
    if attempt is not None:
        _failed.set(None)
    return attempt


#: The failed attempts of programs that are other processes, by run.
_failed_remotely: dict[str, list[FailedAttempt]] = {}


def record_remote_attempt(run: str, attempt: FailedAttempt) -> None:
    """Expect that the program of a run may repeat an attempt."""
    _failed_remotely.setdefault(run, []).append(attempt)


def pop_remote_attempt(run: str, body: JsonObject) -> FailedAttempt | None:
    """The oldest attempt of a run that failed with a body, once; None where there is none."""
    attempts = _failed_remotely.get(run, [])
    found = next((each for each in attempts if each.original == body), None)
    if found is not None:
        attempts.remove(found)
    return found


async def end_failed_attempts(stepper: BaseStepper) -> None:
    """The program of a run has ended: the attempts that it didn't repeat have failed for good."""
    attempts = [each for each in _failed_remotely.pop(stepper.run_id, []) if not each.event.ended]
    if attempts and not stepper._is_closed():
        flow = stepper._open_flow()
        link = stepper._current_session().link
        for each in attempts:
            await run_flow_async(link, flow.give_up(each.event, each.error))


def can_be_retried(request: Any, response: Any | None) -> bool:
    """Whether a program that is another process may ask again after this attempt, which has failed.

    Args:
        request: The request.
        response: The response; None where there is none, which the proxy tells its client not to repeat.
    """
    return response is not None and _ATTEMPT_HEADER in request.headers and _is_retryable(response)


def is_retry(request: Any) -> bool:
    """Whether a client marks a request as a retry."""
    return str(request.headers.get(_ATTEMPT_HEADER, "0")) not in ("", "0")


def will_be_retried(request: Any, response: Any | None) -> bool:
    """Whether the client retries after this attempt, which has failed.

    Args:
        request: The request.
        response: The response; None where there is none, since the connection failed.
    """
    if _ATTEMPT_HEADER not in request.headers or not _is_retryable(response):
        return False
    frame = sys._getframe(1)
    for _ in range(_MAX_FRAMES):
        if "remaining_retries" in frame.f_code.co_varnames:
            remaining = frame.f_locals.get("remaining_retries")
            return isinstance(remaining, int) and remaining > 0
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


def _is_retryable(response: Any | None) -> bool:
    if response is None:
        return True
    said = response.headers.get(_RETRY_HEADER)
    if said in ("true", "false"):
        return bool(said == "true")
    return response.status_code in _RETRIED_STATUSES or response.status_code >= 500
