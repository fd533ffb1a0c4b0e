"""How often all workers together may ask a model: token buckets of the Core, from which workers take."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ...protocol.runtime_requests import ModelCredit, TakeModelCredit

#: Seconds of its rate that a bucket holds: what may be taken at once after a pause.
_BURST_S: Final = 10.0
#: Tokens that a call is expected to take before the first has said what it took.
_FIRST_GUESS: Final = 1000.0
#: How much the newest calls weigh in what the next is expected to take.
_NEWEST_WEIGHT: Final = 0.2
#: Seconds that a worker waits at most before it asks again: others may have given back.
_MAX_WAIT_S: Final = 30.0
_RATE: Final = re.compile(r"(\d{1,12}) ?(tokens)?/min")


@dataclass(frozen=True)
class ModelRate:
    """How often a model may be asked.

    Args:
        requests: Requests a minute. None: without a limit.
        tokens: Tokens a minute, of prompts and answers together. None: without a limit.
    """

    requests: int | None = None
    tokens: int | None = None


def parse_model_rate(text: str) -> tuple[str, ModelRate]:
    """A rate as options name it: `MODEL=60/min`, `MODEL=90000tokens/min`, or both after a comma.

    Args:
        text: The model's name, and its rate.

    Returns:
        The model's name and its rate.

    Raises:
        ValueError: It has another form, or a rate is 0.
    """
    model, _, rates = text.rpartition("=")
    found: dict[str, int] = {}
    for part in rates.split(","):
        match = _RATE.fullmatch(part.strip())
        if match is None or int(match[1]) == 0:
            break
        found["tokens" if match[2] else "requests"] = int(match[1])
    else:
        if model:
            return model, ModelRate(**found)
    raise ValueError(
        f"{text!r} isn't a model's rate. Use MODEL=60/min for requests, MODEL=90000tokens/min for "
        "tokens, or MODEL=60/min,90000tokens/min for both."
    )


class _Bucket:
    """A token bucket.

    Args:
        per_minute: What flows in.
        now: The time at which it is full.
    """

    def __init__(self, per_minute: float, now: float) -> None:
        self._per_s = per_minute / 60
        self._capacity = max(1.0, self._per_s * _BURST_S)
        self._level = self._capacity
        self._at = now

    def level(self, now: float) -> float:
        """What is in it; below 0 where more was taken than there was."""
        passed_s = max(0.0, now - self._at)
        self._level = min(self._capacity, self._level + passed_s * self._per_s)
        self._at = now
        return self._level

    def take(self, amount: float) -> None:
        """Take from it; a negative amount is given back."""
        self._level -= amount

    def compute_wait_s(self, level: float) -> float:
        """Seconds until it has so much."""
        return max(0.0, (level - self._level) / self._per_s)

    @property
    def portion(self) -> int:
        """What one worker is given at once: the flow of a second."""
        return max(1, int(self._per_s))


class _ModelBudget:
    """What may be asked of one model."""

    def __init__(self, rate: ModelRate, now: float) -> None:
        self._requests = None if rate.requests is None else _Bucket(rate.requests, now)
        self._tokens = None if rate.tokens is None else _Bucket(rate.tokens, now)
        self._expected_tokens = _FIRST_GUESS
        self._calls_out = 0  # calls that were granted, and whose tokens aren't known
        self._tokens_out = 0.0  # what was taken for them

    def settle(self, calls: int, tokens: int) -> None:
        """So many calls are over, and took so many tokens."""
        if calls == 0 or self._tokens is None:
            return
        part = min(1.0, calls / max(1, self._calls_out))
        taken = self._tokens_out * part
        self._tokens.take(tokens - taken)
        self._tokens_out -= taken
        self._calls_out = max(0, self._calls_out - calls)
        newest = tokens / calls
        self._expected_tokens += (newest - self._expected_tokens) * _NEWEST_WEIGHT

    def take(self, wanted: int, now: float) -> ModelCredit:
        """Grant calls: at least one where there is room, or say how long to wait."""
        calls, wait_s = wanted, 0.0
        if self._requests is not None:
            calls = min(calls, int(self._requests.level(now)), self._requests.portion)
            wait_s = self._requests.compute_wait_s(1.0)
        if self._tokens is not None:
            level = self._tokens.level(now)
            # One may go while there is anything: a call may take more than the bucket ever holds.
            affordable = int(level / max(1.0, self._expected_tokens))
            calls = min(calls, max(affordable, int(level > 0)))
            wait_s = max(wait_s, self._tokens.compute_wait_s(1.0))
        if calls <= 0:
            return ModelCredit(is_limited=True, wait_s=min(max(wait_s, 0.001), _MAX_WAIT_S))
        if self._requests is not None:
            self._requests.take(calls)
        if self._tokens is not None:
            reserved = calls * self._expected_tokens
            self._tokens.take(reserved)
            self._calls_out += calls
            self._tokens_out += reserved
        return ModelCredit(is_limited=True, calls=calls)


class ModelRates:
    """The budgets of all models that have a limit.

    Args:
        rates: By the model's name.
        clock: Gives POSIX seconds.
    """

    def __init__(self, rates: Mapping[str, ModelRate], clock: Callable[[], float]) -> None:
        self._clock = clock
        now = clock() if rates else 0.0
        self._budgets = {model: _ModelBudget(rate, now) for model, rate in rates.items()}

    async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
        """Let a worker make some calls of a model, or say how long it is to wait."""
        budget = self._budgets.get(request.model)
        if budget is None:
            return ModelCredit()
        budget.settle(request.settled, request.used_tokens)
        return budget.take(request.wanted, self._clock())
