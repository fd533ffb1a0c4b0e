"""Work that a thread or a task does while it waits: in order, on its own thread, and never after."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb.own_queries import is_own_query
from agentstepper_nb.sdk.halt_jobs import HaltJob, HaltJobs, JobResult
from tests.sdk.scripted_core import TIMEOUT_S


class Work:
    """Jobs, and what they came to.

    Args:
        jobs: Where they are submitted.
    """

    def __init__(self, jobs: HaltJobs) -> None:
        self.jobs = jobs
        self.came: list[JobResult | None] = []
        self._done = threading.Semaphore(0)

    def submit(self, call: Any) -> None:
        def finish(result: JobResult | None) -> None:
            self.came.append(result)
            self._done.release()

        self.jobs.submit(HaltJob(call, finish))

    def wait(self) -> JobResult | None:
        """What the next job came to."""
        assert self._done.acquire(timeout=TIMEOUT_S)
        return self.came[-1]


def wait_sync(jobs: HaltJobs, answered: Future[str]) -> str:
    return jobs.wait(answered)


def wait_async(jobs: HaltJobs, answered: Future[str]) -> str:
    return asyncio.run(jobs.wait_async(answered))


both = pytest.mark.parametrize("wait", [wait_sync, wait_async])


@pytest.fixture
def pool() -> Any:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@both
def test_jobs_are_done_by_who_waits_until_the_answer(wait: Any, pool: ThreadPoolExecutor) -> None:
    jobs, answered = HaltJobs(), Future[str]()
    work = Work(jobs)
    waiting = pool.submit(lambda: (wait(jobs, answered), threading.get_ident()))
    work.submit(lambda: (threading.get_ident(), is_own_query()))
    thread, is_own = (work.wait() or JobResult()).value
    work.submit(lambda: 1 // 0)
    failed = work.wait()
    assert failed is not None and isinstance(failed.error, ZeroDivisionError)
    answered.set_result("step")
    assert waiting.result(TIMEOUT_S) == ("step", thread)
    assert is_own
    assert thread != threading.get_ident()


@both
def test_what_comes_after_the_answer_is_refused(wait: Any) -> None:
    jobs, answered = HaltJobs(), Future[str]()
    work = Work(jobs)
    answered.set_result("step")
    work.submit(lambda: "too late")
    assert wait(jobs, answered) == "step"
    work.submit(lambda: "later still")
    jobs.close()
    assert work.came == [None, None]
    work.submit(lambda: "after all")
    assert work.came == [None, None, None]


@both
def test_an_exception_in_place_of_the_answer_is_raised(wait: Any) -> None:
    jobs, answered = HaltJobs(), Future[str]()
    answered.set_exception(ConnectionError("gone"))
    with pytest.raises(ConnectionError, match="gone"):
        wait(jobs, answered)


def test_an_interrupt_of_a_job_reaches_who_waits() -> None:
    jobs, answered = HaltJobs(), Future[str]()
    work = Work(jobs)

    def interrupt() -> None:
        raise KeyboardInterrupt

    work.submit(interrupt)
    with pytest.raises(KeyboardInterrupt):
        jobs.wait(answered)
    assert work.came == [None]


async def test_a_cancelled_task_ends_its_job() -> None:
    jobs, answered = HaltJobs(), Future[str]()
    work = Work(jobs)
    begun, ended = asyncio.Event(), asyncio.Event()

    async def last() -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    work.submit(last)
    waiting = asyncio.ensure_future(jobs.wait_async(answered))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await ended.wait()
    assert work.came == [None]
