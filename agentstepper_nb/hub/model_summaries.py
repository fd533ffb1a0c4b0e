"""Asks a model for one-sentence summaries of halt points and commits, while the agent continues.

No caller waits for a summary: the model's summary replaces the one by rule when it arrives. Nothing
leaves this machine unless a person has named a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from ..core import RecordOutput
from ..core.summaries import extract_first_line
from ..core.summary_prompts import (
    SummaryPrompt,
    extract_first_sentence,
    make_prompt,
    shows_model_summary,
)
from ..errors import CommandError, ModelError, StoreError
from ..models.provider import MODEL_VARIABLE, TextModel, find_text_model
from ..protocol import records
from ..protocol.data_model import Commit, HaltPoint
from .rate_limit import RateLimiter, RateLimits
from .run_service import RunService

__all__ = ["MODEL_VARIABLE", "ModelSummaries", "attach_model_summaries"]

#: Requests at a time.
MAX_CONCURRENT: Final = 2
#: Rows and commits in the queue at most; beyond that, those that no view shows keep their summary by
#: rule.
MAX_QUEUED_SUMMARIES: Final = 256
#: Seconds that one summary may take.
MODEL_TIMEOUT_S: Final = 45.0
#: Tokens of an answer at most. A summary takes 40, but some models reason before it.
_MAX_TOKENS: Final = 500


class _SummaryKey(NamedTuple):
    """The subject of a summary."""

    run: str
    id: str  # the halt point's or the commit's


@dataclass
class _SummaryRequest:
    """A queued request for a summary. The subject's contents are read when the request's turn comes."""

    key: _SummaryKey
    number: int  # grows
    commit: bool
    is_halted: bool  # a person looks at it right now


def _rank(request: _SummaryRequest) -> tuple[bool, int]:
    """Rank what a person looks at first, then by age, newest first."""
    return request.is_halted, request.number


class ModelSummaries:
    """Asks a model for summaries, a few at a time, those that a person looks at first.

    A prompt that the same model has answered before isn't sent again: the store has the answer.

    Args:
        hub: The service that holds the rows and commits.
        model: The model; closed with this object.
        rate_limiter: Limits the rate of requests.
    """

    def __init__(
        self, hub: RunService, model: TextModel, rate_limiter: RateLimiter | None = None
    ) -> None:
        self._hub = hub
        self._model = model
        self._rate_limiter = rate_limiter or RateLimiter(RateLimits())
        self._number = 0
        self._waiting: dict[_SummaryKey, _SummaryRequest] = {}
        self._tasks: dict[asyncio.Task[None], _SummaryKey] = {}
        #: A lock for each prompt in progress: requests with the same prompt wait for its answer.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._logged_failures: set[str] = set()  # the kinds of failures that the log has
        self._closed = False

    def notify(self, output: RecordOutput) -> None:
        """Queue requests for a new record, and drop requests that the record makes obsolete."""
        match output.record:
            case records.HaltPointSaved(halt_point=halt_point):
                self._add_request(halt_point)
            case records.HaltPointEdited(run=run, halt_point=id):
                self._forget(lambda key: key == (run, id))
                if output.halt_point is not None:
                    self._add_request(output.halt_point)
            case records.HaltPointAnswered(run=run, halt_point=id) if (run, id) in self._waiting:
                self._waiting[_SummaryKey(run, id)].is_halted = False
            case records.CommitSaved(commit=commit):
                self._add_request(commit)
            case records.RunDeleted(run=run):
                self._forget(lambda key: key.run == run)

    async def close(self) -> None:
        """Send no further requests, cancel the open ones, and close the model. Idempotent."""
        self._closed = True
        self._forget(lambda _: True)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._model.close()

    async def wait_idle(self) -> None:
        """Wait until no request is queued."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    # ---- who is next --------------------------------------------------------------------------------

    def _add_request(self, subject: HaltPoint | Commit) -> None:
        if self._closed or not shows_model_summary(subject):
            return
        key = _SummaryKey(subject.run, subject.id)
        is_halted = isinstance(subject, HaltPoint) and subject.answer is None
        self._number += 1
        self._waiting[key] = _SummaryRequest(
            key, self._number, isinstance(subject, Commit), is_halted
        )
        if len(self._waiting) > MAX_QUEUED_SUMMARIES:
            del self._waiting[min(self._waiting.values(), key=_rank).key]
        self._start_next()

    def _forget(self, is_gone: Callable[[_SummaryKey], bool]) -> None:
        for key in [key for key in self._waiting if is_gone(key)]:
            del self._waiting[key]
        for task, key in self._tasks.items():
            if is_gone(key):
                task.cancel()

    def _start_next(self) -> None:
        while self._waiting and len(self._tasks) < MAX_CONCURRENT:
            request = max(self._waiting.values(), key=_rank)
            del self._waiting[request.key]
            task = asyncio.ensure_future(self._run_request(request))
            self._tasks[task] = request.key
            task.add_done_callback(self._finish_task)

    def _finish_task(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._start_next()

    # ---- asking -------------------------------------------------------------------------------------

    async def _run_request(self, request: _SummaryRequest) -> None:
        try:
            subject = await self._read(request)
            if subject is not None:
                await self._summarize(subject)
        except (CommandError, StoreError):
            pass  # it is gone by now, or hurt, which is told to whoever opens it
        except Exception:
            self._hub.log.exception("Summarizing a step by a model failed.")

    async def _read(self, request: _SummaryRequest) -> HaltPoint | Commit | None:
        if request.commit:
            self._hub.run(request.key.run)
            return await self._hub.store.commit(*request.key)
        found = await self._hub.find_row(*request.key)
        return found if isinstance(found, HaltPoint) else None

    async def _summarize(self, subject: HaltPoint | Commit) -> None:
        summary_prompt = make_prompt(subject)
        key = summary_prompt.cache_key(self._model.name)
        async with self._locks.setdefault(key, asyncio.Lock()):
            text = await self._hub.store.find_model_summary(key) or await self._request_summary(
                summary_prompt
            )
            if text is not None and not self._is_edited(subject):
                made = records.SummarySaved(run=subject.run, id=subject.id, key=key, text=text)
                await self._hub.record_summary(made)

    async def _request_summary(self, summary_prompt: SummaryPrompt) -> str | None:
        """Ask the model; None if it fails. Failures of one kind are reported once."""
        await self._rate_limiter.admit()
        name = self._model.name
        try:
            async with asyncio.timeout(MODEL_TIMEOUT_S):
                said = await self._model.text(
                    summary_prompt.system, summary_prompt.prompt, _MAX_TOKENS
                )
            sentence = extract_first_sentence(said)
            if sentence is None:
                raise ModelError("empty", f"The model {name} answered without a sentence.")
        except TimeoutError:
            self._failed(
                "timeout", f"The model {name} took longer than {MODEL_TIMEOUT_S:.0f} seconds."
            )
        except ModelError as error:
            self._failed(error.kind, str(error))
        except Exception as error:  # whatever a model raises, its Core goes on
            self._failed(type(error).__name__, f"The model {name} failed: {error!r}")
        else:
            self._rate_limiter.record_success()
            return sentence
        return None

    def _failed(self, kind: str, why: str) -> None:
        self._rate_limiter.record_failure()
        if kind not in self._logged_failures:
            self._logged_failures.add(kind)
            self._hub.log.warning(
                "a summary is made by rule, since the model failed: %s", extract_first_line(why)
            )

    def _is_edited(self, subject: HaltPoint | Commit) -> bool:
        """Whether a halt point was edited since the request: then a newer request is queued."""
        return isinstance(subject, HaltPoint) and any(
            pending.id == subject.id and pending.revision != subject.revision
            for pending in self._hub.debugger.pending(subject.run)
        )


def attach_model_summaries(hub: RunService, model: str | None) -> None:
    """Summarise a hub's rows and commits with a model, if one is named. Call it before the hub starts.

    Args:
        hub: The hub.
        model: The name of the model that the person has chosen. None: summaries are made by rule.
    """
    try:
        chosen = find_text_model(model)
    except ModelError as error:
        hub.log.error("summaries are made by rule: %s", error)
        return
    if chosen is not None:
        hub.listeners.append(ModelSummaries(hub, chosen))
        hub.log.info("summaries are made by the model %s", chosen.name)
    elif model:
        hub.log.warning(
            "summaries are made by rule: the model %s needs OPENAI_API_KEY or OPENAI_BASE_URL in the "
            "environment",
            model,
        )
