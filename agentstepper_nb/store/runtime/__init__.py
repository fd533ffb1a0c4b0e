"""The stores of background agents: their queue, snapshots, steps and conversations.

Imports what `store` may.
Begin reading in `base`: the protocol; `conformance` has the tests that every backend passes. See
docs/design/0015-runtime.md.
"""

from ...protocol.runtime_methods import RuntimeMethod
from .base import METHODS, RuntimeStore, SharedRuntimeStore

__all__ = ["METHODS", "RuntimeMethod", "RuntimeStore", "SharedRuntimeStore"]
