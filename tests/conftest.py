"""What every test runs under."""

from __future__ import annotations

import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

# No test fails for how long an example took: machines are busy.
settings.register_profile("without_deadlines", deadline=None)
settings.load_profile("without_deadlines")

# A suite that is published: its failed assertions tell as much as those of tests.
pytest.register_assert_rewrite("agentstepper_nb.store.runtime.conformance")


def pytest_configure() -> None:
    """Let processes that tests start hear Ctrl+C: a shell's background jobs are started deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
