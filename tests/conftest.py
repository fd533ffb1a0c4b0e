"""What every test runs under."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import inspect
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.helpers.cheap_starts import cheap_starts  # noqa: F401

if TYPE_CHECKING:
    from tests.helpers.postgres_server import PostgresServer

#: Its tests run on the loop of pytest-jupyter's server.
SERVER = Path(__file__).parent / "server"
#: When garbage is collected: tests that need it collect it themselves.
RARELY = (10_000, 20, 20)
#: How long a test that was interrupted at its timeout may take to undo what it did, in seconds.
UNDOING_S = 120
#: Where the process writes what a test can't capture.
_STDERR = pytest.StashKey[int]()
#: When the process began its tests, by the monotonic clock.
_BEGUN_AT = pytest.StashKey[float]()
#: By so many files a day the order of a part with a budget moves on: in time, all of them come first.
FILES_A_DAY = 7

# No test fails for how long an example took: machines are busy. `make soak` has more examples.
settings.register_profile("each_time", deadline=None, max_examples=30)
settings.register_profile("soak", deadline=None, max_examples=100)
settings.load_profile("each_time")

# A suite that is published: its failed assertions tell as much as those of tests.
pytest.register_assert_rewrite("agentstepper_nb.store.runtime.conformance")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--budget",
        type=float,
        metavar="SECONDS",
        help="begin no test after so many seconds: those that are left are told as skipped",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let processes that tests start hear Ctrl+C: a shell's background jobs are started deaf to it.

    Agents run pytest, too, which starts in a third of the time without the plugins of this environment.
    xdist's workers need them, and inherit from the process that starts them.
    """
    if not config.getoption("numprocesses", None):
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[_STDERR] = os.dup(sys.__stderr__.fileno())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let another file come first each day, where not all tests may have their turn.

    `SOAK_DAY` has the day, since all processes of a run must have one order.
    """
    if config.getoption("budget") is None:
        return
    files = list(dict.fromkeys(item.path for item in items))
    shift = int(os.environ.get("SOAK_DAY", "0")) * FILES_A_DAY % max(1, len(files))
    place = {path: at for at, path in enumerate((*files[shift:], *files[:shift]))}
    items.sort(key=lambda item: place[item.path])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no test once the budget is spent."""
    budget_s = item.config.getoption("budget")
    begun_at = item.config.stash.setdefault(_BEGUN_AT, time.monotonic())
    if budget_s is not None and time.monotonic() - begun_at > budget_s:
        pytest.skip(f"the budget of {budget_s:g} s is spent: `make soak SOAK=all` has no budget")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End a process whose test hangs after its timeout, and write its stacks.

    pytest-timeout interrupts once: what then waits in a fixture's or a `finally`'s end waited forever.
    """
    marker = item.get_closest_marker("timeout")
    given = item.config.getoption("timeout") or item.config.getini("timeout")
    timeout_s = float(marker.args[0] if marker else given)
    faulthandler.dump_traceback_later(
        timeout_s + UNDOING_S, exit=True, file=item.config.stash[_STDERR]
    )
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the tests, which live until the end, out of what garbage collections look through."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*RARELY)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Run a test that is a coroutine, and each example of one, on an event loop of its own."""
    test = pyfuncitem.obj
    if pyfuncitem.path.is_relative_to(SERVER):
        return
    if inspect.iscoroutinefunction(test):
        pyfuncitem.obj = _on_loop(test)
    elif inspect.iscoroutinefunction(
        getattr(getattr(test, "hypothesis", None), "inner_test", None)
    ):
        test.hypothesis.inner_test = _on_loop(test.hypothesis.inner_test)


@pytest.fixture(scope="session")
def shared_postgres_server() -> Iterator[PostgresServer]:
    from tests.helpers.postgres_server import run_server

    with run_server() as server:
        yield server


@pytest.fixture
def postgres_server(shared_postgres_server: PostgresServer) -> PostgresServer:
    """A server of PostgreSQL for all tests of a process, which runs whatever the last one did to it."""
    shared_postgres_server.start()
    return shared_postgres_server


def _on_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **named: Any) -> None:
        async def main() -> None:
            await test(*args, **named)

        asyncio.run(main())

    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let no half characters be in reports: tests log some, and they can't travel between processes."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report
