"""The two drivers of a flow: one blocks the calling thread, one awaits."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

from ..protocol.answers import Answer, ResumeAnswer
from .flow_effects import (
    AwaitAnswerEffect,
    BlockingEffect,
    CallEffect,
    CallResult,
    Flow,
    FlowEffect,
    FlushEffect,
    SendEffect,
    T,
    WaitEffect,
)
from .run_link import RunLink

_POLL_S: Final = 1.0  # seconds
_RESUME: Final = ResumeAnswer()


def run_flow(link: RunLink, steps: Flow[T]) -> T:
    """Run a flow on the calling thread."""
    try:
        step = next(steps)
        while True:
            try:
                if isinstance(step, AwaitAnswerEffect):
                    outcome = _halt(link, step)
                else:
                    outcome = _run_step(link, step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as done:
        value: T = done.value
        return value


async def run_flow_async(link: RunLink, steps: Flow[T]) -> T:
    """Run a flow in the running event loop."""
    try:
        step = next(steps)
        while True:
            try:
                if isinstance(step, AwaitAnswerEffect):
                    outcome = await _halt_async(link, step)
                else:
                    outcome = await _run_step_async(link, step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(outcome)
    except StopIteration as done:
        value: T = done.value
        return value


def is_loop_running() -> bool:
    """Whether an event loop runs on this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def wait_result(future: Future[T]) -> T:
    """Wait for a future on the calling thread, and hear every interrupt.

    A signal that comes just before the thread falls asleep doesn't wake it: Python hears it, and goes on
    sleeping. So the main thread, which alone hears signals, wakes once a second to look.
    """
    if threading.current_thread() is threading.main_thread():
        while not future.done():
            with suppress(TimeoutError):
                return future.result(_POLL_S)
    return future.result()


def _run_step(link: RunLink, step: FlowEffect) -> Any:
    match step:
        case SendEffect(messages):
            link.send(messages)
        case WaitEffect(future):
            return wait_result(future)
        case FlushEffect():
            wait_result(link.flush())
        case BlockingEffect(function):
            function()
        case CallEffect(function, args, kwargs):
            try:
                return CallResult(function(*args, **kwargs))
            except BaseException as error:
                return CallResult(error=error)
    return None


async def _run_step_async(link: RunLink, step: FlowEffect) -> Any:
    match step:
        case SendEffect(messages):
            link.send(messages)
        case WaitEffect(future):
            return await _wait_result_async(future)
        case FlushEffect():
            await _wait_result_async(link.flush())
        case BlockingEffect(function):
            await _run_uninterrupted(function)
        case CallEffect(function, args, kwargs):
            try:
                value = function(*args, **kwargs)
                return CallResult(await value if inspect.isawaitable(value) else value)
            except BaseException as error:
                return CallResult(error=error)
    return None


def _halt(link: RunLink, step: AwaitAnswerEffect) -> Answer:
    began = time.monotonic()
    answer: Answer | None = None
    try:
        future = link.request_answer(
            step.messages, step.halt_point, step.check, sampler=step.sampler
        )
        if step.on_queued is not None:
            step.on_queued(link.send)
        jobs = None if step.sampler is None else step.sampler.jobs
        wait = wait_result if jobs is None else jobs.wait
        answer = _RESUME if future is None else wait(future)
        return answer
    finally:
        link.end_halt(step.halt_point, answer, time.monotonic() - began)


async def _halt_async(link: RunLink, step: AwaitAnswerEffect) -> Answer:
    began = time.monotonic()
    answer: Answer | None = None
    try:
        future = link.request_answer(
            step.messages, step.halt_point, step.check, is_task=True, sampler=step.sampler
        )
        if step.on_queued is not None:
            step.on_queued(link.send)
        if future is None:
            await asyncio.sleep(0)  # an agent that waits for nothing can be cancelled all the same
            answer = _RESUME
        else:
            jobs = None if step.sampler is None else step.sampler.jobs
            wait = _wait_result_async if jobs is None else jobs.wait_async
            answer = await wait(future)
        return answer
    finally:
        link.end_halt(step.halt_point, answer, time.monotonic() - began)


async def _wait_result_async(future: Future[T]) -> T:
    """Await a future in the running event loop; on the main thread in short waits, for interrupts."""
    awaited = asyncio.wrap_future(future)
    if threading.current_thread() is threading.main_thread():
        while not awaited.done():
            await asyncio.wait([awaited], timeout=_POLL_S)
    return await awaited


async def run_in_thread(
    function: Callable[[], T], abandoned: Callable[[], object] | None = None
) -> T:
    """Await a function that blocks, on a thread of its own: the loop's pool may be full of waits.

    Args:
        function: Runs in a copy of this context, and to its end even where the task is cancelled.
        abandoned: Called after it where a cancelled task didn't wait for it.
    """
    future = _start_thread(function)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        if abandoned is not None:
            future.add_done_callback(lambda _: abandoned())
        raise


async def _run_uninterrupted(function: Callable[[], None]) -> None:
    """Run a function as `run_in_thread`; a cancelled task ends only once the function has returned.

    So the flow's next messages follow the function's messages.
    """
    future = asyncio.wrap_future(_start_thread(function))
    try:
        await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait([future])
        raise


def _start_thread(function: Callable[[], T]) -> Future[T]:
    """Begin a function on a thread of its own; a future that can't be cancelled."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(function))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="agentstepper-work", daemon=True).start()
    return future
