"""What the tools on files share."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import Annotated, Final, TypeVar

from msgspec import Meta, Struct

from ..tool import StructTool, ToolContext, ToolResult

A = TypeVar("A", bound=Struct)

#: A path as arguments have it.
Path = Annotated[str, Meta(description="Relative to the workspace, parted by `/`.")]
#: Bytes that are looked at to tell text from anything else.
PROBE: Final = 8192

_MAGIC: Final = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "gzip data",
    b"\x7fELF": "a program",
    b"SQLite format 3": "an SQLite database",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


class FileTool(StructTool[A]):
    """The base of tools that read and write files: they work on a thread, and no event loop waits."""

    async def run(self, args: A, ctx: ToolContext) -> ToolResult:
        """Work on a thread. Cancelled, it goes on there to its end: nothing is left half done."""
        return await asyncio.to_thread(self.work, args, ctx)

    @abstractmethod
    def work(self, args: A, ctx: ToolContext) -> ToolResult:
        """What the tool does with arguments that fit."""


def binary_kind(data: bytes) -> str | None:
    """What a file is that isn't text, in words; None for text.

    Args:
        data: Its beginning.
    """
    for magic, kind in _MAGIC.items():
        if data.startswith(magic):
            return kind
    return "binary" if b"\0" in data[:PROBE] else None


def shown(name: str) -> str:
    """A name as JSON can carry it: those of the disk may be no UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def counted(files: int) -> str:
    """How many files, in words."""
    return "1 file" if files == 1 else f"{files:,} files"
