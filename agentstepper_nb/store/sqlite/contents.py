"""Contents in the tables: only the new part of a prompt is stored.

A text is cut into pieces; each piece is a blob, stored once per run. A node is a piece after all earlier
ones: texts with a common beginning share nodes, and a text is identified by its last node.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Any, Final

import msgspec

from ...errors import DamagedRunError
from ...protocol.segments import MIN_SPLIT_BYTES, split_content
from .row_codec import Content, Value, compute_checksum, is_intact, make_replace, make_select

#: Nodes in a writer's cache, which saves looking up the nodes of the last prompts.
MAX_KNOWN_NODES: Final = 1 << 15
#: Bytes up to which a piece is compressed with a small window, which takes a tenth of the time:
#: preparing a large window is slow.
_SMALL_PIECE_BYTES: Final = 1 << 14

_PUT_BLOB: Final = make_replace("blobs")
_PUT_NODE: Final = make_replace("nodes")
_BLOB: Final = "SELECT n FROM blobs WHERE run = ? AND hash = ?"
_NODE: Final = "SELECT n FROM nodes WHERE run = ? AND parent = ? AND blob = ?"
# A parent is older than its node: a hurt one can't lead in circles.
_CHAIN: Final = """
    WITH RECURSIVE chain AS (
        SELECT n, run, parent, blob, checksum FROM nodes WHERE n = ?
        UNION ALL
        SELECT nodes.n, nodes.run, nodes.parent, nodes.blob, nodes.checksum
        FROM chain JOIN nodes ON nodes.n = chain.parent AND nodes.n < chain.n
    )
    SELECT chain.*, blobs.hash, blobs.bytes FROM chain LEFT JOIN blobs ON blobs.n = chain.blob
"""
_STEP: Final = """
    SELECT nodes.n, nodes.run, nodes.parent, nodes.blob, nodes.checksum, blobs.hash, blobs.bytes
    FROM nodes LEFT JOIN blobs ON blobs.n = nodes.blob WHERE nodes.n = ?
"""
_STEPS: Final = """
    SELECT nodes.n, nodes.run, nodes.parent, nodes.blob, nodes.checksum, blobs.hash, blobs.bytes
    FROM nodes LEFT JOIN blobs ON blobs.n = nodes.blob
    WHERE nodes.n IN (SELECT value FROM json_each(?))
"""
_OF_RUN: Final = """
    SELECT nodes.n, nodes.run, nodes.parent, nodes.blob, nodes.checksum, blobs.hash
    FROM nodes LEFT JOIN blobs ON blobs.n = nodes.blob WHERE nodes.run = ?
"""


def hash_piece(piece: bytes) -> bytes:
    """Hash a piece: the hash identifies a blob, and checks its integrity."""
    return blake2b(piece, digest_size=16).digest()


def pack_piece(piece: bytes) -> bytes:
    """Compress a piece for a blob."""
    window, memory = (13, 6) if len(piece) <= _SMALL_PIECE_BYTES else (15, 8)
    compressor = zlib.compressobj(1, zlib.DEFLATED, window, memory)
    return compressor.compress(piece) + compressor.flush()


def unpack_piece(hash: Value, data: Any) -> bytes | None:
    """Decompress a blob's piece; None if it is damaged."""
    try:
        piece = zlib.decompress(data)
    except (zlib.error, TypeError):
        return None
    return piece if hash_piece(piece) == hash else None


_encode: Final = msgspec.json.Encoder().encode


class ContentWriter:
    """Writes texts into the tables, for the only writer.

    Args:
        connection: The writer's connection, inside a transaction whenever a text is written.
        number: Returns a table's next row number.
        max_known_nodes: Nodes in the cache.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        number: Callable[[str], int],
        max_known_nodes: int = MAX_KNOWN_NODES,
    ) -> None:
        self._max_known_nodes = max_known_nodes
        self._execute = connection.execute
        self._number = number
        self._known: dict[tuple[int, int, bytes], int] = {}

    def put(self, run: int, run_id: str, text: str | None) -> Content:
        """Write a text, and return its stored form."""
        if text is None:
            return None
        data = text.encode(errors="surrogatepass")
        if len(data) <= MIN_SPLIT_BYTES:
            return data
        node = 0
        for piece in split_content(data):
            key = (run, node, hash_piece(piece))
            found = self._known.get(key)
            node = self._put_node(key, run_id, piece) if found is None else found
        return node

    def clear_cache(self) -> None:
        """Clear the cache: the transaction is rolled back, or a run deleted."""
        self._known.clear()

    def _put_node(self, key: tuple[int, int, bytes], run_id: str, piece: bytes) -> int:
        run, parent, hash = key
        blob = self._find_number(_BLOB, run, hash)
        node = None
        if blob is None:
            blob = self._number("blobs")
            self._execute(_PUT_BLOB, (blob, run, hash, pack_piece(piece)))
        else:
            node = self._find_number(_NODE, run, parent, blob)
        if node is None:
            node = self._number("nodes")
            columns = (node, run, parent, blob)
            self._execute(
                _PUT_NODE, (*columns, compute_checksum("nodes", run_id, (*columns, hash)))
            )
        self._cache_node(key, node)
        return node

    def _find_number(self, statement: str, *key: Value) -> int | None:
        row = self._execute(statement, key).fetchone()
        return None if row is None else row[0]

    def _cache_node(self, key: tuple[int, int, bytes], node: int) -> None:
        if len(self._known) >= self._max_known_nodes:
            for old in list(islice(self._known, self._max_known_nodes // 2)):
                del self._known[old]
        self._known[key] = node


class ContentReader:
    """Reads the texts of one run.

    Args:
        connection: The connection to read from.
        run: The run's number.
        run_id: The run's id.
        is_preloaded: Whether all texts are needed: then they are read together.
        has_step_cache: Whether texts with common beginnings are needed: then shared parts are read once.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        run: int,
        run_id: str,
        *,
        is_preloaded: bool = False,
        has_step_cache: bool = False,
    ) -> None:
        self._connection = connection
        self._run = run
        self._run_id = run_id
        self._nodes: Mapping[int, tuple[int, int]] | None = None  # parent and blob of each
        self._pieces: Mapping[int, bytes] = {}
        self._step_cache: dict[int, tuple[int, bytes]] | None = {} if has_step_cache else None
        if is_preloaded:
            self._pieces = self._all_pieces()
            self._nodes = self._all_nodes()

    def text(self, content: object) -> str | None:
        """Read the text of a content.

        Raises:
            DamagedRunError: The text, or a part of it, is damaged.
        """
        if content is None:
            return None
        if isinstance(content, int):
            content = b"".join(self._chain(content))
        if not isinstance(content, bytes):
            raise self.make_damage_error("a content has an unknown form")
        try:
            return content.decode(errors="surrogatepass")
        except UnicodeDecodeError as error:
            raise self.make_damage_error("a content isn't text") from error

    def fetch(self, contents: Iterable[object]) -> None:
        """Read the shared and the last parts of these contents, before their texts are read.

        Only for contents with common beginnings, with `has_step_cache`.

        Args:
            contents: The stored contents.

        Raises:
            DamagedRunError: A part is damaged; `text` reports missing parts.
        """
        if self._step_cache is None:
            return
        wanted = {node for node in contents if isinstance(node, int)} - {0}
        while wanted:
            wanted_json = _encode(sorted(wanted)).decode()
            parents = set()
            for *columns, hash, data in self._connection.execute(_STEPS, (wanted_json,)):
                if 0 <= columns[2] < columns[0]:
                    self._step_cache[columns[0]] = columns[2], self._piece(columns, hash, data)
                    parents.add(columns[2])
            wanted = parents - self._step_cache.keys() - {0}

    def make_damage_error(self, what: str) -> DamagedRunError:
        """An error about this run."""
        return DamagedRunError(self._run_id, what)

    def _chain(self, node: int) -> Iterable[bytes]:
        if self._step_cache is not None:
            pieces = list(self._step(node, self._step_cache))
        else:
            pieces = list(self._read_chain(node) if self._nodes is None else self._walk_nodes(node))
        return reversed(pieces)

    def _step(self, node: int, known: dict[int, tuple[int, bytes]]) -> Iterable[bytes]:
        while node:
            found = known.get(node)
            if found is None:
                found = known[node] = self._read_step(node)
            node, piece = found
            yield piece

    def _read_step(self, node: int) -> tuple[int, bytes]:
        """A node's parent and piece."""
        row = self._connection.execute(_STEP, (node,)).fetchone()
        if row is None or not 0 <= row[2] < node:
            raise self.make_damage_error("a piece of a content is missing")
        *columns, hash, data = row
        return columns[2], self._piece(columns, hash, data)

    def _walk_nodes(self, node: int) -> Iterable[bytes]:
        assert self._nodes is not None
        while node:
            parent, blob = self._nodes.get(node, (node, 0))
            if parent >= node or blob not in self._pieces:
                raise self.make_damage_error("a piece of a content is missing")
            yield self._pieces[blob]
            node = parent

    def _read_chain(self, node: int) -> Iterable[bytes]:
        expected = node
        for *row, hash, data in self._connection.execute(_CHAIN, (node,)):
            if row[0] != expected:
                break
            yield self._piece(row, hash, data)
            expected = row[2]
        if expected:
            raise self.make_damage_error("a piece of a content is missing")

    def _piece(self, row: list[Any], hash: Value, data: Value) -> bytes:
        piece = unpack_piece(hash, data)
        if piece is None or not is_intact("nodes", self._run_id, row, hash):
            raise self.make_damage_error("a piece of a content is damaged")
        return piece

    def _all_nodes(self) -> dict[int, tuple[int, int]]:
        nodes = {}
        for *row, hash in self._connection.execute(_OF_RUN, (self._run,)):
            if is_intact("nodes", self._run_id, row, hash):
                nodes[row[0]] = (row[2], row[3])
        return nodes

    def _all_pieces(self) -> dict[int, bytes]:
        pieces = {}
        for n, _, hash, data in self._connection.execute(
            make_select("blobs", "run = ?"), (self._run,)
        ):
            piece = unpack_piece(hash, data)
            if piece is not None:
                pieces[n] = piece
        return pieces
