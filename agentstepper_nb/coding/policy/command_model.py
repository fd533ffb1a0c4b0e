"""The data model of command analysis: words, program calls, redirects and findings."""

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

#: Devices to which writing does no harm: they discard or display data.
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
    """Whether a path is a device to which writing may do harm."""
    if not path.startswith("/"):
        return False
    full = "/" + os.path.normpath(path).lstrip("/")
    if full in _HARMLESS_DEVICES or _DESCRIPTOR.fullmatch(full):
        return False
    return full == "/dev" or full.startswith("/dev/")


def is_secret(path: str) -> bool:
    """Whether a path is in a place where programs store keys and other secrets."""
    return bool(_SECRET.search(path))


def resolve_links(path: Path) -> Path:
    """Resolve the symbolic links of a path. A path that can't be resolved is returned unchanged.

    Args:
        path: The absolute path.
    """
    try:
        return Path(os.path.realpath(path))
    except OSError:  # as another user's /proc/…/root
        return Path(os.path.normpath(path))
    except ValueError:  # no path of this system: nothing is there
        return path


_VERSION = re.compile(r"-?\d[\d.]*$")
#: The most characters of a program's name; no known program has a longer name.
_NAME_LIMIT = 64


class CommandWord(Struct, frozen=True):
    """One word of a command, without its quotes.

    Args:
        text: The word, or the known beginning of the word.
        is_certain: Whether `text` is the whole word. False: a variable, a glob pattern or a command
            substitution makes the rest.
        can_split: Whether the shell may expand the word to several words, or to none.
        is_glob: Whether a glob pattern alone makes the rest of the word.
        pattern: The whole word as a glob pattern, if `is_glob`.
    """

    text: str
    is_certain: bool = True
    can_split: bool = False
    is_glob: bool = False
    pattern: str = ""

    @property
    def may_be_option(self) -> bool:
        """Whether a program may parse the word as an option."""
        if self.is_certain:
            return self.text.startswith("-") and self.text != "-"
        return self.can_split or not self.text or self.text.startswith("-")


class Assignment(Struct, frozen=True):
    """An assignment of a shell variable."""

    name: str
    value: CommandWord


class Redirect(Struct, frozen=True):
    """A redirection of input or output."""

    operator: str
    target: CommandWord


class ProgramCall(Struct, frozen=True):
    """One call of a program, or of a shell's builtin.

    Args:
        words: The program's name and arguments.
        source_text: The call's text in the command, for a person.
        assignments: The variables that the call sets for the program.
        stdin: The program's input, if the command contains it, as a here-document does.
    """

    words: tuple[CommandWord, ...]
    source_text: str
    assignments: tuple[Assignment, ...] = ()
    stdin: CommandWord | None = None

    @property
    def name(self) -> str:
        """The program's name without its folder, in lower case, since some disks ignore the case."""
        return self.words[0].text.rpartition("/")[2].lower()

    @property
    def unversioned_name(self) -> str:
        """The program's name without a version: `python` for `python3.12`, `mkfs` for `mkfs.ext4`."""
        return _VERSION.sub("", self.name.partition(".")[0][:_NAME_LIMIT])

    @property
    def args(self) -> tuple[CommandWord, ...]:
        """The program's arguments."""
        return self.words[1:]


def split_names(text: str) -> frozenset[str]:
    """Split a text of names at white space."""
    return frozenset(text.split())


def make_call(argv: list[str]) -> ProgramCall:
    """Make the call of a program that runs without a shell, so that no word is expanded.

    Args:
        argv: The program's name and arguments.
    """
    return ProgramCall(tuple(CommandWord(text) for text in argv), shlex.join(argv))


# ---- options ---------------------------------------------------------------------------------------


def select_options(args: tuple[CommandWord, ...]) -> tuple[CommandWord, ...]:
    """Return the words that may be options: words before `--` that may begin with a hyphen."""
    found: list[CommandWord] = []
    for word in args:
        if word.is_certain and word.text == "--":
            break
        if word.may_be_option:
            found.append(word)
    return tuple(found)


def select_operands(args: tuple[CommandWord, ...]) -> tuple[CommandWord, ...]:
    """Return the words that may be operands, that is, not options."""
    found: list[CommandWord] = []
    for index, word in enumerate(args):
        if word.is_certain and word.text == "--":
            found.extend(args[index + 1 :])
            break
        if not (word.is_certain and word.may_be_option):
            found.append(word)
    return tuple(found)


def find_option(args: tuple[CommandWord, ...], *longs: str, shorts: str = "") -> CommandWord | None:
    """Find the first of several options in a program's arguments; None: there is none.

    Long options may be abbreviated, as most programs allow; short options may be combined, as in `-rf`.

    Args:
        args: The program's arguments.
        longs: The long options, with their hyphens.
        shorts: The letters of the short options.
    """
    for word in select_options(args):
        if is_long_option(word.text, *longs) or is_short_option(word.text, shorts):
            return word
    return None


def pair_with_next_word(args: tuple[CommandWord, ...]) -> Iterator[tuple[CommandWord, CommandWord]]:
    """Iterate over each word with the next word, which may be its value; the last has an empty word."""
    return pairwise((*args, CommandWord("")))


def is_long_option(text: str, *longs: str) -> bool:
    """Whether a word is one of several long options, or an abbreviation of one."""
    stem = text.partition("=")[0]
    return len(stem) > 2 and stem.startswith("--") and any(long.startswith(stem) for long in longs)


def is_short_option(text: str, letters: str) -> bool:
    """Whether a word is a group of short options that contains one of these letters."""
    return text.startswith("-") and not text.startswith("--") and bool(set(text[1:]) & set(letters))


#: The risks, from lowest to highest.
RISKS = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


class CommandFinding(Struct, frozen=True):
    """One part of a command that a person should check.

    Args:
        risk: The risk; high if the part destroys data.
        source_text: The text of the part.
        reason: The part's effect, as the end of a sentence that begins with the part.
        is_unclear: Whether only running the command would show the part's effect.
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
    """The analysis of a command before the command runs.

    Args:
        findings: The parts that are, or may be, on the dangerous list, in the order of the command.
        calls: The program calls of the command, including calls by `env`, `sh -c` and the like.
        possible_calls: Calls that the programs may make with their arguments: each word of the
            arguments is taken as the name of a program.
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
        """Whether the command may run programs that aren't in `calls`."""
        return any(found.is_unclear for found in self.findings)

    @property
    def worst_finding(self) -> CommandFinding | None:
        """The finding of the highest risk; None: there are no findings."""
        return max(self.findings, key=lambda found: RISKS.index(found.risk), default=None)


def shorten_part(text: str, limit: int = 120) -> str:
    """Shorten a part of a command to one line, for use in a sentence."""
    line = " ".join(text.split()).replace("`", "'")
    # What can't be seen, or turns the text around it, would show a person something else.
    line = escape_invisible(line, lambda _: "\ufffd")
    return line if len(line) <= limit else line[: limit - 1] + "…"
