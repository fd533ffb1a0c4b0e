"""The index's thread: records are queued, and indexed in the background."""

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
from ...protocol.records import Record, RunHistory
from ...protocol.run_queries import SearchHit
from .follower import IndexFollower
from .query import make_fts_expression

log = logging.getLogger(__name__)

#: Seconds that records wait for more of them: taking them in is left for when the Core has time.
_GATHER_S: Final = 0.2
#: Seconds without work after which the file is checked and cleaned up.
_IDLE_S: Final = 0.5
#: Seconds after which failed work is tried again.
_RETRY_S: Final = 1.0
#: Seconds that a search waits for runs that aren't indexed yet.
SEARCH_TIMEOUT_S: Final = 10.0


class _Batch(NamedTuple):
    records: Sequence[Record]
    change_counts: Mapping[str, int]


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
        self._requests: deque[_SearchRequest] = deque()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="agentstepper-search", daemon=True)
        self._thread.start()

    def apply(
        self, records: Sequence[Record], change_counts: Mapping[str, int] | None = None
    ) -> None:
        """Queue records for indexing. Cheap, from any thread; called once the store has recorded them.

        Args:
            records: The records, in the order of their creation.
            change_counts: For each touched run its change count after the records, which grows with
                every change (`catch_up` compares it). None if the store has no such counts.
        """
        self._put(_Batch(records, change_counts or {}))

    def catch_up(self, change_counts: Mapping[str, int], read: Callable[[str], RunHistory]) -> None:
        """Bring the index up to date with a store, in the background; returns at once.

        Args:
            change_counts: Every run of the store, oldest first, with its change count as in `apply`.
                Runs whose count in the index differs are indexed anew; others are removed.
            read: Reads a whole run; called on the index's thread. If it raises a `DamagedRunError` or
                a `KeyError`, the run is left out; after another `StoreError` it is read again later.
        """
        self._put(lambda: self._follower.catch_up(change_counts, read))

    async def search(
        self,
        query: str,
        run: str | None = None,
        limit: int = 100,
        timeout_s: float = SEARCH_TIMEOUT_S,
    ) -> list[SearchHit]:
        """Find text, newest first, in all that was recorded before. See `Store.search`.

        Args:
            query: See `Store.search`.
            run: See `Store.search`.
            limit: See `Store.search`.
            timeout_s: Seconds to wait for runs that aren't indexed yet.

        Raises:
            ProtocolError: `invalid_search`: the query has no word, or a quote isn't closed.
            CommandError: `cannot_search`: the index is still being made, or can't be.
        """
        make_fts_expression(query)
        request = _SearchRequest(query, run, limit, Future())
        with self._changed:
            if self._closed:
                raise _closed()
            self._requests.append(request)
            self._changed.notify()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(request.answer), timeout_s)
        except TimeoutError:
            with self._changed, suppress(ValueError):  # where it is being answered just now
                self._requests.remove(request)
            raise CommandError("cannot_search", self._follower.describe_delay()) from None

    def close(self) -> None:
        """Index the queued records, and close the file. Blocks; idempotent."""
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

    def _run(self) -> None:
        while (job := self._next()) is not None:
            _run_job(job)
        self._finish()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next thing to do; None when it is time to end."""
        follower = self._follower
        with self._changed:
            self._changed.wait_for(lambda: self._inbox or self._is_due(), self._pause())
            if self._inbox:
                self._changed.wait_for(lambda: self._closed or self._requests, _GATHER_S)
                return self._process_inbox
            if self._closed:
                return None
            if follower.is_behind:
                return follower.reindex_one
            if self._requests:
                return self._answer_request
            if follower.needs_cleanup:
                return lambda: follower.clean_up(self._is_quiet)
            if follower.needs_check:
                return follower.check
        return lambda: None

    def _is_due(self) -> bool:
        """Whether something is to be done at once."""
        if self._follower.is_behind:
            return self._closed or not self._follower.is_failing
        return self._closed or bool(self._requests)

    def _pause(self) -> float | None:
        """The seconds to wait for new work; None: without a limit."""
        if self._follower.is_behind:
            return _RETRY_S
        return _IDLE_S if self._follower.needs_cleanup or self._follower.needs_check else None

    def _is_quiet(self) -> bool:
        with self._changed:
            return not (self._inbox or self._requests or self._closed)

    def _process_inbox(self) -> None:
        """Process the queued jobs, consecutive records together."""
        with self._changed:
            jobs = list(self._inbox)
            self._inbox.clear()
        batches: list[_Batch] = []
        for job in jobs:
            if isinstance(job, _Batch):
                batches.append(job)
            else:
                self._index_batches(batches)
                batches = []
                _run_job(job)
        self._index_batches(batches)

    def _index_batches(self, batches: list[_Batch]) -> None:
        records = [record for batch in batches for record in batch.records]
        change_counts = {
            run: number for batch in batches for run, number in batch.change_counts.items()
        }
        if records:
            _run_job(lambda: self._follower.apply(records, change_counts))

    def _answer_request(self) -> None:
        with self._changed:
            request = self._requests.popleft()
        try:
            hits = self._follower.find(request.query, request.run, request.limit)
        except Exception as error:
            if request.answer.set_running_or_notify_cancel():
                request.answer.set_exception(error)
            return
        if hits is None:
            with self._changed:
                self._requests.appendleft(request)  # the index is made anew: it waits for that
        elif request.answer.set_running_or_notify_cancel():
            request.answer.set_result(hits)

    def _finish(self) -> None:
        with self._changed:
            requests = list(self._requests)
            self._requests.clear()
        for request in requests:
            if request.answer.set_running_or_notify_cancel():
                request.answer.set_exception(_closed())
        if self._follower.needs_cleanup:
            self._follower.clean_up(lambda: True)
        self._follower.close()


def _run_job(job: Callable[[], None]) -> None:
    """Run a job; a failure is logged, so that the next jobs run."""
    try:
        job()
    except Exception:
        log.exception("The search index failed")


def _closed() -> CommandError:
    return CommandError("cannot_search", "The store is closed, so that nothing can be searched.")
