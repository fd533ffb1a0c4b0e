"""What was found out about a command."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from ...protocol.visible import shown

if TYPE_CHECKING:
    from .words import Call


class Kind(StrEnum):
    """What a command, or a part of it, is."""

    HARMLESS = "harmless"
    DANGEROUS = "dangerous"
    UNCLEAR = "unclear"  # only running it would show what it does


class Finding(Struct, frozen=True):
    """One thing that a person should look at.

    Args:
        kind: Dangerous or unclear.
        part: The part of the command, as it stands there.
        why: What it does, as the end of a sentence that begins with the part.
        hides: Whether it runs something that isn't looked into.
    """

    kind: Kind
    part: str
    why: str
    hides: bool = False

    def __str__(self) -> str:
        return f"`{self.part}` {self.why}" if self.part else self.why


class Verdict(Struct, frozen=True):
    """What a command is as a whole.

    Args:
        findings: What was found, in the order of the command; none where it is harmless.
        calls: The programs that it runs, those behind `env`, `sh -c` and the like too, as far as
            they could be told.
    """

    findings: tuple[Finding, ...] = ()
    calls: tuple[Call, ...] = ()

    @property
    def kind(self) -> Kind:
        """The worst kind among the findings."""
        kinds = {finding.kind for finding in self.findings}
        for kind in (Kind.DANGEROUS, Kind.UNCLEAR):
            if kind in kinds:
                return kind
        return Kind.HARMLESS

    @property
    def hides(self) -> bool:
        """Whether it may run what isn't among its calls."""
        return any(found.hides or found.kind is Kind.UNCLEAR for found in self.findings)

    @property
    def why(self) -> str:
        """The finding that a person should read first; empty where there is none."""
        return next((str(found) for found in self.findings if found.kind is self.kind), "")


def shortened(text: str, limit: int = 120) -> str:
    """A part of a command on one line, for a sentence."""
    line = " ".join(text.split()).replace("`", "'")
    # What can't be seen, or turns the text around it, would show a person something else.
    line = shown(line, lambda _: "\ufffd")
    return line if len(line) <= limit else line[: limit - 1] + "…"
