"""What background agents keep: their queue, snapshots, steps and conversations.

`base` has the protocol, `conformance` what every backend has to show. docs/design/0015-runtime.md.
"""

from ...protocol.runtime_methods import RuntimeMethod
from .base import METHODS, RuntimeStore

__all__ = ["METHODS", "RuntimeMethod", "RuntimeStore"]
