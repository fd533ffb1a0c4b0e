"""The tool that applies a patch."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ..paths import split
from ..tool import Risk, ToolContext, ToolPolicy, ToolResult
from .base import FileTool
from .patches import FilePatch, PatchError, parse
from .patching import Change, carry_out, plan
from .write_file import changed, cut_diff


class ApplyPatchArgs(Struct):
    """Arguments of `apply_patch`."""

    patch: Annotated[str, Meta(description="Unified diffs, of one file or several.")]


class ApplyPatch(FileTool[ApplyPatchArgs]):
    """Applies a unified diff."""

    name = "apply_patch"
    description = (
        "Apply a patch: unified diffs of one file or several, as `git diff` writes them. "
        "`--- /dev/null` creates a file, `+++ /dev/null` deletes one, `rename from` and `rename to` "
        "rename one. All of it is applied or nothing. Lines of context must stand there exactly. Gives "
        "the changes as a diff."
    )
    policy = ToolPolicy(risk=Risk.MEDIUM)
    arguments = ApplyPatchArgs

    def work(self, args: ApplyPatchArgs, ctx: ToolContext) -> ToolResult:
        """Apply it."""
        try:
            patches = parse(args.patch)
            changes = plan(ctx.workspace, patches)
        except PatchError as error:
            return ToolResult.failure(f"Nothing was changed. {error}")
        carry_out(ctx.workspace, changes)
        files = [_told(patch) for patch in patches]
        return ToolResult.success({"files": files, "diff": _diff(patches, changes)})


def _diff(patches: list[FilePatch], changes: list[Change]) -> str:
    """What the patch changed, file by file, as the other tools that write show it."""
    made = {change.path: change for change in changes}
    pairs = dict.fromkeys((_name(patch.old), _name(patch.new)) for patch in patches)
    diffs: list[str] = []
    for before, after in pairs:
        old, new = made.get(before or ""), made.get(after or "")
        if old is not None or new is not None:
            held, holds = old.old if old else None, new.new if new else None
            diffs.append(changed(after or before or "", held, holds)["diff"])
    return cut_diff("".join(diffs))


def _name(path: str | None) -> str | None:
    return None if path is None else "/".join(split(path))


def _told(patch: FilePatch) -> dict[str, str | None]:
    if patch.new is None:
        return {"path": patch.old, "done": "deleted"}
    if patch.old is None:
        return {"path": patch.new, "done": "created"}
    renamed = patch.old != patch.new
    return {"path": patch.new, "done": f"renamed from {patch.old}" if renamed else "changed"}
