"""A diff of git's, without what git may have read outside.

git reads files by their paths. Where a folder becomes a link in the middle of that, it reads what is
behind the link. So what a diff says of a file is held against the file as the workspace reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..workspace import Kind, Workspace
from .diffs import lines
from .patches import FilePatch, PatchError, parse

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
