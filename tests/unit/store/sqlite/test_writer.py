"""The thread that writes: what is told when, and what happens where nothing can be written."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.protocol.data_model import AnswerKind
from agentstepper_nb.protocol.records import (
    HaltPointAnswered,
    MessagesReceived,
)
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store.sqlite.database import STORE_FILE
from agentstepper_nb.store.sqlite.writer import (
    AppendRequest,
    WriterLimits,
)
from tests.unit.store.sqlite.writer_harness import WriterHarness, event, run

OpenWriter = Callable[..., WriterHarness]


@pytest.fixture
def open_harness(tmp_path: Path) -> Iterator[OpenWriter]:
    """Opens a writer by which nothing is synced of itself, unless the limits say so."""
    with ExitStack() as stack:

        def open_harness(**limits: Any) -> WriterHarness:
            chosen = replace(WriterLimits(sync_delay_s=3600.0), **limits)
            harness = WriterHarness(tmp_path, Durability.DURABLE, chosen)
            stack.callback(harness.writer.close)
            return harness

        yield open_harness


@pytest.fixture
def manual_writer(open_harness: OpenWriter) -> WriterHarness:
    return open_harness()


def test_all_that_waits_is_one_transaction(manual_writer: WriterHarness) -> None:
    def put() -> None:
        for name in "abcd":
            manual_writer.write(name, [run(name)])

    manual_writer.write_together(put)
    manual_writer.settle()
    since = manual_writer.events_since("before")
    assert [said for said in since if said in "abcd"] == [*"abcd"]
    assert since[: since.index("d")].count("commit") == 1


def test_what_is_recorded_is_synced_soon_after(open_harness: OpenWriter) -> None:
    manual_writer = open_harness(sync_delay_s=0.01)
    manual_writer.events.clear()
    manual_writer.write("one", [run("one")])
    manual_writer.settle(durable=False)
    assert manual_writer.events == ["normal", "commit", "one", "full", "commit", "one synced"]


def test_what_is_to_be_durable_is_told_when_it_is_synced(manual_writer: WriterHarness) -> None:
    manual_writer.events.clear()
    manual_writer.write("one", [run("one")], durable=True)
    manual_writer.settle()
    assert manual_writer.events == ["commit", "one", "one synced"]  # it is set to FULL from before


def test_one_that_is_durable_makes_all_with_it_durable(manual_writer: WriterHarness) -> None:
    def put() -> None:
        manual_writer.write("one", [run("one")])
        manual_writer.write("two", [run("two")], durable=True)

    manual_writer.write_together(put)
    manual_writer.settle()
    assert manual_writer.events_since("before") == [
        "full",
        "commit",
        "before synced",
        "one",
        "two",
        "one synced",
        "two synced",
    ]


def test_where_everything_is_synced_nothing_waits_for_it(tmp_path: Path) -> None:
    manual_writer = WriterHarness(tmp_path, Durability.SYNC)
    manual_writer.events.clear()
    manual_writer.write("one", [run("one")])
    manual_writer.settle()
    assert manual_writer.events == ["commit", "one", "one synced"]
    manual_writer.writer.close()


def test_an_event_shares_the_transaction_of_its_breakpoint(open_harness: OpenWriter) -> None:
    manual_writer = open_harness(batch_window_s=3600.0)
    manual_writer.write("run", [run("run")])
    manual_writer.settle()
    manual_writer.events.clear()
    manual_writer.write("event", [event("e"), MessagesReceived(run="run", n=1)])
    manual_writer.write("one", [run("one")])
    manual_writer.settle()
    assert manual_writer.events[: manual_writer.events.index("one") + 1] == [
        "commit",
        "event",
        "one",
    ]


def test_a_lonely_event_waits_shortly(manual_writer: WriterHarness) -> None:
    manual_writer.write("run", [run("run")])
    done = threading.Event()
    manual_writer.writer.put(AppendRequest([event("e")], done.set))
    assert done.wait(60)


def test_what_nobody_waits_for_is_gathered_and_synced_at_once(open_harness: OpenWriter) -> None:
    manual_writer = open_harness(sync_delay_s=0.01)
    manual_writer.events.clear()
    on_synced = threading.Event()
    manual_writer.writer.put(AppendRequest([run("one")], on_synced=on_synced.set))
    assert on_synced.wait(60)
    assert manual_writer.events == ["commit"]  # it is set to FULL from before


def test_who_reads_does_not_wait_for_what_is_gathered(manual_writer: WriterHarness) -> None:
    manual_writer.writer.put(AppendRequest([run("one")]))
    done = threading.Event()
    manual_writer.writer.put(AppendRequest(on_recorded=done.set, has_waiting_reader=True))
    assert done.wait(60)
    assert manual_writer.history("one") == []


def test_what_waits_for_nothing_is_told_without_a_transaction(manual_writer: WriterHarness) -> None:
    manual_writer.events.clear()
    manual_writer.write("one", [])
    manual_writer.write("two", [], durable=True)
    manual_writer.settle()
    assert [said for said in manual_writer.events if "synced" not in said] == ["one", "two"]


def test_the_journal_is_emptied_when_nothing_comes(open_harness: OpenWriter) -> None:
    manual_writer = open_harness(idle_s=0.001)
    manual_writer.write("one", [run("one")])
    assert manual_writer.emptied.wait(60)
    assert set(manual_writer.sizes) == {0}


def test_a_large_journal_is_emptied_at_once(open_harness: OpenWriter) -> None:
    manual_writer = open_harness(idle_s=3600.0, large_journal_bytes=1 << 16)
    manual_writer.write(
        "one", [run("run"), event("e", data=f'"{random.Random(1).randbytes(100_000).hex()}"')]
    )
    assert manual_writer.emptied.wait(60)


def test_who_reads_only_delays_that(open_harness: OpenWriter) -> None:
    manual_writer = open_harness(idle_s=0.001)
    reader = sqlite3.connect(manual_writer.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    manual_writer.write("one", [run("one")])
    manual_writer.settle()
    assert not manual_writer.emptied.is_set()
    reader.execute("COMMIT")
    assert manual_writer.emptied.wait(60)
    reader.close()


def fill(manual_writer: WriterHarness) -> None:
    """Let the disk be as full as the file is now."""
    ((pages,),) = manual_writer.connection.execute("PRAGMA page_count")
    manual_writer.connection.execute(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_is_told_and_nothing_is_lost(open_harness: OpenWriter) -> None:
    manual_writer = open_harness(retry_s=0.001)
    manual_writer.write("run", [run("run")])
    manual_writer.settle()
    fill(manual_writer)
    told: list[str] = []

    def trouble(why: str | None) -> None:
        told[:] = [
            said for said in manual_writer.events if said.startswith("big") or said == "small"
        ]
        if len(manual_writer.troubles) == 1:
            manual_writer.write("small", [event("small"), MessagesReceived(run="run", n=1)])
            manual_writer.writer.put(
                AppendRequest(
                    on_recorded=partial(manual_writer.events.append, "reading"),
                    has_waiting_reader=True,
                )
            )
        if "reading" in manual_writer.events and why is not None:
            manual_writer.connection.execute("PRAGMA max_page_count = 1000000")

    manual_writer.in_trouble = trouble
    manual_writer.write("big", [event("big", data=f'"{random.Random(1).randbytes(50_000).hex()}"')])
    manual_writer.settle()
    assert manual_writer.troubles[0] is not None
    assert (
        "database or disk is full. Free disk space there; agents wait" in manual_writer.troubles[0]
    )
    assert manual_writer.troubles[-1] is None
    assert told == []  # nobody was released before
    assert manual_writer.events.index("big") < manual_writer.events.index("small")
    assert manual_writer.history("run") == ["big", "small"]


@pytest.mark.parametrize(
    ("hinder", "release", "advice"),
    [
        ("BEGIN IMMEDIATE", "ROLLBACK", "is locked. End the other program that uses store.sqlite"),
        ("PRAGMA query_only = ON", "PRAGMA query_only = OFF", "Make the folder and its files writ"),
    ],
)
def test_what_to_do_depends_on_what_hinders(
    open_harness: OpenWriter, hinder: str, release: str, advice: str
) -> None:
    manual_writer = open_harness(retry_s=0.001)
    manual_writer.connection.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(manual_writer.path, isolation_level=None)) as other:
        hindered = other if hinder.startswith("BEGIN") else manual_writer.connection
        hindered.execute(hinder)
        blocked = threading.Event()
        manual_writer.in_trouble = lambda trouble: blocked.set()
        manual_writer.write("run", [run("run")])
        assert blocked.wait(60)
        hindered.execute(release)
        manual_writer.settle()
    assert advice in (manual_writer.troubles[0] or "")
    assert "Free disk space" not in (manual_writer.troubles[0] or "")
    assert manual_writer.troubles[-1] is None


def test_what_cannot_be_kept_after_a_full_disk_blocks_nothing(
    open_harness: OpenWriter, caplog: pytest.LogCaptureFixture
) -> None:
    manual_writer = open_harness(retry_s=0.001)
    manual_writer.write("run", [run("run")])
    manual_writer.settle()
    fill(manual_writer)

    def trouble(why: str | None) -> None:
        manual_writer.connection.execute("PRAGMA max_page_count = 1000000")

    manual_writer.in_trouble = trouble
    big = event("big", data=f'"{random.Random(1).randbytes(50_000).hex()}"')
    nothing = HaltPointAnswered(run="run", halt_point="none", answer=AnswerKind.RESUME, at=0)
    given_up = threading.Event()
    manual_writer.writer.put(AppendRequest([big, nothing], given_up.set))
    assert given_up.wait(60)
    first, last = (manual_writer.troubles[at] or "" for at in (0, -1))
    assert "disk is full" in first
    assert "Some of a run could not be written" in last
    assert (
        not manual_writer.writer.is_write_blocked
    )  # nor does its thread spin until something comes
    assert manual_writer.history("run") == []


def test_what_cannot_be_kept_does_not_stop_the_others(
    manual_writer: WriterHarness, caplog: pytest.LogCaptureFixture
) -> None:
    nothing = HaltPointAnswered(run="run", halt_point="none", answer=AnswerKind.RESUME, at=0)

    def put() -> None:
        manual_writer.write("run", [run("run"), event("one")])
        manual_writer.write("wrong", [event("lost"), nothing])
        manual_writer.write("twice", [run("run")])
        manual_writer.write("other", [event("two")])

    manual_writer.write_together(put)
    manual_writer.settle()
    assert manual_writer.history("run") == ["one", "two"]
    assert {"run", "wrong", "twice", "other", "run synced", "other synced"} <= {
        *manual_writer.events
    }
    assert "wrong synced" not in manual_writer.events
    assert len(manual_writer.troubles) == 2
    assert "could not be written" in (manual_writer.troubles[0] or "")
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    manual_writer = WriterHarness(tmp_path, Durability.RELAXED)
    manual_writer.write("run", [run("run")])
    for number in range(50):
        manual_writer.write(f"{number}", [event(f"e{number}")])
    manual_writer.writer.close()
    manual_writer.writer.close()
    assert manual_writer.events[-1] == "49 synced"
    assert not manual_writer.path.with_name(STORE_FILE + "-wal").exists()
    assert manual_writer.history("run") == [f"e{number}" for number in range(50)]


def test_closing_on_a_full_disk_says_what_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manual_writer = WriterHarness(tmp_path, Durability.DURABLE)
    manual_writer.write("run", [run("run")])
    manual_writer.settle()
    fill(manual_writer)
    manual_writer.write("big", [event("big", data=f'"{random.Random(1).randbytes(50_000).hex()}"')])
    manual_writer.writer.close()
    assert "1 records could not be written" in caplog.text
    assert "big" not in manual_writer.events
