"""Contents that travel as what is new in them: docs/design/0012-pieces.md.

Each side of a connection remembers the last contents that travelled one way, in pieces. A content
travels as how many pieces it has in common with the beginning of one of these, and by what follows: the
number of a piece that both sides know, or a new one. Pieces are numbered from 1 as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from ..errors import ProtocolError
from .envelope import MAX_MESSAGE_BYTES
from .field_types import Count
from .segments import MIN_SPLIT_BYTES, split_content

#: Contents that are remembered, at most.
MAX_CONTENTS: Final = 256
#: The most memory of all remembered contents, in bytes.
MAX_MEMORY_BYTES: Final = 16 * 1024 * 1024
#: The sizes of contents that are cut, in bytes: not what is short, or could never be remembered.
DELTA_SIZES: Final = range(MIN_SPLIT_BYTES + 1, MAX_MEMORY_BYTES + 1)
#: Bytes counted for a piece beside its text, and for each piece that a content refers to.
PART_OVERHEAD_BYTES: Final = 64
REFERENCE_BYTES: Final = 8


class EncodedContent(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"prefix_of": "like", "prefix_pieces": "keep", "rest": "then"},
):
    """A text in pieces: joined they are the text as it was."""

    number: Count  # the content's own, from 1 on each connection: none may be left out
    prefix_of: Count = 0  # the number of the content it begins like; 0: none
    prefix_pieces: Count = 0  # how many pieces of that one it begins with
    rest: tuple[int | str, ...] = ()  # what follows: a known piece's number, or a new piece


class DeltaEncoder:
    """Encodes the contents that are sent on a connection.

    Args:
        max_contents: Contents that are remembered; both sides have the same.
        max_memory_bytes: What all that is remembered weighs at most; both sides have the same.
    """

    def __init__(
        self, max_contents: int = MAX_CONTENTS, max_memory_bytes: int = MAX_MEMORY_BYTES
    ) -> None:
        self._memory = _Memory(max_contents, max_memory_bytes)
        self._numbers: dict[bytes, int] = {}

    def encode(self, text: bytes) -> EncodedContent:
        """A content as it travels.

        Args:
            text: JSON in UTF-8, of one of `DELTA_SIZES`; other contents travel as they are, and aren't
                remembered.
        """
        return self.encode_parts(split_content(text))

    def encode_parts(self, parts: Sequence[bytes]) -> EncodedContent:
        """A content as it travels.

        Args:
            parts: The content as `split_content` cuts it, in UTF-8 each.
        """
        known = [self._numbers.get(part, 0) for part in parts]
        prefix_of, prefix_pieces = self._memory.find_longest_prefix(known)
        rest: list[int | str] = []
        content = known[:prefix_pieces]
        for part in parts[prefix_pieces:]:
            number = self._numbers.get(part, 0)
            rest.append(number or part.decode())
            if not number:
                number = self._numbers[part] = self._memory.add(part)
            content.append(number)
        for piece in self._memory.store(content):
            del self._numbers[piece]
        return EncodedContent(
            number=self._memory.last,
            prefix_of=prefix_of,
            prefix_pieces=prefix_pieces,
            rest=tuple(rest),
        )


class DeltaDecoder:
    """Decodes the contents that are received on a connection.

    Args:
        max_contents: As the encoder's.
        max_memory_bytes: As the encoder's.
        max_content_bytes: Bytes that a content has at most.
    """

    def __init__(
        self,
        max_contents: int = MAX_CONTENTS,
        max_memory_bytes: int = MAX_MEMORY_BYTES,
        max_content_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        self._memory = _Memory(max_contents, max_memory_bytes)
        self._max_content_bytes = max_content_bytes

    def decode(self, encoded: EncodedContent) -> bytes:
        """The content as it was before it was encoded.

        Raises:
            ProtocolError: `unknown_content`: it is made of what this side doesn't know, and no other can
                be understood after it; or `too_large`.
        """
        memory = self._memory
        if encoded.number != memory.last + 1:
            raise _unknown(f"content {encoded.number} after {memory.last}")
        content = memory.get_prefix(encoded.prefix_of, encoded.prefix_pieces)
        new: dict[int, bytes] = {}
        for each in encoded.rest:
            if isinstance(each, str):
                number = memory.numbered + len(new) + 1
                new[number] = each.encode()
            elif each in memory.pieces or each in new:
                number = each
            else:
                raise _unknown(f"piece {each}")
            content.append(number)
        texts = [new[number] if number in new else memory.pieces[number] for number in content]
        if sum(map(len, texts)) > self._max_content_bytes:
            raise ProtocolError(
                "too_large", "The joined pieces of the content exceed the limit of 64 MiB."
            )
        for text in new.values():
            memory.add(text)
        memory.store(content)
        return b"".join(texts)


class _Memory:
    """The last contents that travelled. Both sides do the same with it, so that they hold the same."""

    def __init__(self, max_contents: int, max_memory_bytes: int) -> None:
        self._max_contents, self._max_memory_bytes = max_contents, max_memory_bytes
        self.pieces: dict[int, bytes] = {}
        self.last = 0  # the last content's number
        self.numbered = 0  # the last piece's
        self._contents: dict[int, list[int]] = {}
        self._newest: dict[int, int] = {}  # the last content that each piece is in
        self._memory_bytes = 0

    def add(self, piece: bytes) -> int:
        """Number a new piece, of the content that is stored next."""
        self.numbered += 1
        self.pieces[self.numbered] = piece
        self._memory_bytes += len(piece) + PART_OVERHEAD_BYTES
        return self.numbered

    def store(self, content: list[int]) -> Iterable[bytes]:
        """Remember a content, and forget the oldest ones where that is too much.

        Returns:
            The pieces that are forgotten.
        """
        self.last += 1
        self._contents[self.last] = content
        self._newest.update(dict.fromkeys(content, self.last))
        self._memory_bytes += REFERENCE_BYTES * len(content)
        forgotten: list[bytes] = []
        while (
            len(self._contents) > self._max_contents or self._memory_bytes > self._max_memory_bytes
        ):
            forgotten += self._forget_oldest()
        return forgotten

    def _forget_oldest(self) -> list[bytes]:
        oldest = next(iter(self._contents))
        content = self._contents.pop(oldest)
        gone = [number for number in set(content) if self._newest[number] == oldest]
        for number in gone:
            del self._newest[number]
        forgotten = [self.pieces.pop(number) for number in gone]
        self._memory_bytes -= REFERENCE_BYTES * len(content) + sum(
            len(piece) + PART_OVERHEAD_BYTES for piece in forgotten
        )
        return forgotten

    def get_prefix(self, number: int, pieces: int) -> list[int]:
        """The first pieces of a content.

        Raises:
            ProtocolError: `unknown_content`.
        """
        if not pieces:
            return []
        content = self._contents.get(number, [])
        if pieces > len(content):
            raise _unknown(f"{pieces} pieces of content {number}")
        return content[:pieces]

    def find_longest_prefix(self, pieces: list[int]) -> tuple[int, int]:
        """The content that begins most like these pieces, and with how many of them."""
        found = length = 0
        for number, content in reversed(self._contents.items()):
            # What isn't alike up to one more than what was found is passed over, and that quickly.
            if (
                content[length : length + 1] == pieces[length : length + 1]
                and content[:length] == pieces[:length]
            ):
                common = _common_length(content, pieces)
                if common > length:
                    found, length = number, common
        return found, length


def _common_length(left: list[int], right: list[int]) -> int:
    """How many items two lists have in common in front."""
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))


def _unknown(what: str) -> ProtocolError:
    return ProtocolError(
        "unknown_content",
        f"This connection has no {what}. Open another connection, and send the content again.",
    )
