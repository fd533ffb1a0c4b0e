"""What a command would run, and what in it a person should look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...protocol.values import Risk
from ...protocol.visible import shown

if TYPE_CHECKING:
    from .command_words import Call, Redirect

#: Risks from the lowest to the highest.
RISKS = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


class Finding(Struct, frozen=True):
    """One thing that a person should look at.

    Args:
        risk: High where it destroys something.
        part: The part of the command, as it stands there.
        why: What the part does, as the end of a sentence that begins with the part.
        is_unclear: Whether only running the command would show what it does.
    """

    risk: Risk
    part: str
    why: str
    is_unclear: bool = False

    def __str__(self) -> str:
        """The finding as a sentence."""
        text = f"`{self.part}` {self.why}" if self.part else self.why
        return f"{text[:1].upper()}{text[1:]}."


class CommandReport(Struct, frozen=True):
    """What is known of a command before it runs.

    Args:
        findings: What is on the dangerous list, or may be, in the order of the command.
        calls: The programs that the command runs, those behind `env`, `sh -c` and the like too.
        mentions: Words in the arguments of those, each as if a program began there: a program may run
            what it is given.
        redirects: The files that the shell opens for the programs.
        assigns: The names of the variables that the command sets.
    """

    findings: tuple[Finding, ...] = ()
    calls: tuple[Call, ...] = ()
    mentions: tuple[Call, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    assigns: frozenset[str] = frozenset()

    @property
    def is_unclear(self) -> bool:
        """Whether the command may run what isn't among its calls."""
        return any(found.is_unclear for found in self.findings)

    @property
    def worst(self) -> Finding | None:
        """The finding that a person should read first; None where there is none."""
        return max(self.findings, key=lambda found: RISKS.index(found.risk), default=None)


def shortened(text: str, limit: int = 120) -> str:
    """A part of a command on one line, for a sentence."""
    line = " ".join(text.split()).replace("`", "'")
    # What can't be seen, or turns the text around it, would show a person something else.
    line = shown(line, lambda _: "\ufffd")
    return line if len(line) <= limit else line[: limit - 1] + "…"
