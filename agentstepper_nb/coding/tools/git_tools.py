"""The tools that ask git and that commit, by a git that runs no program but itself."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta, Struct

from ...errors import UnsafePathError, WorkspaceError
from ...sdk.workspace.git_command import Git, GitError
from ...sdk.workspace.outer_repository import OuterRepository
from ..tool import (
    ArgsT,
    FileTool,
    PathArgument,
    Risk,
    ToolContext,
    ToolPolicy,
    ToolResult,
    describe_omitted_files,
)
from ..workspace import LocalWorkspace, PathKind
from .diffs import FilePatch, PatchError, parse_patch, split_lines


def open_repository(
    workspace: LocalWorkspace, config: Mapping[str, str] | None = None
) -> Git | None:
    """The git of the repository the workspace lies in; None where it lies in none.

    It runs in the workspace's root. Nothing that the repository brings is run: hooks, filters, file
    system monitors, external diffs, pagers.

    Args:
        workspace: The workspace.
        config: Settings beside the disarming ones.

    Raises:
        WorkspaceError: git is missing or too old.
        GitError: The repository's settings can't be read.
    """
    owner = OuterRepository.find(workspace.root, workspace.git_timeout_s)
    if owner is None:
        return None
    return owner.git().with_config(config or {})


def to_git_path(workspace: LocalWorkspace, path: str) -> str | None:
    """A path as git takes it: from the root, without links. None where it is unsafe."""
    real = workspace.resolve_path(path)
    return None if real is None else os.path.relpath(real, workspace.root)


class UnignoredPaths:
    """The paths below a folder that git doesn't ignore."""

    def __init__(self, listed: bytes) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()  # those that lead to the files
        self._whole: set[str] = set()  # repositories in the repository
        for name in map(os.fsdecode, filter(None, listed.split(b"\0"))):
            (self._whole if name.endswith("/") else self._files).add(name.rstrip("/"))
            self._folders.update(map(str, Path(name).parents))

    def has(self, path: str) -> bool:
        """Whether it has a path, or may have what lies below it."""
        if path in self._files or path in self._folders or path in self._whole:
            return True
        # A submodule is listed as if it were a file.
        return any(
            folder in self._whole or folder in self._files
            for folder in map(str, Path(path).parents)
        )


def find_unignored(workspace: LocalWorkspace, path: str) -> UnignoredPaths | None:
    """List the paths below a folder that git doesn't ignore; None: there is no repository.

    Raises:
        WorkspaceError: git is missing or too old.
        GitError: git fails.
    """
    git = open_repository(workspace)
    folder = to_git_path(workspace, path)
    if git is None or folder is None:
        return None
    options = ("--cached", "--others", "--exclude-standard")
    return UnignoredPaths(git.run("ls-files", "-z", *options, "--", folder))


_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_CONTENT: Final = "\n@@ "
#: All that a submodule's hunk says: two of its commits.
_SUBMODULE = re.compile(r"@@ [^\n]*((\n[-+]Subproject commit [0-9a-f]+(-dirty)?)+)\n?\Z")


def limit_diff_to_workspace(diff: str, workspace: LocalWorkspace) -> str:
    """Limit a diff to files whose added and context lines are in the workspace's file.

    Args:
        diff: A diff of git, with paths relative to the workspace's root.
        workspace: The workspace.

    Returns:
        The diff, with a note in place of each other file.
    """
    return "".join(
        section
        if _is_inside(section, workspace)
        else f"{_named(section)}: changed while it was read.\n"
        for section in _FILE.split(diff)
    )


def _is_inside(section: str, workspace: LocalWorkspace) -> bool:
    _, starts, content = section.partition(_CONTENT)
    if not starts or _SUBMODULE.match(_CONTENT.lstrip() + content):
        return True  # says names, modes, commits, or that something is binary
    try:
        patches = parse_patch(section)
    except PatchError:
        return False
    return all(_is_in_workspace(patch, workspace) for patch in patches)


def _is_in_workspace(patch: FilePatch, workspace: LocalWorkspace) -> bool:
    """Whether what a patch says there is, is there."""
    if patch.new is None:
        return True
    try:
        if workspace.kind(patch.new) is PathKind.LINK:  # of which git says where it leads
            return True
        text = workspace.read_bytes(patch.new).decode("utf-8", "replace")
    except OSError:
        return False
    there = list(_bare(split_lines(text)))
    return all(_has(there, list(_bare(hunk.new))) for hunk in patch.hunks)


def _bare(text: list[str]) -> Iterator[str]:
    """Lines without their ends: git may have made others of them."""
    return (line.rstrip("\r\n") for line in text)


def _has(text: list[str], some: list[str]) -> bool:
    if not some:
        return True
    starts = (at for at, line in enumerate(text) if line == some[0])
    return any(text[at : at + len(some)] == some for at in starts)


def _named(section: str) -> str:
    return section.partition("\n")[0].removeprefix("diff --git ")


#: Bytes of git's answer that are read.
MAX_OUTPUT_BYTES: Final = 4 * 1024 * 1024
#: Asks for the paths alone, of a renamed file both.
_NAMES: Final = ("--name-only", "--no-renames", "-z")


class _GitTool(FileTool[ArgsT]):
    """The base of tools that ask git of the workspace's repository.

    Args:
        max_output_bytes: Bytes of git's answer that are read.
    """

    config: ClassVar[Mapping[str, str]] = {}  # settings beside the disarming ones

    def __init__(self, max_output_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._max_output_bytes = max_output_bytes

    def run_blocking(self, args: ArgsT, ctx: ToolContext) -> ToolResult:
        """Run git. git's error message becomes the result of a failure."""
        try:
            git = open_repository(ctx.workspace, self.config)
            if git is None:
                return ToolResult.failure("The workspace is in no git repository.")
            return self.run_git(git, args, ctx)
        except (GitError, WorkspaceError) as error:
            return ToolResult.failure(str(error))

    @abstractmethod
    def run_git(self, git: Git, args: ArgsT, ctx: ToolContext) -> ToolResult:
        """Run the tool with valid arguments."""

    def _read(self, git: Git, command: Sequence[str]) -> dict[str, Any]:
        """What git says, up to the limit."""
        name, limit = command[0], self._max_output_bytes
        out = git.read(*command, size_bytes=limit + 1)
        more = {"more": "Ask for one path."} if len(out) > limit else {}
        return {name: out[:limit].decode("utf-8", "replace"), **more}


def _inside(ctx: ToolContext, path: str) -> str:
    found = to_git_path(ctx.workspace, path)
    if found is None:
        raise UnsafePathError(path, "it leads out of the workspace")
    return found


class GitStatusArgs(Struct):
    """Arguments of `git_status`."""


class GitStatus(_GitTool[GitStatusArgs]):
    """Says what isn't committed."""

    name = "git_status"
    description = (
        "The branch and the files that aren't as last committed, as `git status --short --branch`."
    )
    policy = ToolPolicy(read_only=True)
    arguments = GitStatusArgs

    def run_git(self, git: Git, args: GitStatusArgs, ctx: ToolContext) -> ToolResult:
        """Ask for the status."""
        options = ("--short", "--branch", "--untracked-files=normal")
        return ToolResult.success(self._read(git, ["status", *options, "--", "."]))


class GitDiffArgs(Struct):
    """Arguments of `git_diff`."""

    path: PathArgument = "."
    staged: Annotated[bool, Meta(description="What is staged, and not what isn't.")] = False
    base: Annotated[
        str | None, Meta(description="The commit to compare with, as `HEAD~1` or a branch.")
    ] = None


class GitDiff(_GitTool[GitDiffArgs]):
    """Says how files differ from what is committed or staged."""

    name = "git_diff"
    description = (
        "How tracked files differ from what is staged, or from a commit, as `git diff`. Files that git "
        "doesn't track aren't in it."
    )
    policy = ToolPolicy(read_only=True)
    arguments = GitDiffArgs

    def run_git(self, git: Git, args: GitDiffArgs, ctx: ToolContext) -> ToolResult:
        """Ask for the diff, of those files alone that may be read."""
        path = _inside(ctx, args.path)
        options = ["--relative", *(["--cached"] if args.staged else [])]
        base = [] if args.base is None else [_commit(git, args.base)]
        if "" in base:
            return ToolResult.failure(f"There is no commit {args.base!r}.")
        named = self._read(git, ["diff", *options, *_NAMES, *base, "--", path])
        if "more" in named:
            return ToolResult.failure("Too many files: ask for one path.")
        names = named["diff"].split("\0")[:-1]
        readable = [name for name in names if not ctx.workspace.is_denied(name)]
        paths = [path] if len(readable) == len(names) else readable
        data: dict[str, Any] = {"diff": ""}
        if paths:  # without any git would take all
            data = self._read(git, ["diff", *options, *base, "--", *paths])
            if not args.staged:
                data["diff"] = limit_diff_to_workspace(data["diff"], ctx.workspace)
        return ToolResult.success(data | describe_omitted_files(len(names) - len(readable)))


def _commit(git: Git, name: str) -> str:
    """A commit's hash; empty where there is none."""
    if "\0" in name:
        return ""
    options = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return git.run("rev-parse", *options, allowed_statuses=(0, 1, 128)).decode().strip()


#: Files that one commit takes: they are named one by one.
MAX_FILES: Final = 2_000
#: Names that mean `.git` on some other system are refused; no key signs.
_CONFIG: Final = {"core.protectHFS": "true", "core.protectNTFS": "true", "commit.gpgSign": "false"}
_IDENTITY: Final = ("user.name", "user.email")


class GitCommitArgs(Struct):
    """Arguments of `git_commit`."""

    message: Annotated[str, Meta(min_length=1, max_length=20_000, description="What was done.")]
    paths: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=1000,
            description="The files and folders whose changes are committed; `.` is all.",
        ),
    ]


class GitCommit(_GitTool[GitCommitArgs]):
    """Commits changes of the workspace."""

    name = "git_commit"
    description = (
        "Commit changes of files and folders to the current branch, new and deleted files too. No hooks "
        "run. What is staged elsewhere stays staged. Pushes nothing."
    )
    policy = ToolPolicy(risk=Risk.MEDIUM)
    arguments = GitCommitArgs
    config = _CONFIG

    def run_git(self, git: Git, args: GitCommitArgs, ctx: ToolContext) -> ToolResult:
        """Commit them, but for those that may not be read."""
        changed = _changed(git, [_inside(ctx, path) for path in args.paths])
        names = [name for name in changed if not ctx.workspace.is_denied(name)]
        if problem := _problem(git, args, names):
            return ToolResult.failure(problem)
        data = {"commit": _make_commit(git, args.message, names), "files": names}
        return ToolResult.success(data | describe_omitted_files(len(changed) - len(names)))


def _changed(git: Git, paths: list[str]) -> list[str]:
    """What isn't as last committed, from the workspace's root."""
    options = ("--porcelain", "-z", "--no-renames", "--untracked-files=all")
    top = git.run("rev-parse", "--show-prefix").decode(errors="surrogateescape").strip("\n")
    status = git.run("status", *options, "--", *paths).split(b"\0")
    return [os.fsdecode(line[3:]).removeprefix(top) for line in status if line]


def _problem(git: Git, args: GitCommitArgs, names: list[str]) -> str | None:
    """Why this can't be committed, and what to do about it."""
    if not names:
        return f"Nothing to commit in {', '.join(args.paths)}: git_status says what has changed."
    if len(names) > MAX_FILES:
        return f"{len(names):,} files have changed; {MAX_FILES:,} can be committed: name a folder."
    if any(not _is_text(name) for name in names):
        return "A file's name is no UTF-8: the person has to commit it."
    filtered = git.run("check-attr", "-z", "filter", "--", *names).decode().split("\0")
    for name, value in zip(filtered[::3], filtered[2::3], strict=False):
        if value not in ("unspecified", "unset"):
            return f"{name} goes through git's filter {value!r}, a program: the person has to commit it."
    return None


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _make_commit(git: Git, message: str, names: list[str]) -> str:
    """Commit files as they are; gives the commit's short hash."""
    identity = {name: value for name in _IDENTITY if (value := _missing(git, name))}
    git = git.with_config(identity)
    git.run("add", "--all", "--", *names)
    options = ("--quiet", "--no-verify", "--no-gpg-sign", "--only", "--cleanup=whitespace")
    git.run("commit", *options, "--file=-", "--", *names, stdin=message.encode())
    return git.run("rev-parse", "--short", "HEAD").decode().strip()


def _missing(git: Git, name: str) -> str | None:
    """A setting of the user's that the repository doesn't have itself: our git reads none of theirs.

    Raises:
        WorkspaceError: The user hasn't it either.
    """
    if git.run("config", "--get", name, allowed_statuses=(0, 1)):
        return None
    for path in _users_files():
        options = ("--includes", "--file", str(path), "--get", name)
        if (
            value := git.run("config", *options, allowed_statuses=(0, 1))
            .decode("utf-8", "replace")
            .strip()
        ):
            return value
    raise WorkspaceError(
        f"git doesn't know who commits: {name} isn't set. The person sets it by "
        f"`git config --global {name} …`."
    )


def _users_files() -> list[Path]:
    """The user's settings, as git looks for them; the last that has a setting wins."""
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    if named:
        return [Path(named)]
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [each for each in (home / ".gitconfig", config / "git" / "config") if each.is_file()]
