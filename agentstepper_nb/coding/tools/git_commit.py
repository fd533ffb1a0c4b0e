"""The tool that commits, by a git that runs none of the repository's programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from ...errors import UnsafePathError, WorkspaceError
from ...sdk.workspace.command import Git, GitError
from ..tool import Risk, ToolContext, ToolPolicy, ToolResult
from .base import FileTool, counted
from .repository import below, repository

#: Files that one commit takes: they are named one by one.
FILE_LIMIT: Final = 2_000
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


class GitCommit(FileTool[GitCommitArgs]):
    """Commits changes of the workspace."""

    name = "git_commit"
    description = (
        "Commit changes of files and folders to the current branch, new and deleted files too. No hooks "
        "run. What is staged elsewhere stays staged. Pushes nothing."
    )
    policy = ToolPolicy(risk=Risk.MEDIUM)
    arguments = GitCommitArgs

    def work(self, args: GitCommitArgs, ctx: ToolContext) -> ToolResult:
        """Commit them."""
        paths = [_below(ctx, path) for path in args.paths]
        try:
            git = repository(ctx.workspace, _CONFIG)
            if git is None:
                return ToolResult.failure("The workspace is in no git repository.")
            changed = _changed(git, paths)
            names = [name for name in changed if not ctx.workspace.is_denied(name)]
            if problem := _problem(git, args, names):
                return ToolResult.failure(problem)
            commit = _commit(git, args.message, names)
        except (GitError, WorkspaceError) as error:
            return ToolResult.failure(str(error))
        data = {"commit": commit, "files": names}
        if left_out := len(changed) - len(names):
            data["left_out"] = f"{counted(left_out)}: a rule denies reading."
        return ToolResult.success(data)


def _below(ctx: ToolContext, path: str) -> str:
    found = below(ctx.workspace, path)
    if found is None:
        raise UnsafePathError(path, "it leads out of the workspace")
    return found


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
    if len(names) > FILE_LIMIT:
        return f"{len(names):,} files have changed; {FILE_LIMIT:,} can be committed: name a folder."
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


def _commit(git: Git, message: str, names: list[str]) -> str:
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
    if git.run("config", "--get", name, allowed=(0, 1)):
        return None
    for path in _users_files():
        options = ("--includes", "--file", str(path), "--get", name)
        if value := git.run("config", *options, allowed=(0, 1)).decode("utf-8", "replace").strip():
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
