"""Goes through a command, and through the commands in it."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

from . import shfmt
from .places import Places
from .reading import read
from .verdict import Finding, Kind, Verdict, shortened
from .words import Assignment, Call, Redirect, Word

#: Commands in commands, as `sh -c "env sh -c …"`, and how many in all.
DEPTH_LIMIT: Final = 8
TEXTS_LIMIT: Final = 16
#: Findings that are kept: a person reads the first.
FINDINGS_LIMIT: Final = 50

#: What `sh` is depends on the machine: a command has to be harmless to each.
DIALECTS: Final[tuple[shfmt.Dialect, ...]] = ("posix", "bash")

_WRITES = re.compile(r"^(>|&>|<>)")
#: Where programs lie that somebody installed.
_INSTALLED: Final = ("/bin/", "/sbin/", "/usr/", "/opt/")
_DESCRIPTOR = re.compile(r"\d+-?|-")
# A device, also behind an option or a name: `-o/dev/x`, `out=/dev/x`.
_DEVICE = re.compile(r"(?:-\w+|[\w-]+=)?(/+dev/.*)", re.DOTALL)
#: Programs that only tell of a file, or print a text.
_NAMES_ONLY: Final = frozenset(
    {"[", "[[", "basename", "df", "dirname", "echo", "file", "ls", "lsblk", "printf", "readlink"}
    | {"realpath", "stat", "test"}
)


#: Looks at one call of a program, and tells the judge what it finds.
Look = Callable[[Call, "Judge"], None]


class Rules(Protocol):
    """What is known of programs: asked for each call."""

    def of(self, call: Call) -> Look | None:
        """What looks at a call of this program; None where any is harmless."""

    def of_variable(self, assignment: Assignment) -> str | None:
        """Why a variable's value is dangerous; None where it isn't."""


class Judge:
    """Judges one command, with all that stands in it.

    Args:
        rules: What is known of programs.
        root: The workspace's folder; None: no path is told to be outside.
    """

    def __init__(self, rules: Rules, root: Path | None) -> None:
        self.places = Places(root)
        self._rules = rules
        self._depth = 0
        self._texts = 0
        self._findings: dict[Finding, None] = {}
        self._calls: list[Call] = []
        self._fetched: Call | None = None

    def verdict(self) -> Verdict:
        """What was found so far."""
        return Verdict(tuple(self._findings), tuple(self._calls))

    # ---- what the looks at programs say ----

    def danger(self, part: Call | str, why: str) -> None:
        """Find something dangerous.

        Args:
            part: Where.
            why: What it does, as the end of a sentence that begins with the part.
        """
        self._find(Kind.DANGEROUS, part, why)

    def hidden(self, part: Call | str, why: str) -> None:
        """Find something dangerous that runs what isn't looked into; see `danger`."""
        self._find(Kind.DANGEROUS, part, why, hides=True)

    def unclear(self, part: Call | str, why: str) -> None:
        """Find something that can't be told before it runs; see `danger`."""
        self._find(Kind.UNCLEAR, part, why)

    def fetches(self, call: Call) -> None:
        """Note that a call brings files from elsewhere."""
        self._fetched = self._fetched or call

    def runs(self, call: Call, script: str) -> None:
        """Note that a call runs a file, and look where that lies."""
        if self._fetched:
            self.danger(call, f"runs a file after `{self._fetched.part}` fetched something")
        if self.places.is_outside(script) or script.startswith("/dev/"):
            self.danger(call, "runs a script from outside of the workspace")

    # ---- what they go on with ----

    def text(self, text: str, dialects: Iterable[shfmt.Dialect] = DIALECTS) -> None:
        """Judge what a shell is given.

        Args:
            text: The command.
            dialects: Whose grammars it may be read by.
        """
        for dialect in dialects:
            self._texts += 1
            if self._texts > TEXTS_LIMIT or self._depth >= DEPTH_LIMIT:
                self.unclear("", "the command has too many others in it")
                return
            try:
                reading = read(shfmt.tree(text, dialect), text)
            except shfmt.UnparsableError as error:
                self.unclear("", str(error))
                continue
            self._depth += 1
            self._assignments(reading.assignments)
            for redirect in reading.redirects:
                self._redirect(redirect)
            for call in reading.calls:
                self.call(call)
            self._depth -= 1

    def inner(self, outer: Call, words: tuple[Word, ...], more: Iterable[Assignment] = ()) -> None:
        """Judge a program that another one runs.

        Args:
            outer: The other one.
            words: The program's name and what it is given.
            more: Variables that the outer one sets.
        """
        more = tuple(more)
        self._assignments(more)
        if self._depth >= DEPTH_LIMIT:
            self.unclear(outer, "has too many other commands in it")
        elif words:
            self._depth += 1
            self.call(Call(words, outer.part, (*outer.assignments, *more), outer.stdin))
            self._depth -= 1

    def call(self, call: Call) -> None:
        """Judge one program that is run."""
        self._calls.append(call)
        name = call.words[0]
        if not name.sure:
            self.unclear(call, "runs a program whose name is only known when it runs")
            return
        look = self._rules.of(call)
        if look:
            look(call, self)
        else:
            if "/" in name.text and not os.path.normpath(name.text).startswith(_INSTALLED):
                self.runs(call, name.text)
            if call.name not in _NAMES_ONLY and any(map(self._names_device, call.args)):
                self.danger(call, "reaches a device")
        for word in call.args:
            if self.places.is_secret(word.text):
                self.danger(call, "touches files where secrets are kept")

    def writes(self, call: Call, word: Word) -> None:
        """Judge a file that a call writes."""
        if self.places.is_device(word.text):
            self.danger(call, "writes to a device")
        elif self.places.is_outside(word.text):
            self.danger(call, "reaches outside of the workspace")
        elif self.places.is_git(word.text):
            self.danger(call, "changes what git will run")
        elif not word.sure and not (word.glob and word.text):
            self.unclear(call, "writes to a file that is only known when it runs")

    # ---- inside ----

    def _names_device(self, word: Word) -> bool:
        found = _DEVICE.match(word.text)
        return found is not None and self.places.is_device(found[1])

    def _find(self, kind: Kind, part: Call | str, why: str, hides: bool = False) -> None:
        where = shortened(part.part if isinstance(part, Call) else part)
        if len(self._findings) < FINDINGS_LIMIT:
            self._findings[Finding(kind, where, why, hides)] = None

    def _assignments(self, assignments: Iterable[Assignment]) -> None:
        for each in assignments:
            why = self._rules.of_variable(each)
            if why:
                self.danger(f"{each.name}={each.value.text}", why)

    def _redirect(self, redirect: Redirect) -> None:
        target = redirect.target
        part = shortened(f"{redirect.operator} {target.text}{'' if target.sure else '…'}")
        if target.text.startswith(("/dev/tcp", "/dev/udp")):
            self.danger(part, "talks to another machine")
        elif self.places.is_secret(target.text):
            self.danger(part, "touches files where secrets are kept")
        elif not _WRITES.match(redirect.operator) or _is_descriptor(redirect):
            return
        elif self.places.is_device(target.text):
            self.danger(part, "writes to a device")
        elif self.places.is_outside(target.text):
            self.danger(part, "writes outside of the workspace")
        elif self.places.is_git(target.text):
            self.danger(part, "changes what git will run")
        elif not target.sure:
            self.unclear(part, "writes to a file that is only known when it runs")


def _is_descriptor(redirect: Redirect) -> bool:
    """Whether it joins two outputs, as `2>&1`."""
    target = redirect.target
    return redirect.operator == ">&" and target.sure and bool(_DESCRIPTOR.fullmatch(target.text))
