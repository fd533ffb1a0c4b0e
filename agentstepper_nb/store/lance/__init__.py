"""The background agents' store in LanceDB, for programs that read its tables as they are.

Imports what `store` may.
Begin reading in `store`: its guarantees beside the other backends are in
docs/guide/runtime-stores.md.
"""

from .store import LanceRuntimeStore

__all__ = ["LanceRuntimeStore"]
