"""Damaged and hostile `.run` files are refused, or read where that does no harm."""

from __future__ import annotations

import base64
import json
import random
import tracemalloc
import zlib
from typing import Any

import pytest

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.v1 import runfile
from tests.unit.protocol.test_runfile import DOCUMENT, RECORDED, pack, refused, unpack


def test_what_is_cut_off_is_refused_wherever_it_is_cut() -> None:
    for length in range(0, len(RECORDED) - 3, 37):
        refused(RECORDED[:length], "corrupt_import", "export it again")


def test_a_flipped_bit_is_refused_or_harmless() -> None:
    chance = random.Random(1)
    for _ in range(400):
        at, bit = chance.randrange(len(RECORDED)), 1 << chance.randrange(8)
        damaged = RECORDED[:at] + bytes([RECORDED[at] ^ bit]) + RECORDED[at + 1 :]
        try:
            loaded = runfile.load_run(damaged)
        except ProtocolError as error:
            assert error.code == "corrupt_import"
            assert len(error.message) < 300
        else:
            assert unpack(runfile.dump_run(loaded)) == DOCUMENT


def changed(path: str, value: Any) -> bytes:
    """The recorded run with one value of it changed, as `events.0.type`."""
    document = json.loads(json.dumps(DOCUMENT))
    *way, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    place = document
    for step in way:
        place = place[step]
    place[last] = value
    return pack(document)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cut off"),
        (b"nonsense!", "no .run file, or it is damaged"),
        ("✓".encode(), "cut off"),
        (base64.b64encode(b"not compressed"), "no .run file"),
        (base64.b64encode(zlib.compress(b"not JSON")), "contents are damaged"),
        (base64.b64encode(zlib.compress(b"\xff\xfe")), "contents are damaged"),
        (base64.b64encode(zlib.compress(b"[" * 400)), "contents are damaged"),
        (pack([]), "Expected `object`"),
        (pack({}), "missing required field `uuid`"),
        (changed("uuid", ""), r"length >= 1 - at `\$.uuid`"),
        (changed("events.1.uuid", ""), r"length >= 1 - at `\$.events"),
        (changed("start_time", 1e300), r"at `\$.start_time`"),
        (changed("start_time", float("nan")), "contents are damaged"),
        (changed("server_version", 7), r"at `\$.server_version`"),
        (changed("events.1.time", -1), r"at `\$.events\[1\].time`"),
        (changed("events.1.type", "NAP"), "an event of unknown type “NAP”"),
        (changed("events.1.type", "N" * 10_000), "an event of unknown type “N{80}”"),
        (changed("events.1.breakpoints.0.uuid", 7), "contents are damaged"),
        (changed("events.1.uuid", DOCUMENT["events"][0]["uuid"]), "has one event twice"),
        (
            changed("events.1.breakpoints.0.uuid", DOCUMENT["events"][0]["breakpoints"][0]["uuid"]),
            "has one message twice",
        ),
        (changed("commits.0.id", DOCUMENT["commits"][1]["id"]), "has one commit twice"),
        (changed("commits.1.changes.0.change_type", "nap"), "a damaged commit .“nap” is no change"),
        (
            changed("events.3.breakpoints", DOCUMENT["events"][0]["breakpoints"]),
            "one message twice|debug message with breakpoints",
        ),
    ],
    ids=range(23),
)
def test_what_is_no_run_is_refused(data: bytes, says: str) -> None:
    refused(data, "corrupt_import", says)


def test_a_debug_message_has_no_breakpoints() -> None:
    point = DOCUMENT["events"][0]["breakpoints"][0] | {"uuid": "other"}
    refused(changed("events.3.breakpoints", [point]), "corrupt_import", "debug message with")


def test_lines_and_spaces_in_the_file_do_no_harm() -> None:
    spaced = b"\r\n".join(RECORDED[at : at + 76] for at in range(0, len(RECORDED), 76)) + b"\n"
    assert unpack(runfile.dump_run(runfile.load_run(spaced))) == DOCUMENT


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    limit = 4 * 1024**2
    bomb = base64.b64encode(zlib.compress(b" " * (16 * limit)))
    assert len(bomb) < limit
    tracemalloc.start()
    try:
        refused(bomb, "too_large", "more than 4 MiB, the limit", limit=limit)
        assert tracemalloc.get_traced_memory()[1] < 3 * limit
    finally:
        tracemalloc.stop()


def test_the_limit_is_what_may_be_unpacked() -> None:
    size = len(zlib.decompress(base64.b64decode(RECORDED)))
    assert runfile.load_run(RECORDED, limit=size).run.name == "Recorded run"
    refused(RECORDED, "too_large", limit=size - 1)
    assert runfile.MAX_UNPACKED_BYTES == 256 * 1024**2
