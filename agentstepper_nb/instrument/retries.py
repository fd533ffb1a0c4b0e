"""The attempts of one LLM query: a client that asks again after a failure goes on with the same event.

The clients of OpenAI and Anthropic number their attempts in a header. Whether another attempt follows
a failed one they tell nobody: it is read from the frame of the client's own loop. Where a client has no
such loop, each attempt is an event of its own.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from ..llm_wire.answer_events import JsonObject
from ..sdk.run_events import OpenEvent

_ATTEMPT_HEADER: Final = "x-stainless-retry-count"
_RETRY_HEADER: Final = "x-should-retry"
#: Statuses after which those clients ask again; so they do from 500 on.
_RETRIED_STATUSES: Final = frozenset({408, 409, 429})
#: Frames between the HTTP client's `send` and the loop that counts attempts.
_MAX_FRAMES: Final = 40


@dataclass(frozen=True)
class FailedAttempt:
    """An attempt that failed, and after which the client asks again.

    Args:
        event: The event that goes on.
        original: The body that the agent sent.
        body: The body that is sent, with the person's edit.
        error: What went wrong.
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


def is_repeated(request: Any) -> bool:
    """Whether a client says of a request that it asks again."""
    return str(request.headers.get(_ATTEMPT_HEADER, "0")) not in ("", "0")


def will_be_repeated(request: Any, response: Any | None) -> bool:
    """Whether the client asks again after this attempt, which has failed.

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
