"""What is connected to what, what is wrong, and what to do.

`gather` asks the machine, once, and gives facts; `judge` makes findings of facts, and touches nothing
else; `text` writes them. So each finding can be shown by a test that needs no such machine.
"""

from __future__ import annotations

from .findings import Finding, Sign


def examine() -> list[Finding]:
    """Look at this process and this machine. Takes a moment: every Core is asked whether it answers."""
    from .gather import gather
    from .judge import judge

    return judge(gather())


def report() -> str:
    """What `%agentstepper doctor` and `agentstepper doctor` print: one finding a line."""
    from .text import as_text

    return as_text(examine())


__all__ = ["Finding", "Sign", "examine", "report"]
