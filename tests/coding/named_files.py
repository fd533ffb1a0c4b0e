"""A workspace with a file of many names, which rules name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from agentstepper_nb.coding.policy import PolicyRulesFile

#: Stands in the file.
SECRET: Final = "KEY=canary-51d0"


class NamedFiles:
    """A workspace `repo` with a file `.env`, a link to it and a hard link, and the book of rules.

    Args:
        folder: Where it is made.
        book: The rules; None: new ones beside it.
    """

    def __init__(self, folder: Path, book: PolicyRulesFile | None = None) -> None:
        self.root = folder / "repo"
        (self.root / "src").mkdir(parents=True)
        (self.root / ".env").write_text(f"{SECRET}\n")
        (self.root / "link").symlink_to(".env")
        os.link(self.root / ".env", self.root / "src" / "hard.txt")
        self.book = book or PolicyRulesFile(folder / "data" / "rules.json")
