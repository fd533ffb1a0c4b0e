"""What a store's folder is like: plain values, for the doctor to judge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HurtRun:
    """A run of which something is damaged.

    Args:
        id: Its id.
        name: Its name, as far as it can be read.
        what: What of it is hurt, in words.
    """

    id: str
    name: str
    what: str


@dataclass(frozen=True)
class Aside:
    """A store that couldn't be opened and was put aside; or one that can't be opened now.

    Args:
        file: Its name.
        whole: How many of its runs can be read as they were.
        hurt: Those of which something is lost.
        lost: The ids of those of which nothing is left, as far as the search still knows them.
        problem: Why nothing can be read of it; empty where something can.
    """

    file: str
    whole: int = 0
    hurt: tuple[HurtRun, ...] = ()
    lost: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Checkup:
    """All that was found out about a folder.

    Args:
        folder: The folder.
        exists: Whether there is a store in it.
        holder: Who has it, in words; empty where nobody does.
        network: The network file system it lies on; empty where it is this machine's.
        sqlite: SQLite's version.
        free: Bytes that are free there.
        size: Bytes of its files, and of those of version 1.
        open_to_others: Files, and "." for the folder, that others may read or write.
        version: The store's version; 0 where it can't be told.
        newest: The version that this program reads.
        unreadable: Why the store can't be read now, which needn't be its own fault: rights, the disk.
        unopened: The store, where it is too damaged to be opened.
        structure: What SQLite finds wrong with the file itself.
        runs: How many runs there are.
        hurt: Those of which something is damaged.
        missing: The runs of which the journal lost something.
        once: The same, of an earlier damage: Cores have gone on since.
        hurt_rules: How many of the stops and prices are damaged.
        hurt_marks: How many marks can't be read.
        search: Why the search's file can't be used; empty where it can.
        aside: The stores that were put aside.
        copies: Files that keep an earlier state: from before a migration or a repair.
        leftovers: Files that an interrupted write left.
        unread: `.run` files that can't be read, each with the reason.
        others: Folders below it in which other Cores keep their runs.
        tokens: The files of tokens that can't be used, each with the reason.
        agents: What SQLite finds wrong with the file of agents that run on their own.
        agents_aside: Such files that couldn't be read and were put aside.
    """

    folder: str
    exists: bool = True
    holder: str = ""
    network: str = ""
    sqlite: tuple[int, ...] = (3, 99, 0)
    free: int = 1 << 40
    size: int = 0
    open_to_others: tuple[str, ...] = ()
    version: int = 0
    newest: int = 0
    unreadable: str = ""
    unopened: Aside | None = None
    structure: tuple[str, ...] = ()
    runs: int = 0
    hurt: tuple[HurtRun, ...] = ()
    missing: tuple[HurtRun, ...] = ()
    once: tuple[HurtRun, ...] = ()
    hurt_rules: int = 0
    hurt_marks: int = 0
    search: str = ""
    aside: tuple[Aside, ...] = ()
    copies: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()
    tokens: tuple[tuple[str, str], ...] = ()
    agents: tuple[str, ...] = ()
    agents_aside: tuple[str, ...] = ()

    @property
    def hurt_store(self) -> bool:
        """Whether the store has to be built anew to be well again."""
        return bool(self.unopened or self.structure or self.hurt or self.hurt_rules)
