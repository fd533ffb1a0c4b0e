"""The agent's door: what an agent imports to be debugged.

`flow` has the walk of one breakpoint, written once; `client` and `aclient` only drive it. `link` has the
connection, `workspace` the files.
"""

from .aclient import AsyncAgentStepper
from .approvals import Approval
from .client import AgentStepper
from .closing import OnClosing, on_closing
from .door import Door, ambient
from .session import newest_program, newest_run

__all__ = [
    "AgentStepper",
    "Approval",
    "AsyncAgentStepper",
    "Door",
    "OnClosing",
    "ambient",
    "newest_program",
    "newest_run",
    "on_closing",
]
