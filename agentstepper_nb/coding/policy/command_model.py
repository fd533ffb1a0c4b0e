"""Commands as a program gets them: words, as far as they are known, and what is found in them."""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct

from ...protocol.data_model import Risk
from ...protocol.text_escaping import escape_invisible

#: Devices that keep nothing: what is written there is gone, or shown.
_HARMLESS_DEVICES: Final = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"} | {
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
}
_DESCRIPTOR = re.compile(r"/dev/fd/\d+|/dev/std(in|out|err)|/dev/(tcp|udp)/.*")
_SECRET = re.compile(
    r"(^|[/=@~])\.(ssh|gnupg|aws|kube|netrc|pypirc|npmrc|git-credentials)(/|$)"
    r"|^/etc/(g?shadow|sudoers)|^/proc/[^/]+/(environ|mem)"
)


def is_device(path: str) -> bool:
    """Whether a path is a device that writing could hurt."""
    if not path.startswith("/"):
        return False
    full = "/" + os.path.normpath(path).lstrip("/")
    if full in _HARMLESS_DEVICES or _DESCRIPTOR.fullmatch(full):
        return False
    return full == "/dev" or full.startswith("/dev/")


def is_secret(path: str) -> bool:
    """Whether a path leads to where programs keep keys."""
    return bool(_SECRET.search(path))


def resolve_links(path: Path) -> Path:
    """A path without links; as it is where that can't be told.

    Args:
        path: The path, absolute.
    """
    try:
        return Path(os.path.realpath(path))
    except OSError:  # as another user's /proc/…/root
        return Path(os.path.normpath(path))
    except ValueError:  # no path of this system: nothing is there
        return path


_VERSION = re.compile(r"-?\d[\d.]*$")
#: No program that is known has a longer name.
_NAME_LIMIT = 64


class CommandWord(Struct, frozen=True):
    """One word of a command, with its quotes taken off.

    Args:
        text: The word; where it isn't sure, what it begins with.
        is_certain: Whether the text is all of it. Else a variable, a pattern or a command gives the
            rest.
        can_split: Whether it may become several words, or none.
        is_glob: Whether file names alone give the rest.
        pattern: Where they do, the whole word as a pattern of file names.
    """

    text: str
    is_certain: bool = True
    can_split: bool = False
    is_glob: bool = False
    pattern: str = ""

    @property
    def may_be_option(self) -> bool:
        """Whether a program may take it for an option."""
        if self.is_certain:
            return self.text.startswith("-") and self.text != "-"
        return self.can_split or not self.text or self.text.startswith("-")


class Assignment(Struct, frozen=True):
    """A variable that is set."""

    name: str
    value: CommandWord


class Redirect(Struct, frozen=True):
    """A file that input comes from or output goes to."""

    operator: str
    target: CommandWord


class ProgramCall(Struct, frozen=True):
    """One program that is run, or a builtin of the shell.

    Args:
        words: Its name and what it is given.
        source_text: As it stands in the command, for people.
        assignments: Variables that are set for it.
        stdin: What it reads, where that stands in the command.
    """

    words: tuple[CommandWord, ...]
    source_text: str
    assignments: tuple[Assignment, ...] = ()
    stdin: CommandWord | None = None

    @property
    def name(self) -> str:
        """The program's name, without its folder; in lower case, as some disks don't tell them apart."""
        return self.words[0].text.rpartition("/")[2].lower()

    @property
    def unversioned_name(self) -> str:
        """The same without a version: `python` for `python3.12`, `mkfs` for `mkfs.ext4`."""
        return _VERSION.sub("", self.name.partition(".")[0][:_NAME_LIMIT])

    @property
    def args(self) -> tuple[CommandWord, ...]:
        """What it is given."""
        return self.words[1:]


def split_names(text: str) -> frozenset[str]:
    """A table of names, as text with white space between them."""
    return frozenset(text.split())


def make_call(argv: list[str]) -> ProgramCall:
    """A program that is run without a shell: each word is what it is.

    Args:
        argv: Its name and arguments.
    """
    return ProgramCall(tuple(CommandWord(text) for text in argv), shlex.join(argv))


# ---- options ---------------------------------------------------------------------------------------


def select_options(args: tuple[CommandWord, ...]) -> tuple[CommandWord, ...]:
    """The words that may be options: those before `--` that may begin with a hyphen."""
    found: list[CommandWord] = []
    for word in args:
        if word.is_certain and word.text == "--":
            break
        if word.may_be_option:
            found.append(word)
    return tuple(found)


def select_operands(args: tuple[CommandWord, ...]) -> tuple[CommandWord, ...]:
    """The words that may be something else than options."""
    found: list[CommandWord] = []
    for index, word in enumerate(args):
        if word.is_certain and word.text == "--":
            found.extend(args[index + 1 :])
            break
        if not (word.is_certain and word.may_be_option):
            found.append(word)
    return tuple(found)


def find_option(args: tuple[CommandWord, ...], *longs: str, shorts: str = "") -> CommandWord | None:
    """The first option that is one of these, or None.

    Long ones may be abbreviated, as most programs let them; short ones may stand in a cluster.

    Args:
        args: What a program is given.
        longs: Long options, with their hyphens.
        shorts: The letters of short ones.
    """
    for word in select_options(args):
        if is_long_option(word.text, *longs) or is_short_option(word.text, shorts):
            return word
    return None


def pair_with_next_word(args: tuple[CommandWord, ...]) -> Iterator[tuple[CommandWord, CommandWord]]:
    """Each word with the one behind it, which may be its value; behind the last an empty one."""
    return pairwise((*args, CommandWord("")))


def is_long_option(text: str, *longs: str) -> bool:
    """Whether a word is one of these long options, or short for one."""
    stem = text.partition("=")[0]
    return len(stem) > 2 and stem.startswith("--") and any(long.startswith(stem) for long in longs)


def is_short_option(text: str, letters: str) -> bool:
    """Whether a word is a cluster of short options with one of these letters."""
    return text.startswith("-") and not text.startswith("--") and bool(set(text[1:]) & set(letters))


#: Risks from the lowest to the highest.
RISKS = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


class CommandFinding(Struct, frozen=True):
    """One thing that a person should look at.

    Args:
        risk: High where it destroys something.
        source_text: The part of the command, as it stands there.
        reason: What the part does, as the end of a sentence that begins with the part.
        is_unclear: Whether only running the command would show what it does.
    """

    risk: Risk
    source_text: str
    reason: str
    is_unclear: bool = False

    def __str__(self) -> str:
        """The finding as a sentence."""
        text = f"`{self.source_text}` {self.reason}" if self.source_text else self.reason
        return f"{text[:1].upper()}{text[1:]}."


class CommandReport(Struct, frozen=True):
    """What is known of a command before it runs.

    Args:
        findings: What is on the dangerous list, or may be, in the order of the command.
        calls: The programs that the command runs, those behind `env`, `sh -c` and the like too.
        possible_calls: Words in the arguments of those, each as if a program began there: a program
            may run what it is given.
        redirects: The files that the shell opens for the programs.
        assigned_names: The names of the variables that the command sets.
    """

    findings: tuple[CommandFinding, ...] = ()
    calls: tuple[ProgramCall, ...] = ()
    possible_calls: tuple[ProgramCall, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    assigned_names: frozenset[str] = frozenset()

    @property
    def is_unclear(self) -> bool:
        """Whether the command may run what isn't among its calls."""
        return any(found.is_unclear for found in self.findings)

    @property
    def worst_finding(self) -> CommandFinding | None:
        """The finding that a person should read first; None where there is none."""
        return max(self.findings, key=lambda found: RISKS.index(found.risk), default=None)


def shorten_part(text: str, limit: int = 120) -> str:
    """A part of a command on one line, for a sentence."""
    line = " ".join(text.split()).replace("`", "'")
    # What can't be seen, or turns the text around it, would show a person something else.
    line = escape_invisible(line, lambda _: "\ufffd")
    return line if len(line) <= limit else line[: limit - 1] + "…"
