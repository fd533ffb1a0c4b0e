"""The output of the agent's own code that is called for a person, and of its other threads meanwhile."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from agentstepper_nb.sdk.inspection.bounded_calls import (
    MAX_OUTPUT_CHARS,
    BoundedResult,
    CallFailedError,
    call_bounded,
)
from tests.sdk.scripted_core import TIMEOUT_S


class HeldCall:
    """A call that prints, and goes on when the test lets it."""

    def __init__(self, pool: ThreadPoolExecutor, name: str) -> None:
        self._name = name
        self._printed, self._may_end = threading.Event(), threading.Event()
        self._result: Future[BoundedResult[str]] = pool.submit(call_bounded, self._work, TIMEOUT_S)
        assert self._printed.wait(TIMEOUT_S)

    def _work(self) -> str:
        print(self._name)
        self._printed.set()
        assert self._may_end.wait(TIMEOUT_S)
        print("ends")
        return self._name

    def end(self) -> BoundedResult[str]:
        self._may_end.set()
        return self._result.result(TIMEOUT_S)


@pytest.fixture
def hold(pool: ThreadPoolExecutor) -> Iterator[Callable[[str], HeldCall]]:
    calls: list[HeldCall] = []

    def begin(name: str) -> HeldCall:
        calls.append(HeldCall(pool, name))
        return calls[-1]

    yield begin
    for call in calls:
        call.end()


def test_what_other_threads_print_meanwhile_goes_where_it_would(
    hold: Callable[[str], HeldCall], capsys: pytest.CaptureFixture[str]
) -> None:
    stdout = sys.stdout
    call = hold("the call")
    print("the agent", flush=True)
    assert sys.stdout.encoding == stdout.encoding  # asked of the stream itself
    assert call.end() == BoundedResult("the call", "the call\nends\n")
    assert capsys.readouterr().out == "the agent\n"
    assert sys.stdout is stdout


def test_calls_at_the_same_time_have_their_own_output(hold: Callable[[str], HeldCall]) -> None:
    stdout = sys.stdout
    first, second = hold("first"), hold("second")
    assert first.end().output == "first\nends\n"
    assert sys.stdout is not stdout  # the second still prints
    assert second.end().output == "second\nends\n"
    assert sys.stdout is stdout


def test_a_stream_that_the_agent_replaces_meanwhile_stays(
    hold: Callable[[str], HeldCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # put back at the end
    call = hold("the call")
    sys.stdout = replaced = io.StringIO()
    assert call.end().output == "the call\n"
    assert sys.stdout is replaced
    assert replaced.getvalue() == "ends\n"


def test_output_is_kept_up_to_a_limit() -> None:
    def talk() -> int:
        print("x" * (MAX_OUTPUT_CHARS - 1))
        return sys.stdout.write("too much")

    result = call_bounded(talk, TIMEOUT_S)
    assert result.output == "x" * (MAX_OUTPUT_CHARS - 1) + "\n"
    assert result.value == len("too much")  # who writes isn't told


def test_lines_that_are_written_together_are_kept_with_the_error_after_them() -> None:
    def fail() -> None:
        sys.stderr.writelines(["one\n", "two\n"])
        raise LookupError("three")

    with pytest.raises(CallFailedError) as failed:
        call_bounded(fail, TIMEOUT_S)
    assert failed.value.output == "one\ntwo\n"
    assert isinstance(failed.value.error, LookupError)
