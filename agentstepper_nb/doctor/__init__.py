"""What is connected to what, what is wrong, and what to do.

`gather` asks the machine, once, and gives facts; `judge` makes findings of facts, and touches nothing
else; `findings` writes them. So each finding can be shown by a test that needs no such machine.
"""

from __future__ import annotations

from pathlib import Path

from .findings import Finding, Sign, well


def examine() -> list[Finding]:
    """Look at this process and this machine. Takes a moment: every Core is asked whether it answers."""
    from .gather import gather
    from .judge import judge

    return judge(gather())


def examine_store(folder: Path) -> list[Finding]:
    """Look at a Core's data folder, whether it is in use or not. Takes as long as reading it whole."""
    from ..store.checkup import examine
    from .judge_store import judge_store

    return judge_store(examine(folder))


def repair_store(folder: Path) -> list[Finding]:
    """Repair what can be in a data folder that no Core uses, and say what was done.

    Raises:
        StoreTakenError: A Core uses it.
        StoreError: It can't be written, or a newer program wrote it.
    """
    from ..store.checkup import repair

    return [well("repair", text) for text in repair(folder)]


def report() -> str:
    """What `%agentstepper doctor` and `agentstepper doctor` print: one finding a line."""
    from .findings import as_text

    return as_text(examine())


__all__ = ["Finding", "Sign", "examine", "examine_store", "repair_store", "report"]
