"""The input of effect checks: a call, its result, the files that changed, and the calls before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ...protocol.data_model import ChangeKind, EventOutcome
from .claims import ResultClaims

#: Names of arguments that hold a file's path.
_PATH_KEYS: Final = frozenset(
    {
        *("path", "file", "filename", "file_name", "filepath", "file_path", "target_file"),
        *("pathname", "dest", "destination", "output", "output_file", "output_path", "outfile"),
        *("absolute_path", "relative_path", "target", "cidfile", "pidfile", "pid_file"),
    }
)
#: Names of arguments that hold what a file is to hold.
_CONTENT_KEYS: Final = ("content", "contents", "text", "file_text", "new_content", "data", "body")
#: Names of arguments that hold a free command.
_COMMAND_KEYS: Final = frozenset({"command", "cmd", "script", "code", "shell", "commands"})
_WRITING: Final = frozenset(
    {
        *("write", "create", "edit", "save", "append", "patch", "replace", "insert", "update"),
        *("apply", "overwrite", "modify", "fix", "put"),
    }
)
_DELETING: Final = frozenset({"delete", "remove", "unlink", "rm"})
_READING: Final = frozenset(
    {
        *("read", "view", "cat", "list", "search", "grep", "find", "get", "fetch", "show", "open"),
        *("describe", "query", "check", "status", "diff", "lint", "test", "ls", "load", "inspect"),
    }
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: The files that a patch names.
_PATCHED: Final = re.compile(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)([^\t\n]{1,500})$", re.MULTILINE
)
#: A path as texts have it.
_PATH: Final = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")
#: Folders and names that projects usually ignore in git, so that their changes aren't seen.
_IGNORED: Final = re.compile(
    r"(?:^|/)(?:\.git|node_modules|__pycache__|\.venv|venv|dist|build|target|tmp|\.cache|\.idea"
    r"|\.pytest_cache|\.mypy_cache|\.tox|logs?|out|coverage|\.env[^/]*)(?:/|$)"
    r"|\.(?:pyc|pyo|log|tmp|swp|bak|o|so|class|cache|lock)$|(?:^|/)~"
)
_MAX_PATHS: Final = 20


class FileEffect(NamedTuple):
    """A file of the workspace that changed while a call ran."""

    path: str
    kind: ChangeKind
    previous_path: str | None = None  # of a renamed file


class EarlierCall(NamedTuple):
    """An earlier call of the run, as far as it is remembered."""

    seq: int  # the row of its end
    tool: str
    arguments: str  # as JSON with sorted keys, its beginning
    paths: tuple[str, ...]  # of files that it was to change
    failed: bool  # whether it reported failure
    subjects: frozenset[str]  # the short texts among its arguments
    says_exists: bool = False  # whether it says that what it was to make is there already


@dataclass(frozen=True, kw_only=True)
class EffectInput:
    """A tool call that has ended.

    Args:
        tool: The tool's name.
        arguments: The arguments as a JSON value, with a person's edit.
        result: The result as a JSON value, as the tool gave it.
        outcome: The outcome of the call.
        claims: The claims in the result.
        changes: The files of the workspace that changed while the call ran.
        is_watched: Whether file changes are seen: without this, an empty `changes` means nothing.
        workspace: The agent's folder; "" where none is known.
        earlier: Earlier calls, the last 50, oldest first.
        arguments_text: The arguments as JSON with sorted keys, their beginning.
        same_content: The row at which a file was last seen to hold just what this call writes; None
            where it wasn't, or held something else since.
        paths: The files that the call is to change, as its arguments name them.
        deletes: Whether the call is to delete these files.
    """

    tool: str
    arguments: Any
    result: Any
    outcome: EventOutcome
    claims: ResultClaims
    changes: tuple[FileEffect, ...] = ()
    is_watched: bool = False
    workspace: str = ""
    earlier: tuple[EarlierCall, ...] = ()
    arguments_text: str = ""
    same_content: int | None = None
    paths: tuple[str, ...] = ()
    deletes: bool = False
    command: str = ""
    subjects: frozenset[str] = field(default_factory=frozenset)

    @property
    def has_failed(self) -> bool:
        """Whether the call reports failure: by an exception, an exit code, or in its own words."""
        claims = self.claims
        return (
            self.outcome is EventOutcome.ERROR
            or bool(claims.exit_code)
            or bool(claims.failed and not self.command)
            or claims.failed_field
        )

    def seen_paths(self) -> tuple[str, ...]:
        """The files that the call is to change and whose changes would be seen."""
        return tuple(path for path in self.paths if is_seen(path, self.workspace))

    def has_changed(self, path: str) -> bool:
        """Whether a file changed, whatever folder its path begins in."""
        return any(is_same_file(path, each.path, each.previous_path) for each in self.changes)


def is_same_file(path: str, *others: str | None) -> bool:
    """Whether two paths may name the same file: one ends with all of the other."""
    named = _normalize(path)
    for other in others:
        if other and (
            named == other or named.endswith(f"/{other}") or f"/{other}".endswith(f"/{named}")
        ):
            return True
    return False


def is_seen(path: str, workspace: str) -> bool:
    """Whether a file's change would be seen: it's in the workspace, and probably not ignored by git."""
    named = _normalize(path)
    if named.startswith(("/", "~")) or re.match(r"[A-Za-z]:\\", path):
        root = workspace.rstrip("/")
        if not root or not named.startswith(f"{root}/"):
            return False
        named = named[len(root) + 1 :]
    return not named.startswith("../") and _IGNORED.search(named) is None


def is_ignored(path: str) -> bool:
    """Whether a path is one that projects tell git to ignore."""
    return _IGNORED.search(path) is not None


def _normalize(path: str) -> str:
    parts = [part for part in path.strip().split("/") if part not in ("", ".")]
    return ("/" if path.strip().startswith("/") else "") + "/".join(parts)


def split_name(name: str) -> list[str]:
    """The words of a tool's name: `writeFile`, `write_file` and `fs.write-file` have the same."""
    return [word.lower() for word in _WORD.findall(name)]


def find_target(tool: str, arguments: Any) -> tuple[tuple[str, ...], bool, str]:
    """Find the files that a call is to change.

    Args:
        tool: The tool's name.
        arguments: The call's arguments, as a JSON value.

    Returns:
        The paths of files, whether the call deletes them, and the command that the call runs ("": no
        command). The files of a command are unknown.
    """
    command = next(
        (
            item if isinstance(item, str) else " ".join(map(str, item))
            for key, item in list_fields(arguments)
            if key in _COMMAND_KEYS and isinstance(item, str | list)
        ),
        "",
    )
    words = split_name(tool)
    is_reading = bool(words) and words[0] in _READING
    deletes = any(word in _DELETING for word in words)
    writes = any(word in _WRITING for word in words)
    if is_reading or not (deletes or writes):
        return (), False, command
    named = [item for key, item in list_fields(arguments) if key in _PATH_KEYS and _is_path(item)]
    texts = [item for _, item in list_fields(arguments) if isinstance(item, str)]
    if isinstance(arguments, str):
        texts.append(arguments)
    for text in texts:
        named += [each.strip() for each in _PATCHED.findall(text) if each != "/dev/null"]
    paths = tuple(dict.fromkeys(named))[:_MAX_PATHS]
    return paths, deletes and not writes, command if not paths else ""


def find_content(arguments: Any) -> str | None:
    """The whole content that a call is to give a file; None where the arguments don't have it."""
    if not isinstance(arguments, Mapping) or "old_str" in arguments or "append" in arguments:
        return None
    for key in _CONTENT_KEYS:
        if isinstance(arguments.get(key), str):
            return str(arguments[key])
    return None


def find_read_path(tool: str, arguments: Any) -> str | None:
    """The one file that a call reads, whole; None where it doesn't, or reads a part."""
    words = split_name(tool)
    if not words or words[0] not in ("read", "view", "cat", "open", "show", "get", "load"):
        return None
    fields = list(list_fields(arguments))
    named = [str(item) for key, item in fields if key in _PATH_KEYS and _is_path(item)]
    return named[0] if len(named) == 1 and len(fields) == 1 else None


def list_fields(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The fields of arguments, those of objects and lists inside of them included."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key).lower(), item
            if depth < 4 and isinstance(item, Mapping | list):
                yield from list_fields(item, depth + 1)
    elif isinstance(value, list):
        for item in value[:200]:
            yield from list_fields(item, depth + 1)


def find_subjects(arguments: Any) -> frozenset[str]:
    """The short texts among a call's arguments, which name its subjects."""
    found = (item for _, item in list_fields(arguments) if isinstance(item, str))
    return frozenset(item for item in found if 3 <= len(item) <= 100 and "\n" not in item)


def _is_path(value: Any) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= 500
        and "\n" not in value
        and not value.endswith("/")
        and "://" not in value
        and not any(mark in value for mark in "*?")
    )
