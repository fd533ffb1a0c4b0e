"""Limits the rate at which all workers together query a model, by token buckets in the Core."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ...protocol.runtime_requests import ModelCredit, TakeModelCredit

#: A bucket's capacity in seconds of its rate: the burst after a pause.
_BURST_S: Final = 10.0
#: Tokens that a call is expected to use before the first call has reported its usage.
_FIRST_GUESS: Final = 1000.0
#: The weight of the newest calls in the expected usage of the next.
_NEWEST_WEIGHT: Final = 0.2
#: Seconds after which a waiting worker asks again at the latest: others may have returned credit.
_MAX_WAIT_S: Final = 30.0
_RATE: Final = re.compile(r"(\d{1,12}) ?(tokens)?/min")


@dataclass(frozen=True)
class ModelRate:
    """The rate limit of a model.

    Args:
        requests: Requests a minute. None: without a limit.
        tokens: Tokens a minute, of prompts and answers together. None: without a limit.
    """

    requests: int | None = None
    tokens: int | None = None


def parse_model_rate(text: str) -> tuple[str, ModelRate]:
    """Parse a rate as options name it: `MODEL=60/min`, `MODEL=90000tokens/min`, or both,
    comma-separated.

    Args:
        text: The model's name, and its rate.

    Returns:
        The model's name and its rate.

    Raises:
        ValueError: The text has another form, or a rate is 0.
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
        per_minute: The tokens that are added per minute.
        now: The time at which the bucket is full.
    """

    def __init__(self, per_minute: float, now: float) -> None:
        self._per_s = per_minute / 60
        self._capacity = max(1.0, self._per_s * _BURST_S)
        self._level = self._capacity
        self._at = now

    def level(self, now: float) -> float:
        """The tokens in the bucket; below 0 if more were taken than it had."""
        passed_s = max(0.0, now - self._at)
        self._level = min(self._capacity, self._level + passed_s * self._per_s)
        self._at = now
        return self._level

    def take(self, amount: float) -> None:
        """Take tokens from the bucket; a negative amount returns tokens."""
        self._level -= amount

    def compute_wait_s(self, level: float) -> float:
        """Seconds until it has so much."""
        return max(0.0, (level - self._level) / self._per_s)

    @property
    def portion(self) -> int:
        """The tokens for one worker at once: one second of the rate."""
        return max(1, int(self._per_s))


class _ModelBudget:
    """The request and token budgets of one model."""

    def __init__(self, rate: ModelRate, now: float) -> None:
        self._requests = None if rate.requests is None else _Bucket(rate.requests, now)
        self._tokens = None if rate.tokens is None else _Bucket(rate.tokens, now)
        self._expected_tokens = _FIRST_GUESS
        self._calls_out = 0  # calls that were granted, and whose tokens aren't known
        self._tokens_out = 0.0  # what was taken for them

    def settle(self, calls: int, tokens: int) -> None:
        """Subtract the usage of finished calls from the budget, in place of their estimates."""
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
        """Grant at least one call if the budget allows, or return how long to wait."""
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
        rates: The rate of each model, by its name.
        clock: Returns POSIX seconds.
    """

    def __init__(self, rates: Mapping[str, ModelRate], clock: Callable[[], float]) -> None:
        self._clock = clock
        now = clock() if rates else 0.0
        self._budgets = {model: _ModelBudget(rate, now) for model, rate in rates.items()}

    async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
        """Grant a worker calls of a model, or return how long the worker must wait."""
        budget = self._budgets.get(request.model)
        if budget is None:
            return ModelCredit()
        budget.settle(request.settled, request.used_tokens)
        return budget.take(request.wanted, self._clock())
