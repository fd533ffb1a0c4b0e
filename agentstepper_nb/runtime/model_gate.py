"""Model calls of background agents wait here where the Core limits how often a model may be asked.

The Core has one budget a model for all workers (`agentstepper serve --model-rate`). A worker takes calls
from it in portions, and gives each session's calls their turn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Final, Protocol, cast

from ..errors import AgentStepperError, AgentStopped, CommandError
from ..llm_wire.conversation import ModelRequest
from ..llm_wire.events import AgentEvent, ResponseCompleted, TraceEvent
from ..models.provider import ModelProvider
from ..protocol.data_model import Usage
from ..protocol.runtime_requests import ModelCredit, TakeModelCredit

#: Seconds for which a model that has no limit isn't asked for again.
_UNLIMITED_S: Final = 60.0
#: Seconds of a wait between two notices to the reader of the answer.
_MAX_SLICE_S: Final = 30.0


class CreditSource(Protocol):
    """The Core, or a way to it."""

    async def take_model_credit(self, request: TakeModelCredit) -> ModelCredit:
        """Request a model call from the Core's rate limit."""


class _ModelAccount:
    """What this worker may ask of one model, and what it used since it said so."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.calls = 0
        self.waiting = 0
        self.unlimited_until = 0.0
        self.settled = 0
        self.used_tokens = 0


class ModelGate:
    """Lets model calls of all sessions of a worker through, as the Core grants them.

    Args:
        source: The Core.
        log: Gets a line where a call waits.
        now: Gives seconds that never go back.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        source: CreditSource,
        log: logging.Logger,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._source = source
        self._log = log
        self._now = now
        self._sleep = sleep
        self._accounts: dict[str, _ModelAccount] = {}

    async def admit(self, model: str) -> AsyncGenerator[float, None]:
        """Wait until a call of a model may be made.

        Args:
            model: The model's name.

        Yields:
            The seconds of each part of the wait, before it. Closing the generator gives the turn up.
        """
        account = self._accounts.setdefault(model, _ModelAccount())
        account.waiting += 1
        try:
            async with account.turn:
                while (wait_s := await self._take(account, model)) > 0:
                    yield wait_s
                    await self._sleep(wait_s)
        finally:
            account.waiting -= 1

    def settle(self, model: str, usage: Usage | None) -> None:
        """A call that was admitted is over.

        Args:
            model: The model's name.
            usage: What it took, where that is known.
        """
        account = self._accounts[model]
        account.settled += 1
        if usage is not None:
            account.used_tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)

    async def _take(self, account: _ModelAccount, model: str) -> float:
        """Take a call; the seconds to wait first, where there is none to take."""
        if account.calls == 0 and self._now() >= account.unlimited_until:
            credit = await self._request(account, model)
            account.calls += credit.calls
            if not credit.is_limited:
                account.unlimited_until = self._now() + _UNLIMITED_S
            elif credit.calls == 0:
                return min(max(credit.wait_s, 0.001), _MAX_SLICE_S)
        account.calls = max(0, account.calls - 1)
        return 0.0

    async def _request(self, account: _ModelAccount, model: str) -> ModelCredit:
        settled, used = account.settled, account.used_tokens
        request = TakeModelCredit(
            model=model,
            wanted=min(1000, max(1, account.waiting)),
            settled=settled,
            used_tokens=used,
        )
        try:
            credit = await self._source.take_model_credit(request)
        except CommandError as error:
            if error.code != "unknown_service":
                raise
            return ModelCredit()  # a Core of an earlier version, which limits nothing
        account.settled -= settled
        account.used_tokens -= used
        return credit


class Notifier(Protocol):
    """A run in the debugger, as far as it is needed here."""

    async def post_debug_message(self, message: str) -> None:
        """Show a message in the run."""


class RateLimitedProvider:
    """A model provider whose calls go through a worker's gate first.

    A wait appears in the log, in the session's run, and in the answer's events, so that readers can tell
    a wait from a silent model. Cancelling the call ends the wait.

    Args:
        provider: The model's provider.
        gate: The worker's gate.
        find_notifier: Returns the run in which a wait is shown; None: no run.
        log: The log, with one line per wait.
    """

    def __init__(
        self,
        provider: ModelProvider,
        gate: ModelGate,
        find_notifier: Callable[[], Notifier | None],
        log: logging.Logger,
    ) -> None:
        self._provider = provider
        self._gate = gate
        self._find_notifier = find_notifier
        self._log = log

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._provider.name

    @property
    def takes_temperature(self) -> bool:
        """Whether the provider sends a temperature."""
        return bool(getattr(self._provider, "takes_temperature", True))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[AgentEvent, None]:
        """Query the model once, when the gate permits. See `ModelProvider.stream`."""
        async with aclosing(self._gate.admit(request.model)) as waits:
            is_shown = False
            async for wait_s in waits:
                if not is_shown:
                    await self._show(request.model, wait_s)
                    is_shown = True
                yield TraceEvent("rate_limit", {"model": request.model, "wait_s": wait_s})
        usage: Usage | None = None
        try:
            inner = cast("AsyncGenerator[AgentEvent, None]", self._provider.stream(request))
            async with aclosing(inner) as events:
                async for event in events:
                    if isinstance(event, ResponseCompleted):
                        usage = event.usage
                    yield event
        finally:
            self._gate.settle(request.model, usage)

    async def close(self) -> None:
        """Close the provider's connections."""
        await self._provider.close()

    async def _show(self, model: str, wait_s: float) -> None:
        text = f"The call of {model} waits for the Core's rate limit, {wait_s:.1f} s at least."
        self._log.info("%s", text)
        notifier = self._find_notifier()
        if notifier is not None:
            try:
                await notifier.post_debug_message(text)
            except (AgentStopped, asyncio.CancelledError):
                raise
            except AgentStepperError as error:
                self._log.info("the wait can't be shown in the debugger: %s", error)
