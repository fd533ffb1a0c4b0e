"""The tool that shows a person a picture."""

from __future__ import annotations

import os

from msgspec import Struct

from ...protocol.pictures import BEGINNING, PICTURE_LIMIT, sniff
from ..tool import ToolContext, ToolPolicy, ToolResult
from .base import FileTool, Path


class ShowImageArgs(Struct):
    """Arguments of `show_image`."""

    path: Path


class ShowImage(FileTool[ShowImageArgs]):
    """Shows a picture of the workspace. It is for front ends that can: see `default_tools`."""

    name = "show_image"
    description = (
        "Show the person a picture of the workspace, as a chart that you made: PNG, JPEG, GIF or WebP, "
        "at most 10 MiB. You don't see it yourself."
    )
    policy = ToolPolicy(read_only=True)
    arguments = ShowImageArgs

    def work(self, args: ShowImageArgs, ctx: ToolContext) -> ToolResult:
        """Look whether it can be shown; who listens to the session shows it."""
        with ctx.workspace.open(args.path) as file:
            probe = file.read(BEGINNING)
            size = file.seek(0, os.SEEK_END)
        kind = sniff(probe)
        if kind is None:
            return ToolResult.failure(
                f"{args.path} doesn't begin as a PNG, JPEG, GIF or WebP does: make it one of these."
            )
        if size > PICTURE_LIMIT:
            return ToolResult.failure(
                f"{args.path} has {size:,} bytes; {PICTURE_LIMIT:,} can be shown: make it smaller."
            )
        return ToolResult.success({"path": args.path, "media_type": kind, "bytes": size})
