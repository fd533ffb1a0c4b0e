"""The tools that show one file: lines to the model, a picture to a person."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any, BinaryIO, Final

from msgspec import Meta, Struct

from ...protocol.image_types import MAX_IMAGE_BYTES, SIGNATURE_BYTES, detect_image_type
from ..tool import FileTool, PathArgument, ToolContext, ToolPolicy, ToolResult
from ..tool_results import OUTPUT_PREFIX, measure_json_bytes

#: Lines of a page where the model doesn't say how many.
PAGE_LINES: Final = 2000
#: Bytes of one line that are shown.
MAX_LINE_BYTES: Final = 4000
#: Lines that are counted beyond the page, so that the model knows how many there are.
_MAX_COUNTED_LINES: Final = 1_000_000
# Bytes of a page's JSON that aren't its text.
_RESERVED_BYTES: Final = 1024
#: Bytes that are looked at to tell text from anything else.
_PROBE_BYTES: Final = 8192
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


class ReadFileArgs(Struct):
    """Arguments of `read_file`."""

    path: Annotated[
        str,
        Meta(
            description="Relative to the workspace, parted by `/`; or a long output, as `output:3`."
        ),
    ]
    start: Annotated[int, Meta(ge=1, description="The first line.")] = 1
    lines: Annotated[int, Meta(ge=1, description="How many lines.")] = PAGE_LINES


class ReadFile(FileTool[ReadFileArgs]):
    """Reads lines of a file."""

    name = "read_file"
    description = (
        "Read a text file, or some of its lines. Each line comes with its number and a tab, which "
        "aren't in the file. Of a long file you get a page and where the next begins."
    )
    policy = ToolPolicy(read_only=True)
    arguments = ReadFileArgs

    def run_blocking(self, args: ReadFileArgs, ctx: ToolContext) -> ToolResult:
        """Read them."""
        with _open(args.path, ctx) as file:
            probe = file.read(_PROBE_BYTES)
            if kind := _binary_kind(probe):
                file.seek(0, 2)
                return ToolResult.failure(
                    f"{args.path} is {kind} of {file.tell():,} bytes, which can't be read as text."
                )
            file.seek(0)
            page = _Page(args, max(ctx.output_limit_bytes - _RESERVED_BYTES, _RESERVED_BYTES))
            page.read(file, ctx.cancellation.is_set)
        if args.start > max(page.last, 1):
            return ToolResult.failure(f"{args.path} has only {page.last} lines.")
        return ToolResult.success(page.to_data())


def _open(path: str, ctx: ToolContext) -> BinaryIO:
    if path.startswith(OUTPUT_PREFIX) and ctx.outputs is not None:
        return ctx.outputs.open(path)
    return ctx.workspace.open(path)


def _binary_kind(data: bytes) -> str | None:
    """What a file is that isn't text, in words, by its beginning; None for text."""
    for magic, kind in _MAGIC.items():
        if data.startswith(magic):
            return kind
    return "binary" if b"\0" in data[:_PROBE_BYTES] else None


class _Page:
    """The lines of one answer, as many as there is room for."""

    def __init__(self, args: ReadFileArgs, max_bytes: int) -> None:
        self._args = args
        self._bytes_left = max_bytes
        self._shown: list[str] = []
        self.last = 0  # the number of the last line that was read
        self._next: int | None = None  # where the next page begins
        self._is_complete = False

    def read(self, file: BinaryIO, cancelled: Callable[[], bool]) -> None:
        """Read up to the page's end, and count what follows."""
        stop = self._args.start + self._args.lines
        while not cancelled() and (line := file.readline(MAX_LINE_BYTES + 1)):
            self.last += 1
            cut = len(line) > MAX_LINE_BYTES and not line.endswith(b"\n")
            dropped = _skip_line(file) if cut else 0
            if self.last < self._args.start:
                continue
            if self._next is None and (self.last >= stop or not self._add(line, dropped)):
                self._next = self.last
            if self._next is not None and self.last >= self._next + _MAX_COUNTED_LINES:
                return
        self._is_complete = True

    def _add(self, line: bytes, dropped: int) -> bool:
        text = line.decode("utf-8", "replace").rstrip("\n").removesuffix("\r")
        if dropped:
            text += f" [… {dropped:,} more bytes in this line]"
        text = f"{self.last}\t{text}\n"
        cost = measure_json_bytes(text)
        if self._shown and cost > self._bytes_left:
            return False
        self._bytes_left -= cost
        self._shown.append(text)
        return True

    def to_data(self) -> dict[str, Any]:
        """Convert the page to the model's result."""
        data: dict[str, Any] = {"path": self._args.path, "text": "".join(self._shown)}
        data["lines"] = self.last if self._is_complete else f"more than {self.last}"
        if self._next is not None:
            data["more"] = f"Go on with start={self._next}."
        return data


def _skip_line(file: BinaryIO) -> int:
    """Go to the end of a line; gives how many bytes were left out."""
    dropped = 0
    while piece := file.readline(_PROBE_BYTES):
        dropped += len(piece)
        if piece.endswith(b"\n"):
            break
    return dropped


class ShowImageArgs(Struct):
    """Arguments of `show_image`."""

    path: PathArgument


class ShowImage(FileTool[ShowImageArgs]):
    """Shows a picture of the workspace. It is for front ends that can: see `make_default_tools`."""

    name = "show_image"
    description = (
        "Show the person a picture of the workspace, as a chart that you made: PNG, JPEG, GIF or WebP, "
        "at most 10 MiB. You don't see it yourself."
    )
    policy = ToolPolicy(read_only=True)
    arguments = ShowImageArgs

    def run_blocking(self, args: ShowImageArgs, ctx: ToolContext) -> ToolResult:
        """Check that the picture can be shown. The session's listeners show it."""
        with ctx.workspace.open(args.path) as file:
            probe = file.read(SIGNATURE_BYTES)
            size = file.seek(0, os.SEEK_END)
        kind = detect_image_type(probe)
        if kind is None:
            return ToolResult.failure(
                f"{args.path} doesn't begin as a PNG, JPEG, GIF or WebP does: make it one of these."
            )
        if size > MAX_IMAGE_BYTES:
            return ToolResult.failure(
                f"{args.path} has {size:,} bytes; {MAX_IMAGE_BYTES:,} can be shown: make it smaller."
            )
        return ToolResult.success({"path": args.path, "media_type": kind, "bytes": size})
