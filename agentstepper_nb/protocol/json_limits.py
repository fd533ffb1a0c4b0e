"""Bounds on the JSON of strangers, checked on its text before any value is built from it.

A few hundred kilobytes of a file unpack to half a gigabyte, and a byte of JSON can become a hundred
bytes of objects. `JsonScanner` reads the text as it unpacks and keeps none of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Final, NamedTuple

from ..errors import ProtocolError
from .envelope import MAX_MESSAGE_BYTES

#: Bytes of a text that are looked at together: other threads wait meanwhile.
CHUNK_BYTES: Final = 64 * 1024
#: Bytes of one content (a prompt, an answer): larger ones fit into no message.
MAX_CONTENT_BYTES: Final = MAX_MESSAGE_BYTES

#: Called between two steps of long work; it raises to end that.
CheckCancelled = Callable[[], None]


def never_cancel() -> None:
    """The check of work that nobody ends."""


class JsonLimits(NamedTuple):
    """The limits of a JSON text. Its structural characters are commas, colons and brackets outside of
    strings: a text has at most one more values and keys than structural characters.
    """

    max_bytes: int  # bytes
    max_depth: int  # arrays and objects inside each other
    max_structural_chars: int  # of arrays and objects down to `counted_depth`
    counted_depth: int  # down to where values are built; deeper ones stay text


#: Limits of a text that only Python's parser accepts (NaN): it builds the whole value, with contents.
LENIENT_LIMITS: Final = JsonLimits(MAX_MESSAGE_BYTES, 500, 2_000_000, 500)

_STRINGS: Final = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(")[^"\\]*+(?:\\.[^"\\]*+)*+(\\?)\Z', re.DOTALL
)
#: An open string's quote, and the backslash that it breaks off with.
_OPEN: Final = rb"\1\2"
_NO_MARKS: Final = bytes(set(range(256)) - set(b"[]{},:"))
_STEPS: Final = tuple((byte in b"[{") - (byte in b"]}") for byte in range(256))


class JsonScanner:
    """Reads a JSON text in chunks, and ends where it passes its bounds.

    Args:
        limits: What it may hold.
        content_name: The text, for the refusal: "The .run file".
    """

    def __init__(self, limits: JsonLimits, content_name: str) -> None:
        self._limits = limits
        self._content_name = content_name
        self._open = b""  # the beginning of a string that goes on
        self._depth = 0
        self._outer = 0
        self._marks = 0
        self.size = 0
        self.is_lenient = False  # whether it has what only Python's parser takes

    def feed(self, chunk: bytes) -> None:
        """Read on.

        Args:
            chunk: The next `CHUNK_BYTES` bytes at most.

        Raises:
            ProtocolError: `too_large`, and which bound it passes.
        """
        self.size += len(chunk)
        outside, quote, backslash = _STRINGS.sub(_OPEN, self._open + chunk).partition(b'"')
        self._open = quote + backslash
        self.is_lenient = self.is_lenient or b"N" in outside or b"I" in outside
        self._count(outside.translate(None, _NO_MARKS))
        self._check_limits(self._limits, self._outer)
        if self.is_lenient:
            self.check_lenient_limits()

    def check_lenient_limits(self) -> None:
        """Refuse what is too much for the parser that builds all of it. Errors as `feed`."""
        self._check_limits(LENIENT_LIMITS, self._marks)

    def _count(self, marks: bytes) -> None:
        depths = list(accumulate(map(_STEPS.__getitem__, marks), initial=self._depth))[1:]
        if not depths:
            return
        self._depth = depths[-1]
        self._marks += len(depths)
        self._outer += sum(map(self._limits.counted_depth.__ge__, depths))
        deepest = max(depths)
        if deepest > self._limits.max_depth:
            self._refuse(f"nests deeper than {self._limits.max_depth} levels")

    def _check_limits(self, limits: JsonLimits, marks: int) -> None:
        which = ", and NaN in it" if limits is LENIENT_LIMITS else ""
        if self.size > limits.max_bytes:
            self._refuse(
                f"unpacks to more than {limits.max_bytes // 1024**2} MiB{which}, the limit"
            )
        if marks > limits.max_structural_chars:
            self._refuse(f"has more than {limits.max_structural_chars:,} values{which}, the limit")

    def _refuse(self, why: str) -> None:
        raise ProtocolError("too_large", f"{self._content_name} {why}: it can't be imported.")


def check_lenient(text: str, what: str) -> None:
    """Refuse a text that is too much for Python's parser.

    Args:
        text: JSON, perhaps with NaN in it.
        what: Which text, for the refusal.

    Raises:
        ProtocolError: `too_large`.
    """
    scan = JsonScanner(LENIENT_LIMITS, what)
    for at in range(0, len(text), CHUNK_BYTES):
        scan.feed(text[at : at + CHUNK_BYTES].encode("utf-8", "surrogatepass"))


def check_content_size(text: str, what: str) -> None:
    """Refuse a content that fits into no message.

    Args:
        text: Its JSON.
        what: The file that it stands in, for the refusal.

    Raises:
        ProtocolError: `too_large`.
    """
    if len(text) > MAX_CONTENT_BYTES:
        raise ProtocolError(
            "too_large",
            f"{what} has a content of more than {MAX_CONTENT_BYTES // 1024**2} MiB, "
            "the limit: it can't be "
            "imported.",
        )
