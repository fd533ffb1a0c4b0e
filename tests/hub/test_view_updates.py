"""What a UI is told of an open run: at once at a person's pace, else the last page; in order always."""

from __future__ import annotations

import random
from collections.abc import Callable

from agentstepper_nb.core import make_debug_row
from agentstepper_nb.hub.pagination import PAGE_ROWS
from agentstepper_nb.hub.view_updates import (
    BATCH_INTERVAL_S,
    MAX_IMMEDIATE_PER_INTERVAL,
    MAX_WAITING_BYTES,
    ViewUpdates,
)
from agentstepper_nb.protocol.data_model import Event, EventKind, RowNote, Run
from agentstepper_nb.protocol.ui import CoreToUi, NoteChanged, RowChanged, RunChanged


class ScheduledCall:
    """What a clock is going to call."""

    def __init__(self, at: float, call: Callable[[], object]) -> None:
        self.at = at
        self.call: Callable[[], object] | None = call

    def cancel(self) -> None:
        self.call = None


class ManualClock:
    """A loop's time, that only moves when told."""

    def __init__(self) -> None:
        self.now = 100.0
        self.later: list[ScheduledCall] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], object], /) -> ScheduledCall:
        self.later.append(ScheduledCall(self.now + delay, callback))
        return self.later[-1]

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        due = [each for each in self.later if each.at <= end]
        self.later = [each for each in self.later if each.at > end]
        for each in due:
            self.now = max(self.now, each.at)
            if each.call:
                each.call()
        self.now = end


class ViewHarness:
    """A UI's pushes, and what it was told."""

    def __init__(self, *runs: str) -> None:
        self.clock = ManualClock()
        self.sent: list[CoreToUi] = []
        self.made = 0
        self.waiting = 0
        self.pushes = ViewUpdates(self.sent.append, lambda: self.clock, lambda: self.waiting)
        for run in runs or ("run",):
            self.pushes.open(run, 0)

    def row(self, seq: int, *, pending: bool = False, run: str = "run", text: str = "") -> None:
        def make() -> RowChanged:
            self.made += 1
            event = Event(
                id=f"r{seq}", run=run, kind=EventKind.DEBUG_MESSAGE, at=0.0, seq=seq, data=text
            )
            return RowChanged(run=run, row=make_debug_row(event))

        self.pushes.add_row(run, f"r{seq}", seq, make, pending=pending)

    def header(self, rows: int, run: str = "run") -> None:
        self.pushes.set_header(Run(id=run, name="", program="P", started_at=0.0, rows=rows))

    def note(self, text: str, run: str = "run") -> None:
        note = RowNote(run=run, message="r1", text=text, at=0.0)
        self.pushes.add_message(run, lambda: NoteChanged(note=note))

    def take_sent(self) -> list[str]:
        """What was sent, in short."""
        sent, self.sent[:] = list(self.sent), []
        return [short(message) for message in sent]


def short(message: CoreToUi) -> str:
    match message:
        case RowChanged(row=row):
            return f"row {row.seq}{row.summary and ' ' + row.summary}"
        case RunChanged(run=run):
            return f"run {run.rows}"
        case NoteChanged(note=note):
            return f"note {note.text}"
    raise AssertionError(message)


def row_pushes(*numbers: int) -> list[str]:
    return [f"row {number}" for number in numbers]


def test_at_a_person_s_pace_everything_goes_at_once() -> None:
    ui = ViewHarness()
    for seq in range(1, 40):
        ui.row(seq, pending=True)
        ui.header(seq)
        assert ui.take_sent() == [f"row {seq}", f"run {seq}"]
        ui.clock.advance(0.3)
    assert not ui.clock.later


def test_of_what_comes_faster_the_last_page_is_told_and_then_the_header() -> None:
    ui = ViewHarness()
    for seq in range(1, 10_001):
        ui.row(seq)
        ui.header(seq)
    at_once = ui.take_sent()
    assert len(at_once) == MAX_IMMEDIATE_PER_INTERVAL
    assert ui.made == MAX_IMMEDIATE_PER_INTERVAL // 2  # a row that isn't told isn't made either
    ui.clock.advance(BATCH_INTERVAL_S)
    last = range(10_001 - PAGE_ROWS, 10_001)
    assert ui.take_sent() == [*row_pushes(*last), "run 10000"]
    assert ui.made == MAX_IMMEDIATE_PER_INTERVAL // 2 + PAGE_ROWS
    ui.clock.advance(10)
    assert ui.take_sent() == []
    ui.row(10_001)
    assert ui.take_sent() == ["row 10001"]


def test_it_tells_at_most_twenty_times_a_second() -> None:
    ui = ViewHarness()
    messages = 0
    for seq in range(1, 20_001):  # for a second
        ui.row(seq)
        messages += len(ui.take_sent())
        ui.clock.advance(1 / 20_000)
    spans = 1 / BATCH_INTERVAL_S
    assert messages <= (spans + 1) * (MAX_IMMEDIATE_PER_INTERVAL + PAGE_ROWS)
    assert messages >= (spans - 1) * PAGE_ROWS


def test_what_waits_for_a_person_and_what_becomes_of_it_is_always_told() -> None:
    ui = ViewHarness()
    for seq in range(1, 1001):
        ui.row(seq, pending=seq == 500)
    ui.take_sent()
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent() == row_pushes(500, *range(1001 - PAGE_ROWS, 1001))
    for seq in range(1001, 2001):
        ui.row(seq)
    ui.row(500, text="answered")
    ui.row(3, text="put into a sentence")
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent()[-2:] == ["row 500 answered", "row 3 put into a sentence"]


def test_a_row_that_changes_before_it_is_told_is_told_once_as_it_stands() -> None:
    ui = ViewHarness()
    for seq in range(1, MAX_IMMEDIATE_PER_INTERVAL + 1):
        ui.row(seq)
    ui.take_sent()
    ui.row(100, pending=True, text="pending")
    ui.row(101)
    ui.row(100, text="answered")
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent() == ["row 100 answered", "row 101"]


def test_everything_else_is_told_in_its_order() -> None:
    ui = ViewHarness()
    for seq in range(1, MAX_IMMEDIATE_PER_INTERVAL + 1):
        ui.row(seq)
    ui.take_sent()
    ui.row(100)
    ui.note("a")
    ui.row(101)
    ui.note("b")
    ui.header(101)
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent() == ["row 100", "note a", "row 101", "note b", "run 101"]


def test_a_busy_run_costs_another_none_of_its_rows() -> None:
    ui = ViewHarness("run", "quiet")
    for seq in range(1, 1001):
        ui.row(seq)
        if seq == 500:
            ui.row(7, run="quiet")
            ui.header(7, run="quiet")
    ui.take_sent()
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent()[-2:] == ["row 7", "run 7"]


def test_what_is_asked_to_be_told_now_is() -> None:
    ui = ViewHarness()
    for seq in range(1, 101):
        ui.row(seq)
    ui.take_sent()
    ui.pushes.flush()
    assert ui.take_sent() == row_pushes(*range(MAX_IMMEDIATE_PER_INTERVAL + 1, 101))
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent() == []


def test_who_is_behind_is_told_the_rest_once_it_has_caught_up() -> None:
    ui = ViewHarness()
    for seq in range(1, 101):
        ui.row(seq)
    ui.take_sent()
    ui.waiting = MAX_WAITING_BYTES + 1
    for seq in range(101, 5001):
        ui.row(seq)
        ui.clock.advance(0.001)
    assert ui.take_sent() == []
    assert ui.made == MAX_IMMEDIATE_PER_INTERVAL
    ui.waiting = 0
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent() == row_pushes(*range(5001 - PAGE_ROWS, 5001))


def test_a_run_that_is_closed_and_a_ui_that_is_gone_are_told_nothing() -> None:
    ui = ViewHarness("run", "other")
    for seq in range(1, 101):
        ui.row(seq)
    ui.row(1, run="other")
    ui.take_sent()
    ui.pushes.close("run")
    assert "run" not in ui.pushes.opened
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent() == ["row 1"]
    for seq in range(2, 101):
        ui.row(seq, run="other")
    ui.take_sent()
    ui.pushes.end()
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent() == []


def test_whatever_comes_when_a_view_ends_with_the_truth() -> None:
    """What it was told last of each row is how that stands, and of the tail nothing is missing."""
    for seed in range(50):
        chance = random.Random(seed)
        ui = ViewHarness()
        truth: dict[int, str] = {}
        seen: dict[int, str] = {}
        pending: list[int] = []
        for _ in range(chance.randrange(50, 900)):
            if pending and chance.random() < 0.2:
                seq = pending.pop(0)
            else:
                seq = len(truth) + 1
                if chance.random() < 0.02:
                    pending.append(seq)
            truth[seq] = "waits" if seq in pending else "done"
            ui.row(seq, pending=seq in pending, text=truth[seq])
            ui.header(len(truth))
            if chance.random() < 0.02:
                ui.clock.advance(chance.random() / 10)
        ui.clock.advance(1)
        for message in ui.sent:
            if isinstance(message, RowChanged):
                seen[message.row.seq] = message.row.summary
        header = ui.sent[-1]
        assert short(header) == f"run {len(truth)}"
        assert {seq: truth[seq] for seq in seen} == seen
        assert set(pending) <= seen.keys()
        assert set(range(max(1, len(truth) - 50), len(truth) + 1)) <= seen.keys()


def test_a_run_that_is_opened_again_loses_nothing_that_waited() -> None:
    ui = ViewHarness()
    for seq in range(1, MAX_IMMEDIATE_PER_INTERVAL + 1):
        ui.row(seq)
    ui.take_sent()
    ui.row(3, text="changed")
    ui.note("a")
    ui.pushes.open("run", MAX_IMMEDIATE_PER_INTERVAL)
    assert ui.take_sent() == ["row 3 changed", "note a"]
    ui.clock.advance(BATCH_INTERVAL_S)
    assert ui.take_sent() == []
