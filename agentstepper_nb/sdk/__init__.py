"""The interface that an agent imports to be debugged.

Imports `protocol`, `core.breakpoints`, `discover`, `llm_wire`, `rpc.backoff`; on use
`models.provider`.
Begin reading in `halt_flow`: the path of one halt point, written once; `stepper` and
`async_stepper` drive it, `run_link` has the connection.
"""

from .approvals import Approval
from .async_stepper import AsyncAgentStepper
from .base_stepper import BaseStepper, find_current_stepper, set_current_stepper
from .close_callbacks import OnClosing, on_closing
from .run_session import find_last_run, find_newest_program, find_newest_run, make_newest_report
from .stepper import AgentStepper

__all__ = [
    "AgentStepper",
    "Approval",
    "AsyncAgentStepper",
    "BaseStepper",
    "OnClosing",
    "find_current_stepper",
    "find_last_run",
    "find_newest_program",
    "find_newest_run",
    "make_newest_report",
    "on_closing",
    "set_current_stepper",
]
