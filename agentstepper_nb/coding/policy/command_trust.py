"""Decides the trust that a command needs without a sandbox, by a list of programs that only read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

from ..workspace import LocalWorkspace
from .command_model import (
    CommandReport,
    CommandWord,
    ProgramCall,
    Redirect,
    find_option,
    is_secret,
    resolve_links,
    select_operands,
    split_names,
)
from .dangerous_commands import parse_git_command
from .rules import is_git_path
from .wrapper_programs import SHELLS, is_plain_wrapper


class TrustLevel(StrEnum):
    """The trust that a program needs without a sandbox."""

    READS = "reads"  # none: the program only reads, and runs no code of the project
    RUNS_PROJECT = "runs project code"  # a person's approval, once per session
    OTHER = "other"  # a person's approval of each call


#: Programs that only read, each with a pattern of the arguments with which the program does more.
#: Programs accept abbreviated long options: a pattern has the shortest form that means this option.
_READERS: Final[dict[str, str]] = {
    **dict.fromkeys(
        split_names(
            """
            ls cat head tail wc cut tr nl tac rev paste comm cmp stat du df pwd echo true false test [ :
            basename dirname realpath readlink which type uname id seq sleep expr cksum md5sum sha1sum
            sha256sum od fold exit
            """
        ),
        "",
    ),
    "printf": r"-v",
    "grep": r"-\w*R|--de",
    "egrep": r"-\w*R|--de",
    "fgrep": r"-\w*R|--de",
    "rg": r"--pre|--hostname-bin|--follow|-\w*L|--search-zip|-\w*z",
    "find": r"-(delete|exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls|files0-from)\b",
    "sort": r"-\w*[oT]|--o|--t|--co|--f",
    "strings": r"@",  # a file that holds more arguments
    "uniq": r"",
    "diff": r"--to|--fr",
    "file": r"-\w*[Cmf]|--co|--ma|--f",
    "tree": r"-\w*o|--fromfile",
    "date": r"-\w*[sf]|--s|--f",
}
_GIT_READS: Final = split_names("status log diff show blame")
#: The options of git's reading subcommands that need no approval.
_GIT_OPTIONS: Final = re.compile(
    r"--|-\d+|-[npsbULwS]\w*|--(oneline|stat|shortstat|numstat|name-only|name-status|short|branch"
    r"|porcelain|graph|decorate|all|cached|staged|patch|no-patch|no-color|no-pager|word-diff"
    r"|pretty=[^!]*|format=[^!]*|max-count=\d+|since=.*|until=.*|author=.*|grep=.*|follow|reverse)"
)
_HARMLESS_VARIABLES: Final = re.compile(
    r"[a-z_][a-z0-9_]*|LC_\w+|LANG|TZ|NO_COLOR|COLUMNS|TERM|FORCE_COLOR|CI"
)

#: Programs that build, test, or otherwise run the project's own code or settings.
_BUILDERS: Final = split_names(
    """
    pytest py.test tox nox coverage ruff mypy pyright black isort flake8 pylint make gmake ninja just
    rake ctest cmake meson gradle gradlew mvn ant sbt bazel jest vitest mocha tsc eslint prettier rspec
    phpunit gcc g++ cc c++ clang clang++ javac java rustc
    """
)
#: Programs that build or test with some of their subcommands.
_BUILDS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), split_names("test t run start build lint")),
    "cargo": split_names("test build check run bench clippy fmt doc"),
    "go": split_names("test build vet run fmt"),
    "dotnet": split_names("test build run"),
    "swift": split_names("test build run"),
    "deno": split_names("test run check lint fmt"),
    "mix": split_names("test compile format"),
    "stack": split_names("test build"),
    **dict.fromkeys(("uv", "poetry", "pdm", "pipenv", "hatch"), split_names("run")),
}
_INTERPRETERS: Final = split_names(
    "python pypy node nodejs ruby perl php lua julia rscript ts-node tsx"
)


def find_required_trust(
    report: CommandReport, folder: Path, workspace: LocalWorkspace
) -> tuple[TrustLevel, str | None]:
    """Find the highest trust that any part of a command needs.

    Args:
        report: The analysis of the command.
        folder: The absolute path of the folder in which the command runs.
        workspace: The workspace.

    Returns:
        The trust, and the part of the command that needs this trust; None: the command as a whole.
    """
    command = _Command(folder, workspace)
    if any(not command.only_reads(redirect) for redirect in report.redirects):
        return TrustLevel.OTHER, None
    trusts = [(command.trust(call), call.source_text) for call in report.calls]
    for wanted in (TrustLevel.OTHER, TrustLevel.RUNS_PROJECT):
        for trust, part in trusts:
            if trust is wanted:
                return trust, part
    if any(not _HARMLESS_VARIABLES.fullmatch(name) for name in report.assigned_names):
        return TrustLevel.OTHER, None
    return TrustLevel.READS, None


class _Command:
    """Decides the trust of each part of one command. See `find_required_trust`."""

    def __init__(self, folder: Path, workspace: LocalWorkspace) -> None:
        self._folder = folder
        self._workspace = workspace

    def only_reads(self, redirect: Redirect) -> bool:
        """Whether a redirection writes no file, and reads none from outside."""
        target = redirect.target
        if redirect.operator == ">&" and target.is_certain and target.text.isdigit():
            return True
        if target.is_certain and target.text == "/dev/null":
            return True
        return redirect.operator == "<" and self._is_inside(target)

    def trust(self, call: ProgramCall) -> TrustLevel:
        """Return the trust that one call needs."""
        if not call.words[0].is_certain:
            return TrustLevel.OTHER
        if call.name in ("timeout", "time", "nice", "command") and is_plain_wrapper(call):
            return TrustLevel.READS  # what it runs is a call of its own
        if call.name in SHELLS and [word.text for word in call.args[:1]] == ["-c"]:
            return TrustLevel.READS
        if self._runs_project(call):
            return TrustLevel.RUNS_PROJECT
        return TrustLevel.READS if self._reads(call) else TrustLevel.OTHER

    def _runs_project(self, call: ProgramCall) -> bool:
        name = call.name
        if name in _BUILDERS:
            return self._starts_inside(call) or "/" not in call.words[0].text
        if name in _BUILDS:
            first = select_operands(call.args)[:1]
            return bool(first) and first[0].text in _BUILDS[name]
        if name in SHELLS or call.unversioned_name in _INTERPRETERS:
            return self._runs_file(call)
        return self._starts_inside(call)

    def _starts_inside(self, call: ProgramCall) -> bool:
        """Whether the program is a file of the workspace."""
        return "/" in call.words[0].text and self._is_inside(call.words[0])

    def _runs_file(self, call: ProgramCall) -> bool:
        """Whether an interpreter runs a module, or a file of the workspace."""
        for word in call.args:
            if call.unversioned_name in ("python", "pypy") and word.text == "-m":
                return True
            if not word.is_certain or re.match(r"-\w*[ceEpr]", word.text) or word.text == "-":
                return False
            if not word.text.startswith("-"):
                return self._is_inside(word)
        return False

    def _reads(self, call: ProgramCall) -> bool:
        program = call.words[0].text
        if "/" in program and not os.path.normpath(program).startswith(("/bin/", "/usr/bin/")):
            return False
        if any(not (word.is_certain or word.is_glob) for word in call.args):
            return False
        if call.name == "cd":
            plain = len(call.args) == 1 and not call.args[0].text.startswith("-")
            return plain and self._is_inside(call.args[0])
        if call.name == "git":
            return self._git_reads(call)
        if call.name not in _READERS or (
            call.name == "uniq" and len(select_operands(call.args)) > 1
        ):
            return False
        denied_options = _READERS[call.name]
        if denied_options and any(re.match(denied_options, word.text) for word in call.args):
            return False
        return call.name in ("echo", "printf") or all(map(self._is_inside, call.args))

    def _git_reads(self, call: ProgramCall) -> bool:
        command = parse_git_command(call.args)
        own = call.args[: len(call.args) - len(command)]
        if not command or command[0].text not in _GIT_READS:
            return False
        words = (*own, *command[1:])
        known = (_GIT_OPTIONS.fullmatch(word.text) for word in words if word.text.startswith("-"))
        return all(known) and not find_option(own, shorts="cC") and all(map(self._is_inside, words))

    def _is_inside(self, word: CommandWord) -> bool:
        """Whether each path that a word may expand to is in the workspace, and holds no secrets."""
        return all(map(self._is_path_inside, self._paths(word)))

    def _paths(self, word: CommandWord) -> Iterator[str]:
        if word.is_glob:
            yield word.pattern
            # Path.glob takes no pattern that begins with a slash.
            yield from glob.iglob(word.pattern, root_dir=self._folder)  # noqa: PTH207
        elif word.is_certain and word.text.startswith("-"):
            _, equals, value = word.text.partition("=")
            yield value if equals else word.text[2:]
        else:
            yield word.text if word.is_certain else "~"

    def _is_path_inside(self, path: str) -> bool:
        if path.startswith("~") or is_secret(path):
            return False
        full = resolve_links(self._folder / path)
        return self._workspace.is_path_safe(str(full)) and not is_git_path(
            Path(os.path.relpath(full, self._workspace.root))
        )
