"""The test suite that every store of background agents passes: `RuntimeStoreConformance`.

Imports what `store` may.
Begin reading in `queue_suite`: the claims of the queue; `base_suite` opens the stores.

Each promise of `store.runtime.base` is a method `test_…`, in which times are arguments and no clock is
read. To test a backend, subclass the suite; any runner that collects classes by name, such as pytest,
runs the subclass::

    class TestMyStore(RuntimeStoreConformance):
        @pytest.fixture(autouse=True)
        def folder(self, tmp_path):
            self.path = tmp_path

        async def open(self):
            return MyStore(self.path)

        async def reopen(self, store):
            await store.close()
            return MyStore(self.path)

        async def delete_snapshot(self, store, session_id): ...  # delete the session's snapshot

        async def write_raw_state(self, store, session_id, text): ...  # put a text where JSON belongs

When the class is created, its coroutines become plain functions, which run on an event loop of their
own and close the stores that they opened. `random_schedules` sets the length of randomised tests. With
pytest, call `pytest.register_assert_rewrite("agentstepper_nb.store.runtime.conformance")` before the
import to get detailed messages of failed assertions.
"""

from .base_suite import BaseSuite
from .change_suite import ChangeSuite
from .concurrency_suite import ConcurrencySuite
from .conversation_suite import ConversationSuite
from .fleet_suite import FleetSuite
from .lease_suite import LeaseSuite
from .loss_suite import LossSuite
from .queue_suite import QueueSuite
from .read_suite import ReadSuite, ValueSuite
from .retention_suite import RetentionSuite
from .routing_suite import RoutingSuite
from .schedule_suite import ScheduleSuite
from .write_suite import WriteSuite

__all__ = ["BaseSuite", "RuntimeStoreConformance"]


class RuntimeStoreConformance(
    QueueSuite,
    LeaseSuite,
    LossSuite,
    RoutingSuite,
    ScheduleSuite,
    RetentionSuite,
    WriteSuite,
    ValueSuite,
    ReadSuite,
    FleetSuite,
    ConversationSuite,
    ChangeSuite,
    ConcurrencySuite,
):
    """The whole suite. Subclass it, and implement the methods that open the store."""
