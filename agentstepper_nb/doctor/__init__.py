"""Examines what is connected to what and what is wrong, and advises what to do.

Imports `discover`, `static_files`; on use anything.
Begin reading in `fact_collection`, which reads the machine, then in `machine_findings`, which makes
findings of those facts and reads nothing else.
"""

from __future__ import annotations

from pathlib import Path

from .findings import Finding, FindingStatus, make_ok_finding


def examine_machine() -> list[Finding]:
    """Look at this process and this machine. Takes a moment: every Core is asked whether it answers."""
    from .fact_collection import collect_facts
    from .machine_findings import make_findings

    return make_findings(collect_facts())


def examine_store(folder: Path) -> list[Finding]:
    """Look at a Core's data folder, whether it is in use or not. Takes as long as reading it whole."""
    from ..store.checkup import examine_folder
    from .store_findings import make_store_findings

    return make_store_findings(examine_folder(folder))


def repair_store(folder: Path) -> list[Finding]:
    """Repair what can be in a data folder that no Core uses, and say what was done.

    Raises:
        StoreLockedError: A Core uses it.
        StoreError: It can't be written, or a newer program wrote it.
    """
    from ..store.checkup import repair_folder

    return [make_ok_finding("repair", text) for text in repair_folder(folder)]


def format_report() -> str:
    """What `%agentstepper doctor` and `agentstepper doctor` print: one finding a line."""
    from .findings import format_findings

    return format_findings(examine_machine())


__all__ = [
    "Finding",
    "FindingStatus",
    "examine_machine",
    "examine_store",
    "format_report",
    "repair_store",
]
