"""Finds the files of a workspace that `deny` rules name, by any of the files' names.

A `deny` rule with a path denies an access, not a tool: a rule on `read_file` applies to commands and to
all tools that read, a rule on `write_file` to all tools that write. A rule applies to the file that a
path leads to: symbolic links are resolved, and all hard links of a file are the same file.
"""

from __future__ import annotations

import os
import posixpath
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...errors import PolicyRulesError
from .policy_rules_file import PolicyRulesFile
from .rules import RUN_COMMAND, PolicyRule, find_paths, is_for_workspace

#: The tools that show a file's content, and the tools that change a file and show the change.
READING_TOOLS: Final = ("read_file", "search", "git_diff", "show_image")
WRITING_TOOLS: Final = ("edit_file", "write_file", "apply_patch")
#: The most files and folders of a workspace that are scanned for rules.
ENTRY_LIMIT: Final = 300_000
#: The most files that a sandbox hides or makes read-only.
FILE_LIMIT: Final = 2_000
#: Seconds until an index of files is rebuilt. A search opens thousands of files.
_INDEX_TTL_S: Final = 1.0

PathParts = tuple[str, ...]  # of a path, from the workspace's root, without links and `..`
_Id = tuple[int, int]  # device and inode


class DeniedFiles(NamedTuple):
    """The files of a workspace that `deny` rules protect from commands; see `SandboxAccess`.

    Args:
        unreadable: The files that commands may not read.
        read_only: The files that commands may read but not write.
    """

    unreadable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()


def find_denied_files(
    rules: PolicyRulesFile,
    root: Path,
    max_entries: int = ENTRY_LIMIT,
    max_files: int = FILE_LIMIT,
) -> DeniedFiles:
    """Find the files that `deny` rules protect from commands. Scans the workspace once.

    Args:
        rules: The file of policy rules.
        root: The workspace's folder, with symbolic links resolved.
        max_entries: The most files and folders of the workspace that are scanned.
        max_files: The most files that a sandbox hides or makes read-only.

    Raises:
        PolicyRulesError: The rules can't be read, or the workspace or the result has too many files.
    """
    denials = FileDenials(rules, root, max_entries, max_files)
    hidden, kept = denials.list_files(for_reading=True), denials.list_files(for_reading=False)
    return DeniedFiles(hidden, tuple(path for path in kept if path not in set(hidden)))


class FileDenials:
    """Finds the `deny` rules of a workspace's files. Thread-safe.

    Args:
        rules: The file of policy rules. Changes of the file apply at once.
        root: The workspace's folder, with symbolic links resolved.
        max_entries: The most files and folders of the workspace that are scanned.
        max_files: The most files that `list_files` returns.
    """

    def __init__(
        self,
        rules: PolicyRulesFile,
        root: Path,
        max_entries: int = ENTRY_LIMIT,
        max_files: int = FILE_LIMIT,
    ) -> None:
        self._max_entries, self._max_files = max_entries, max_files
        self._rules = rules
        self._root = root
        self._should_fold_case = is_case_insensitive(root)
        self._lock = threading.Lock()
        self._cached_rules: tuple[object, tuple[PolicyRule, ...]] = (None, ())
        self._index: tuple[object, float, _Index] | None = None

    def has_rules(self) -> bool:
        """Whether any rule denies access to files in this workspace.

        Raises:
            PolicyRulesError: The rules can't be read.
        """
        return bool(self._read_path_rules())

    def find_rule_for_call(
        self, tool: str, args: Any, resolved: Iterable[Path]
    ) -> PolicyRule | None:
        """Return the rule that denies a call because of a path in its arguments; None: no rule does.

        Args:
            tool: The tool's name.
            args: The call's decoded arguments.
            resolved: The paths to which the paths of the arguments lead.

        Raises:
            PolicyRulesError: The rules can't be read, or the workspace has too many files.
        """
        rules = [rule for rule in self._read_path_rules() if _is_about(rule, tool)]
        if not rules:
            return None
        named = [_split(path) for path in find_paths(args)]
        real = [path.relative_to(self._root).parts for path in resolved]
        for names in (*named, *real):
            for rule in rules:
                if self._matches(rule, names):
                    return rule
        rule_ids = {rule.id for rule in rules}
        ids = [found for names in real if (found := _id(self._root.joinpath(*names)))]
        hits = (self._get_index().find_rules(found) for found in ids)
        return next((rule for hit in hits for rule in hit if rule.id in rule_ids), None)

    def find_rule_for_file(
        self, names: PathParts, stat_result: os.stat_result | None, tool: str
    ) -> PolicyRule | None:
        """Return the rule that denies a file to a tool; None: no rule does.

        Args:
            names: The parts of the file's path, relative to the workspace.
            stat_result: The file's status; None: the file doesn't exist.
            tool: One of `READING_TOOLS` or `WRITING_TOOLS`.

        Raises:
            PolicyRulesError: As for `find_rule_for_call`.
        """
        rules = [rule for rule in self._read_path_rules() if _is_about(rule, tool)]
        for rule in rules:
            if self._matches(rule, names):
                return rule
        if not rules or stat_result is None:
            return None
        rule_ids = {rule.id for rule in rules}
        hits = self._get_index().find_rules((stat_result.st_dev, stat_result.st_ino))
        return next((rule for rule in hits if rule.id in rule_ids), None)

    def list_files(self, *, for_reading: bool) -> tuple[Path, ...]:
        """List all names of the files that rules protect.

        Args:
            for_reading: True: files that may not be read. False: files that may not be changed.

        Raises:
            PolicyRulesError: As for `find_rule_for_call`, or rules name more than `max_files` files.
        """
        applies = _denies_reading if for_reading else _denies_writing
        rules = {rule.id for rule in self._read_path_rules() if applies(rule)}
        found = self._get_index().paths(rules) if rules else []
        if len(found) > self._max_files:
            raise PolicyRulesError(
                f"Deny rules name {len(found):,} files in {self._root}, but only "
                f"{self._max_files:,} can be hidden from commands. Write rules that name fewer "
                "files: `agentstepper policy list` lists the rules."
            )
        return tuple(self._root / path for path in found)

    def _read_path_rules(self) -> tuple[PolicyRule, ...]:
        """Return the rules of this workspace's files. Reads the rules again if they have changed."""
        with self._lock:
            signature = _signature(self._rules.path)
            if signature is None or self._cached_rules[0] != signature:
                rules = (each for each in self._rules.rules() if is_for_workspace(each, self._root))
                kept = tuple(each for each in rules if _names_files(each))
                self._cached_rules, self._index = (signature, kept), None
            return self._cached_rules[1]

    def _get_index(self) -> _Index:
        rules = self._read_path_rules()
        with self._lock:
            signature, now = self._cached_rules[0], time.monotonic()
            if self._index is not None:
                of, made, index = self._index
                if of == signature and now - made < _INDEX_TTL_S:
                    return index
            index = _Index(self._root, rules, self._should_fold_case, self._max_entries)
            self._index = (signature, time.monotonic(), index)
            return index

    def _matches(self, rule: PolicyRule, names: PathParts) -> bool:
        return matches_pattern(rule.path or "", names, self._root, self._should_fold_case)


def matches_pattern(pattern: str, names: Sequence[str], root: Path, should_fold_case: bool) -> bool:
    """Whether a rule's pattern matches a file, or a folder above the file.

    Args:
        pattern: The rule's path, relative to the workspace or absolute; `*` matches any text.
        names: The parts of the file's path, relative to the workspace.
        root: The workspace's folder.
        should_fold_case: Whether the file system is case-insensitive.
    """
    pattern = posixpath.normpath(pattern)
    path = "/".join(names)
    if pattern.startswith("/"):
        path = f"{root}/{path}"
    if should_fold_case:
        pattern, path = pattern.casefold(), path.casefold()
    patterns = {pattern, pattern.removeprefix("**/")}
    return any(fnmatchcase(path, each) or fnmatchcase(path, f"{each}/*") for each in patterns)


def is_case_insensitive(root: Path) -> bool:
    """Whether a folder's file system is case-insensitive."""
    swapped = root.with_name(root.name.swapcase())
    try:
        return swapped != root and root.samefile(swapped)
    except OSError:
        return False


class _Entry(NamedTuple):
    names: PathParts
    status: os.stat_result


class _Index:
    """The files that rules name, by device and inode."""

    def __init__(
        self, root: Path, rules: Sequence[PolicyRule], should_fold_case: bool, max_entries: int
    ) -> None:
        self._root = root
        self._rules = rules
        self._should_fold_case = should_fold_case
        self._named: dict[_Id, dict[str, PolicyRule]] = {}
        self._names: dict[_Id, list[str]] = {}
        self._build(list(_entries(root, max_entries)))

    def find_rules(self, id: _Id) -> Iterable[PolicyRule]:
        """Return the rules that name a file."""
        return self._named.get(id, {}).values()

    def paths(self, rules: set[str]) -> list[str]:
        """List all names of the files that any of these rules names, relative to the workspace."""
        found = (
            self._names.get(id, []) for id, named in self._named.items() if rules & named.keys()
        )
        return sorted(path for some in found for path in some)

    def _build(self, entries: Sequence[_Entry]) -> None:
        behind: list[tuple[PolicyRule, PathParts]] = []  # what links lead to that rules name
        for entry in entries:
            for rule in self._rules:
                if matches_pattern(
                    rule.path or "", entry.names, self._root, self._should_fold_case
                ):
                    behind += [(rule, target) for target in self._add_named_entry(entry, rule)]
        for entry in entries:
            for rule, target in behind:
                if entry.names[: len(target)] == target:
                    self._add_named_entry(entry, rule)
        self._note_names(entries)

    def _note_names(self, entries: Iterable[_Entry]) -> None:
        """Index all names of the files that rules name."""
        for entry in entries:
            id = (entry.status.st_dev, entry.status.st_ino)
            if id in self._named and not stat.S_ISLNK(entry.status.st_mode):
                self._names.setdefault(id, []).append("/".join(entry.names))

    def _add_named_entry(self, entry: _Entry, rule: PolicyRule) -> tuple[PathParts, ...]:
        """Index an entry that a rule names. Returns the target of a link inside of the workspace."""
        if not stat.S_ISLNK(entry.status.st_mode):
            id = (entry.status.st_dev, entry.status.st_ino)
            self._named.setdefault(id, {})[rule.id] = rule
            return ()
        real = os.path.realpath(self._root.joinpath(*entry.names))
        inside = real.startswith(f"{self._root}/")
        return (Path(real).relative_to(self._root).parts,) if inside else ()


def _entries(root: Path, max_entries: int) -> Iterator[_Entry]:
    """Iterate over the files and links of a workspace. Unreadable folders are skipped.

    Raises:
        PolicyRulesError: There are more than `max_entries`.
    """
    todo: list[PathParts] = [()]
    seen = 0
    while todo:
        folder = todo.pop()
        try:
            with os.scandir(root.joinpath(*folder)) as entries:
                listed = list(entries)
        except OSError:
            continue
        seen += len(listed)
        if seen > max_entries:
            raise PolicyRulesError(
                f"{root} has more than {max_entries:,} files and folders, too many to look "
                "for the files of deny rules. Work in a folder below, or remove the rules "
                "with a path: `agentstepper policy list`."
            )
        for each in listed:
            names = (*folder, each.name)
            if each.is_dir(follow_symlinks=False):
                todo.append(names)
            else:
                try:
                    yield _Entry(names, each.stat(follow_symlinks=False))
                except OSError:  # gone since
                    continue


def _is_about(rule: PolicyRule, tool: str) -> bool:
    """Whether a rule applies to a tool, by the tool's name or by its kind of access."""
    if fnmatchcase(tool, rule.tool):
        return True
    if tool in WRITING_TOOLS:  # their diffs show what a file held
        return _denies_writing(rule) or _denies_reading(rule)
    return tool in READING_TOOLS and _denies_reading(rule)


def _names_files(rule: PolicyRule) -> bool:
    return rule.effect == "deny" and rule.path is not None and rule.command is None


def _denies_reading(rule: PolicyRule) -> bool:
    return any(fnmatchcase(tool, rule.tool) for tool in (*READING_TOOLS, RUN_COMMAND))


def _denies_writing(rule: PolicyRule) -> bool:
    return any(fnmatchcase(tool, rule.tool) for tool in WRITING_TOOLS)


def _split(path: str) -> PathParts:
    return tuple(name for name in posixpath.normpath(path).split("/") if name)


def _id(path: Path) -> _Id | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino)


def _signature(path: Path) -> object:
    """Return a value that changes when a file changes; None: the file can't be examined."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
