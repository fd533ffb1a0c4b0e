"""The agent's door: what an agent imports to be debugged.

`flow` has the walk of one breakpoint, written once; `client` and `aclient` only drive it. `link` has the
connection, `workspace` the files.
"""

from .aclient import AsyncAgentStepper
from .client import AgentStepper
from .door import ambient
from .session import newest_run

__all__ = ["AgentStepper", "AsyncAgentStepper", "ambient", "newest_run"]
