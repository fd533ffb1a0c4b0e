"""The agent's workspace, watched from a private git repository. The workspace is only read.

Imports what `sdk` may.
Begin reading in `workspace`: see docs/design/0004-workspace.md for why, and for what is left out.
"""

from .workspace import Workspace

__all__ = ["Workspace"]
