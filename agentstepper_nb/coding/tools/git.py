"""The tools that ask git, and what they leave out of its answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from ...errors import UnsafePathError, WorkspaceError
from ...sdk.workspace.command import Git, GitError
from ..tool import ToolContext, ToolPolicy, ToolResult
from ..workspace import Kind, Workspace
from .base import FileTool, Path, counted
from .diffs import lines
from .patches import FilePatch, PatchError, parse
from .repository import below, repository

_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_CONTENT: Final = "\n@@ "
#: All that a submodule's hunk says: two of its commits.
_SUBMODULE = re.compile(r"@@ [^\n]*((\n[-+]Subproject commit [0-9a-f]+(-dirty)?)+)\n?\Z")


def only_inside(diff: str, workspace: Workspace) -> str:
    """A diff in which every line that was put in, or is around it, stands in the workspace's file.

    Args:
        diff: Of git, with paths relative to the workspace's root.
        workspace: Where the files are.

    Returns:
        The diff, with a note in place of a file whose lines don't.
    """
    return "".join(
        section
        if _is_inside(section, workspace)
        else f"{_named(section)}: changed while it was read.\n"
        for section in _FILE.split(diff)
    )


def _is_inside(section: str, workspace: Workspace) -> bool:
    _, starts, content = section.partition(_CONTENT)
    if not starts or _SUBMODULE.match(_CONTENT.lstrip() + content):
        return True  # says names, modes, commits, or that something is binary
    try:
        patches = parse(section)
    except PatchError:
        return False
    return all(_stands(patch, workspace) for patch in patches)


def _stands(patch: FilePatch, workspace: Workspace) -> bool:
    """Whether what a patch says there is, is there."""
    if patch.new is None:
        return True
    try:
        if workspace.kind(patch.new) is Kind.LINK:  # of which git says where it leads
            return True
        text = workspace.read_bytes(patch.new).decode("utf-8", "replace")
    except OSError:
        return False
    there = list(_bare(lines(text)))
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
LIMIT: Final = 4 * 1024 * 1024
#: Asks for the paths alone, of a renamed file both.
_NAMES: Final = ("--name-only", "--no-renames", "-z")


class GitStatusArgs(Struct):
    """Arguments of `git_status`."""


class GitStatus(FileTool[GitStatusArgs]):
    """Says what isn't committed."""

    name = "git_status"
    description = (
        "The branch and the files that aren't as last committed, as `git status --short --branch`."
    )
    policy = ToolPolicy(read_only=True)
    arguments = GitStatusArgs

    def work(self, args: GitStatusArgs, ctx: ToolContext) -> ToolResult:
        """Ask git."""
        options = ("--short", "--branch", "--untracked-files=normal")
        return _asked(ctx, ["status", *options, "--", "."])


class GitDiffArgs(Struct):
    """Arguments of `git_diff`."""

    path: Path = "."
    staged: Annotated[bool, Meta(description="What is staged, and not what isn't.")] = False
    base: Annotated[
        str | None, Meta(description="The commit to compare with, as `HEAD~1` or a branch.")
    ] = None


class GitDiff(FileTool[GitDiffArgs]):
    """Says how files differ from what is committed or staged."""

    name = "git_diff"
    description = (
        "How tracked files differ from what is staged, or from a commit, as `git diff`. Files that git "
        "doesn't track aren't in it."
    )
    policy = ToolPolicy(read_only=True)
    arguments = GitDiffArgs

    def work(self, args: GitDiffArgs, ctx: ToolContext) -> ToolResult:
        """Ask git."""
        path = below(ctx.workspace, args.path)
        if path is None:
            raise UnsafePathError(args.path, "it leads out of the workspace")
        options = ["--relative", *(["--cached"] if args.staged else [])]
        named = _asked(ctx, ["diff", *options, *_NAMES, "--", path], args.base)
        if not named.ok or "more" in named.data:
            return (
                named if not named.ok else ToolResult.failure("Too many files: ask for one path.")
            )
        names = named.data["diff"].split("\0")[:-1]
        readable = [name for name in names if not ctx.workspace.is_denied(name)]
        if len(readable) == len(names):
            return _diff(ctx, args, options, [path])
        result = _diff(ctx, args, options, readable)
        if result.ok:
            result.data["left_out"] = (
                f"{counted(len(names) - len(readable))}: a rule denies reading."
            )
        return result


def _diff(ctx: ToolContext, args: GitDiffArgs, options: list[str], paths: list[str]) -> ToolResult:
    """The diff of these paths; of none it is empty, where git would take all."""
    if not paths:
        return ToolResult.success({"diff": ""})
    result = _asked(ctx, ["diff", *options, "--", *paths], args.base)
    if result.ok and not args.staged:
        result.data["diff"] = only_inside(result.data["diff"], ctx.workspace)
    return result


def _asked(ctx: ToolContext, command: Sequence[str], base: str | None = None) -> ToolResult:
    """Ask git, as one field of the result."""
    try:
        git = repository(ctx.workspace)
        if git is None:
            return ToolResult.failure("The workspace is in no git repository.")
        if base is not None:
            commit = _commit(git, base)
            if commit is None:
                return ToolResult.failure(f"There is no commit {base!r}.")
            at = command.index("--")
            command = [*command[:at], commit, *command[at:]]
        return ToolResult.success(_answer(git, command))
    except (GitError, WorkspaceError) as error:
        return ToolResult.failure(str(error))


def _commit(git: Git, name: str) -> str | None:
    """A commit's hash; None where there is none."""
    if "\0" in name:
        return None
    options = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = git.run("rev-parse", *options, allowed=(0, 1, 128)).decode().strip()
    return found or None


def _answer(git: Git, command: Sequence[str]) -> dict[str, Any]:
    """What git says, up to the limit."""
    name = command[0]
    out = git.read(*command, size_bytes=LIMIT + 1)
    if len(out) > LIMIT:
        return {name: out[:LIMIT].decode("utf-8", "replace"), "more": "Ask for one path."}
    return {name: out.decode("utf-8", "replace")}
