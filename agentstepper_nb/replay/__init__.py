"""Run an agent again on what was recorded of it: strictly, or with an edit from one event on.

Imports `protocol`, `core.next_actions`, `sdk`, `history`, `discover`, `store.atomic_files`; on
use `instrument`.
Begin reading in `event_matcher`, which decides what an event gets; `replayer` executes that, and
`agent_runs` runs functions so, `workspace` gives a fork its files, and `deciding_event` finds what
decides how an agent ends.
"""

from ..sdk.frozen_values import freeze_runs
from .agent_runs import fork_run, load_recording, replay_run
from .cut_search import DecidingEvent, Probe
from .deciding_event import find_deciding_event
from .event_matcher import ReplayDepth
from .pytest_export import export_test
from .recordings import Recording
from .restore import put_back
from .workspace import PreparedWorkspace, prepare_workspace
from .workspace_report import LeftOutFile, WorkspaceMode, WorkspaceReport

__all__ = [
    "DecidingEvent",
    "LeftOutFile",
    "PreparedWorkspace",
    "Probe",
    "Recording",
    "ReplayDepth",
    "WorkspaceMode",
    "WorkspaceReport",
    "export_test",
    "find_deciding_event",
    "fork_run",
    "freeze_runs",
    "load_recording",
    "prepare_workspace",
    "put_back",
    "replay_run",
]
