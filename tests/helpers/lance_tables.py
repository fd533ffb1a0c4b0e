"""Tables of LanceDB, which takes each process a second to import: not at a test file's head."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def connect(folder: Path) -> Any:
    """Connect to a folder of tables."""
    import lancedb

    return lancedb.connect(folder)
