"""Pack a `.run` file, base64(zlib(JSON)), and unpack it within limits."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from typing import Final

from ...errors import ProtocolError
from ..json_limits import CHUNK_BYTES, CheckCancelled, JsonLimits, JsonScanner

_WHAT: Final = "The .run file"
#: Values of contents stand deeper, as `events`, event, `breakpoints`, breakpoint, content.
_CONTENTS_DEPTH: Final = 5
_DEPTH: Final = 500
_MARKS: Final = 4_000_000
#: The begin of a JSON document, which no base64 text matches.
_JSON: Final = re.compile(rb"\s*+\{")


def pack_runfile(text: bytes) -> bytes:
    """Pack a document's text."""
    return base64.b64encode(zlib.compress(text))


def make_corrupt_error(reason: str) -> ProtocolError:
    """The error of a file that is no run's.

    Args:
        reason: What is wrong; it may quote the file.
    """
    return ProtocolError("corrupt_import", f"{reason[:500]}: export it again.")


def unpack_runfile(data: bytes, limit: int, check: CheckCancelled) -> tuple[bytearray, JsonScanner]:
    """Unpack a file whose text keeps its bounds; nothing of another is kept.

    Args:
        data: The file: base64(zlib(JSON)), base64(JSON), as the original once wrote it, or the JSON
            itself.
        limit: The most bytes of JSON.
        check: Called between two steps.

    Returns:
        The text, and what was counted in it.

    Raises:
        ProtocolError: `corrupt_import`, or `too_large`.
    """
    packed = None if _JSON.match(data) else _from_base64(data)
    if packed is not None and _JSON.match(packed):
        data, packed = packed, None
    scan = JsonScanner(JsonLimits(limit, _DEPTH, _MARKS, _CONTENTS_DEPTH), _WHAT)
    for chunk in _chunks(data, packed):
        check()
        scan.feed(chunk)
    text = bytearray(scan.size)
    at = 0
    for chunk in _chunks(data, packed):
        text[at : at + len(chunk)] = chunk
        at += len(chunk)
    return text, scan


def _from_base64(data: bytes) -> bytes:
    try:
        return base64.b64decode(data, validate=False)
    except binascii.Error as error:
        raise _damaged(error) from None


def _damaged(error: Exception) -> ProtocolError:
    return make_corrupt_error(f"This is no .run file, or it is damaged ({error})")


def _chunks(data: bytes, packed: bytes | None) -> Iterator[bytes]:
    """The text, `CHUNK_BYTES` bytes at most at a time."""
    if packed is None:
        yield from _slices(data)
        return
    inflater = zlib.decompressobj()
    try:
        for piece in _slices(packed):
            yield from _inflated(inflater, piece)
            if inflater.eof:
                return
    except zlib.error as error:
        raise _damaged(error) from None
    raise make_corrupt_error("The .run file is cut off")


def _slices(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), CHUNK_BYTES):
        yield data[at : at + CHUNK_BYTES]


def _inflated(inflater: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    while True:
        chunk = inflater.decompress(piece, CHUNK_BYTES)
        if chunk:
            yield chunk
        piece = inflater.unconsumed_tail
        if inflater.eof or (not piece and len(chunk) < CHUNK_BYTES):
            return
