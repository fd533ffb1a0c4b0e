"""The runtime's rows in LanceDB, for programs that read its tables as they are.

What it promises, beside the other backends: docs/guide/runtime-stores.md.
"""

from .store import LanceRuntimeStore

__all__ = ["LanceRuntimeStore"]
