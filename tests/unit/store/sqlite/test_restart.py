"""A Core that starts on a store stands where the one before stood."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from agentstepper_nb.core import Debugger
from agentstepper_nb.core.run_state import RunStates
from agentstepper_nb.protocol.records import EndedRunLoaded, Record
from agentstepper_nb.store.sqlite.reader import StoreReader, read_restart_records
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.store_tables import open_store_tables
from tests.unit.core.test_state_invariants import RandomDebugging


def kept_in_parts(records: list[Record], folder: Path) -> RunStates:
    """The state after a restart, the records having been kept in transactions of chance."""
    chance = random.Random(len(records))
    with open_store_tables(folder) as store:
        while records:
            some = chance.randint(1, 8)
            store.write(records[:some])
            records = records[some:]
        return restarted(store.reader)


def restarted(reader: StoreReader) -> RunStates:
    debugger = Debugger()
    debugger.restore(read_restart_records(reader, reader.list_runs()))
    return debugger._runs


class RandomDebuggingRestarted(RandomDebugging):
    """Whatever agents and people do, it is kept."""

    def teardown(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            runs = kept_in_parts(self.harness.records, Path(folder))
        expected = self.harness.debugger._runs
        assert runs == expected
        assert list(runs.status) == list(expected.status)
        assert list(runs.live) == list(expected.live)
        assert list(runs.breakpoints) == list(expected.breakpoints)
        for run, status in expected.status.items():
            assert list(runs.status[run].pending) == list(status.pending)
            assert list(runs.status[run].open_events) == list(status.open_events)


TestRestarted = RandomDebuggingRestarted.TestCase
TestRestarted.settings = settings(
    max_examples=10,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_which_run_was_active_is_kept(tmp_path: Path) -> None:
    harness = DebuggerHarness()
    for run in ("one", "two", "three"):
        harness.start(run)
    harness.begin_query("two")
    harness.begin_query("one")
    harness.step(run="one")
    assert harness.debugger._runs.active == "one"
    runs = kept_in_parts(harness.records, tmp_path)
    assert list(runs.live) == list(harness.debugger._runs.live) == ["three", "two", "one"]
    assert runs == harness.debugger._runs


def test_only_what_waits_comes_with_its_contents(tmp_path: Path) -> None:
    harness = DebuggerHarness()
    harness.start()
    event, asked = harness.begin_query()
    harness.step(asked)
    harness.begin_query()
    with open_store_tables(tmp_path) as store:
        store.write(harness.records)
        debugger = Debugger()
        records = list(read_restart_records(store.reader, store.reader.list_runs()))
        debugger.restore(records)
        assert debugger._runs == harness.debugger._runs
        points = [record.halt_point for record in records if hasattr(record, "halt_point")]
    assert [point.data for point in points] == ["", '"hello"']
    assert event in debugger._runs.status["run"].open_events


@pytest.mark.parametrize("table", ["runs", "events", "breakpoints", "commits"])
def test_a_live_run_that_is_hurt_is_given_up_and_the_others_go_on(
    tmp_path: Path, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    harness = DebuggerHarness()
    for run in ("hurt", "well"):
        harness.start(run)
        harness.begin_query(run)
        harness.commit(run)
    with open_store_tables(tmp_path) as store:
        store.write(harness.records)
        key = "id = 'hurt'" if table == "runs" else "run = 1"
        store.connection.execute(f"UPDATE {table} SET checksum = x'00' WHERE {key}")
        records = list(read_restart_records(store.reader, store.reader.list_runs()))
    found, *others = records
    assert isinstance(found, EndedRunLoaded)
    assert found.run.id == "hurt"
    assert found.run.name == "Run #1 of P"
    assert not found.run.live
    assert found.run.failure is not None
    assert "damaged" in found.run.failure.message
    debugger = Debugger()
    debugger.restore(records)
    assert debugger._runs.status["well"] == harness.debugger._runs.status["well"]
    assert others
