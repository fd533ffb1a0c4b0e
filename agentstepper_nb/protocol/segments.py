"""Contents in pieces that come again: an agent's prompt is the one before, with a little more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Raw

#: Bytes up to which a content isn't split.
MIN_SPLIT_BYTES: Final = 512
#: Bytes that a piece has at least, the last of an array excepted: short items stand together.
MIN_PART_BYTES: Final = 128
#: For each 4096 bytes before it in its array, a piece has one more, so that a very long array doesn't
#: become very many pieces.
_GROWTH: Final = 4096
#: Bytes that the items of an array have on average, at least: a list of numbers isn't cut.
_ITEM: Final = 16
#: Bytes by which an array is looked for.
_HEAD: Final = 64
_OPENING: Final = ord("[")
#: Members whose arrays come again as they are, and often after the one that grows.
_CONSTANT: Final = frozenset(("tools", "functions"))

_object = msgspec.json.Decoder(dict[str, Raw])
_array = msgspec.json.Decoder(list[Raw])


def split_content(data: bytes) -> list[bytes]:
    """A JSON text in pieces; joined they are the text as it was.

    It is cut at the ends of the items of its arrays, of the outermost one or of those an object has as
    members: what two such texts have in common in front they have in common as pieces.

    Args:
        data: UTF-8. What is no JSON is one piece, as is what is short or has no long array.
    """
    if len(data) <= MIN_SPLIT_BYTES:
        return [data]
    cuts = [0, *_cuts(data), len(data)]
    return [data[start:end] for start, end in pairwise(cuts) if start < end]


def _cuts(data: bytes) -> list[int]:
    """The offsets at which to cut, ascending."""
    cuts: list[int] = []
    reached = 0
    for array in _arrays(data):
        # A text before it may hold the same characters: then the cuts are of less use, not wrong.
        start = _find(data, array, reached)
        if start < 0:
            continue
        cuts += _ends(array, start)
        reached = start + len(array)
    return cuts


def _find(data: bytes, array: bytes, start: int) -> int:
    """Find an array's offset by the array's first bytes: a search for the whole array is slow."""
    head = array[:_HEAD]
    while (start := data.find(head, start)) >= 0 and not data.startswith(array, start):
        start += 1
    return start


def _arrays(data: bytes) -> Iterator[bytes]:
    """The long arrays in a JSON text, in their order."""
    opening = data.lstrip()[:1]
    if opening == b"[":
        yield data
    elif opening == b"{":
        try:
            members = _object.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return
        for name, member in members.items():
            view = memoryview(member)
            if name not in _CONSTANT and view.nbytes > MIN_SPLIT_BYTES and view[0] == _OPENING:
                yield bytes(view)


def _ends(array: bytes, offset: int) -> list[int]:
    """The array's beginning, and the ends of its items, where enough stands between them."""
    try:
        items = _array.decode(array)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return []
    if len(array) < _ITEM * len(items):
        return []
    # Only white space and commas stand between items, and no item begins with them.
    end = cut = array.index(b"[") + 1
    cuts = [offset + cut]
    for item in items:
        text = bytes(item)
        begin = array.index(text[:1], end)
        end = begin + len(text)
        least = cut // _GROWTH
        if len(text) > MIN_SPLIT_BYTES + least:
            # By itself, without what stands between: an answer is so in the next prompt.
            cuts.append(offset + begin)
        elif end - cut < MIN_PART_BYTES + least:
            continue
        cut = end
        cuts.append(offset + cut)
    if cut < end:
        cuts.append(offset + end)
    return cuts
