"""The first hundred bytes of the store's file: nearly all of them are known beforehand.

One damaged byte there makes SQLite refuse the whole file, or read it as something else. What is known
is put right instead. (The format: https://www.sqlite.org/fileformat2.html#the_database_header)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from .migrate import APPLICATION, VERSION

SIZE: Final = 100
PAGE: Final = 4096

#: What stands where in every file of ours.
_KNOWN: Final = {
    0: b"SQLite format 3\0",
    16: PAGE.to_bytes(2),
    20: bytes((0, 64, 32, 32)),  # reserved bytes, and fractions that SQLite demands
    44: (4).to_bytes(4),  # the schema's format
    48: bytes(4),  # the cache's size: each connection's own
    56: (1).to_bytes(4),  # UTF-8
    64: (1).to_bytes(4),  # incremental vacuum
    72: bytes(20),  # reserved
}
_JOURNALS: Final = (18, 19)  # by which it is written and read: 1 is a rollback journal, 2 WAL
_CHANGED: Final = slice(24, 28)
_PAGES: Final = slice(28, 32)
_FIRST_FREE: Final = slice(32, 36)
_FREE: Final = slice(36, 40)
_USER_VERSION: Final = slice(60, 64)
_APPLICATION: Final = slice(68, 72)
_VALID_FOR: Final = slice(92, 96)
#: With more than this many wrong bytes it is no header that was hurt, but something else.
_FEW: Final = 8


def mended(header: bytes, pages: int | None = None, *, cut: bool = False) -> bytes:
    """A header with what is known put right; as it is where that is nothing, or far too much.

    Args:
        header: The file's first bytes.
        pages: How many pages the file has, where that is known.
        cut: Whether it is to say that many itself: only to read what is left of a file that was cut.
    """
    if len(header) < SIZE or _of_a_newer(header):
        return header
    right = bytearray(header)
    for at, known in _KNOWN.items():
        right[at : at + len(known)] = known
    for at, other in (_JOURNALS, _JOURNALS[::-1]):
        if right[at] not in (1, 2):
            right[at] = right[other] if right[other] in (1, 2) else 2
    _agree(right)
    if pages:
        _free(right, pages)
    if pages and cut and right[_CHANGED] == right[_VALID_FOR]:  # else SQLite counts them itself
        right[_PAGES] = pages.to_bytes(4)
    wrong = sum(a != b for a, b in zip(header, right, strict=True))
    return bytes(right) if wrong <= _FEW else header


def mend(path: Path) -> bool:
    """Put the header of a file right in its place, where there is something to put right.

    Args:
        path: A store that nobody has open.

    Raises:
        OSError: It can't be read or written.
    """
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        header = os.pread(file, SIZE, 0)
        right = mended(header, os.fstat(file).st_size // PAGE)
        if right == header:
            return False
        os.pwrite(file, right, 0)
        os.fsync(file)
        return True
    finally:
        os.close(file)


def _of_a_newer(header: bytes) -> bool:
    """Whether it says in both places that a newer program wrote it, whose constants may differ."""
    number = int.from_bytes(header[_USER_VERSION])
    return number > VERSION and int.from_bytes(header[_APPLICATION]) == APPLICATION + number


def _free(right: bytearray, pages: int) -> None:
    """Forget the list of free pages where it can't be one: they are lost, and nothing else is."""
    first, number = (int.from_bytes(right[each]) for each in (_FIRST_FREE, _FREE))
    if first >= pages or number >= pages or bool(first) is not bool(number):
        right[_FIRST_FREE] = right[_FREE] = bytes(4)


def _agree(right: bytearray) -> None:
    """Where only one of the two places says a version that there is, that one is right."""
    said = (
        int.from_bytes(right[_USER_VERSION]),
        int.from_bytes(right[_APPLICATION]) - APPLICATION,
    )
    possible = {number for number in said if 1 <= number <= VERSION}
    if len(possible) == 1:
        (number,) = possible
        right[_USER_VERSION] = number.to_bytes(4)
        right[_APPLICATION] = (APPLICATION + number).to_bytes(4)
