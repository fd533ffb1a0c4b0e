"""Contents that travel as what is new in them: docs/design/0012-pieces.md.

Each side of a connection remembers the last contents that travelled one way, in pieces. A content is
told by how many pieces it has in common with the beginning of one of these, and by what follows: the
number of a piece that both sides know, or a new one.
"""

from __future__ import annotations

from msgspec import Struct

from .values import Count


class Pieces(Struct, frozen=True, kw_only=True):
    """A text in pieces: joined they are the text as it was."""

    like: Count = 0  # the number of the content it begins like, from 1 on each connection; 0: none
    keep: Count = 0  # how many pieces of that one it begins with
    then: tuple[int | str, ...] = ()  # what follows: a known piece's number, or a new piece
