"""What is known of programs: which are dangerous, and with which arguments.

A list like this can't be complete. It is there against accidents and against what a model may be talked
into; tests that the agent runs may do all that this account may.
"""

from __future__ import annotations

from ..judging import Judge, Look
from ..words import Assignment, Call, Word
from . import (
    always,
    editors,
    files,
    git,
    interpreters,
    network,
    packages,
    python,
    shells,
    system,
    wrappers,
)
from .variables import why_not

_LOOKS: dict[str, Look] = {
    **always.LOOKS,
    **files.LOOKS,
    **editors.LOOKS,
    **git.LOOKS,
    **interpreters.LOOKS,
    **network.LOOKS,
    **packages.LOOKS,
    **python.LOOKS,
    **shells.LOOKS,
    **system.LOOKS,
    **wrappers.LOOKS,
}


def _dashed(call: Call, judge: Judge) -> None:
    """`git-push` for `git push`."""
    words = (Word("git"), Word(call.name.removeprefix("git-")), *call.args)
    judge.inner(call, words)


def _gnu(call: Call, judge: Judge) -> None:
    """`grm` for `rm`, where the system's own isn't GNU's."""
    judge.inner(call, (Word(call.name[1:]), *call.args))


class KnownPrograms:
    """What this package knows; see `judging.Rules`."""

    def of(self, call: Call) -> Look | None:
        """What looks at a call of this program; None where any is harmless."""
        if call.name.startswith("git-"):
            return _dashed
        look = _LOOKS.get(call.name) or _LOOKS.get(call.plain_name)
        return look or (_gnu if call.name[:1] == "g" and call.name[1:] in _LOOKS else None)

    def of_variable(self, assignment: Assignment) -> str | None:
        """Why a variable's value is dangerous; None where it isn't."""
        return why_not(assignment)
