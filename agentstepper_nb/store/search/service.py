"""The index's thread: records are queued, and taken in when it finds time."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ...errors import CommandError
from ...protocol.pages import SearchHit
from ...protocol.records import Record, RunHistory
from .follower import IndexFollower
from .query import make_fts_expression

log = logging.getLogger(__name__)

#: Seconds that records wait for more of them: taking them in is left for when the Core has time.
_GATHER: Final = 0.2
#: Seconds without work after which the file is checked, and deleted bytes are taken out of it.
_IDLE: Final = 0.5
#: Seconds after which what failed is tried again.
_AGAIN: Final = 1.0
#: Seconds that a search waits for runs that are still to be taken in.
_PATIENCE: Final = 10.0


class _Batch(NamedTuple):
    records: Sequence[Record]
    changes: Mapping[str, int]


class _SearchRequest(NamedTuple):
    query: str
    run: str | None
    limit: int
    answer: Future[list[SearchHit]]


class SearchService:
    """Finds words in all runs.

    An index is a projection of the store: whatever is wrong with its file, it is made anew.

    Args:
        path: The index's file, made where it is missing; None holds it in memory.
        journal: SQLite's journal mode for it; None chooses by the file system.
    """

    def __init__(self, path: Path | None = None, journal: str | None = None) -> None:
        self._follower = IndexFollower(path, journal)
        self._changed = threading.Condition()
        self._inbox: deque[_Batch | Callable[[], None]] = deque()
        self._questions: deque[_SearchRequest] = deque()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="agentstepper-search", daemon=True)
        self._thread.start()

    def keep(self, records: Sequence[Record], changes: Mapping[str, int] | None = None) -> None:
        """Take records in, soon. Cheap, from any thread; called once the store has recorded them.

        Args:
            records: In the order they became true.
            changes: For each run that they touch its number afterwards, which grows with every change
                (what `mend` compares). None where the store has no such numbers.
        """
        self._put(_Batch(records, changes or {}))

    def mend(self, changes: Mapping[str, int], read: Callable[[str], RunHistory]) -> None:
        """Follow a store again after a time without: returns at once, works in the background.

        Args:
            changes: Every run the store has, oldest first, with its number as `keep` takes them. Runs
                whose number in the index is another are indexed anew; others are forgotten.
            read: Gives a run whole; called on the index's thread. Where it raises a `StoreError` or
                a `KeyError` the run is left out.
        """
        self._put(lambda: self._follower.follow(changes, read))

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> list[SearchHit]:
        """Where words stand, newest first, in all that was kept before. See `Store.search`.

        Raises:
            ProtocolError: `invalid_search`: no word in it, or a quote that isn't closed.
            CommandError: `cannot_search`: the index is still being made, or can't be.
        """
        make_fts_expression(query)
        question = _SearchRequest(query, run, limit, Future())
        with self._changed:
            if self._closed:
                raise _closed()
            self._questions.append(question)
            self._changed.notify()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(question.answer), _PATIENCE)
        except TimeoutError:
            with self._changed, suppress(ValueError):  # where it is being answered just now
                self._questions.remove(question)
            raise CommandError("cannot_search", self._follower.standing()) from None

    def close(self) -> None:
        """Take in what is queued and let go. Blocks; idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _put(self, job: _Batch | Callable[[], None]) -> None:
        with self._changed:
            if not self._closed:
                self._inbox.append(job)
                if len(self._inbox) == 1:
                    self._changed.notify()

    # ---- on the thread ------------------------------------------------------------------------------

    def _work(self) -> None:
        while (job := self._next()) is not None:
            _do(job)
        self._end()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next thing to do; None when it is time to end."""
        follower = self._follower
        with self._changed:
            self._changed.wait_for(lambda: self._inbox or self._is_due(), self._pause())
            if self._inbox:
                self._changed.wait_for(lambda: self._closed or self._questions, _GATHER)
                return self._take
            if self._closed:
                return None
            if follower.is_behind:
                return follower.mend_one
            if self._questions:
                return self._answer
            if follower.untidy:
                return lambda: follower.tidy(self._is_quiet)
            if follower.unchecked:
                return follower.check
        return lambda: None

    def _is_due(self) -> bool:
        """Whether something is to be done at once."""
        if self._follower.is_behind:
            return self._closed or not self._follower.failed
        return self._closed or bool(self._questions)

    def _pause(self) -> float | None:
        """How long to wait where nothing comes."""
        if self._follower.is_behind:
            return _AGAIN
        return _IDLE if self._follower.untidy or self._follower.unchecked else None

    def _is_quiet(self) -> bool:
        with self._changed:
            return not (self._inbox or self._questions or self._closed)

    def _take(self) -> None:
        """Take in what waits, records in a row together."""
        with self._changed:
            jobs = list(self._inbox)
            self._inbox.clear()
        batches: list[_Batch] = []
        for job in jobs:
            if isinstance(job, _Batch):
                batches.append(job)
            else:
                self._keep(batches)
                batches = []
                _do(job)
        self._keep(batches)

    def _keep(self, batches: list[_Batch]) -> None:
        records = [record for batch in batches for record in batch.records]
        changes = {run: number for batch in batches for run, number in batch.changes.items()}
        if records:
            _do(lambda: self._follower.keep(records, changes))

    def _answer(self) -> None:
        with self._changed:
            question = self._questions.popleft()
        try:
            hits = self._follower.find(question.query, question.run, question.limit)
        except Exception as error:
            if question.answer.set_running_or_notify_cancel():
                question.answer.set_exception(error)
            return
        if hits is None:
            with self._changed:
                self._questions.appendleft(question)  # the index is made anew: it waits for that
        elif question.answer.set_running_or_notify_cancel():
            question.answer.set_result(hits)

    def _end(self) -> None:
        with self._changed:
            questions = list(self._questions)
            self._questions.clear()
        for question in questions:
            if question.answer.set_running_or_notify_cancel():
                question.answer.set_exception(_closed())
        if self._follower.untidy:
            self._follower.tidy(lambda: True)
        self._follower.close()


def _do(job: Callable[[], None]) -> None:
    """Do something; where it fails, what comes next still has to be done."""
    try:
        job()
    except Exception:
        log.exception("The search index failed")


def _closed() -> CommandError:
    return CommandError("cannot_search", "The store is closed: there is nothing to search.")
