"""Small files that unpack to much: runs of strangers who mean harm."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

MiB: Final = 1024 * 1024

_HEAD: Final = b'{"uuid": "r", "name": "n", "program_name": "p", "start_time": 1, "events": ['
_EVENT: Final = b'{"uuid": "e", "type": "LLM_QUERY", "time": 1, "breakpoints": ['
_POINT: Final = b'{"uuid": "b", "event_id": "e", "time": 1, "original_data": '
_TAIL: Final = b"}]}]}"


def make_bomb(text: bytes, unit: bytes, times: int, end: bytes) -> tuple[bytes, bytes, int, bytes]:
    """A file whose only content begins with a text, repeats another, and ends."""
    return _HEAD + _EVENT + _POINT + text, unit, times, end + _TAIL


#: Bytes that may be unpacked in these tests: fewer than else, as each takes its time.
LIMIT: Final = 120 * MiB
#: What each has too much of: what stands before, what is repeated, how often, and what stands after.
BOMBS: Final = {
    "size": make_bomb(b'"', b"x" * MiB, 130, b'"'),
    "lenient size": make_bomb(b'[NaN, "', b"x" * MiB, 100, b'"]'),
    "lenient values": make_bomb(b"[NaN", b',{"a":{}}' * 10_000, 500, b"]"),
    "depth": make_bomb(b"", b"[" * MiB, 10, b""),
    "events": (
        _HEAD + b'{"uuid":"0","type":"LLM_QUERY","time":1}',
        b',{"uuid":"1","type":"LLM_QUERY","time":1}' * 1000,
        1000,
        b"]}",
    ),
    "breakpoints": (
        _HEAD + _EVENT + b"0",
        b',{"uuid":"1","event_id":"1","time":1}' * 1000,
        1000,
        b"]}]}",
    ),
}
#: What a refusal would quote, if it were not cut.
QUOTED: Final = (
    _HEAD + b'{"uuid": "e", "time": 1, "type": "',
    b"x" * MiB,
    16,
    b'"}]}',
)


def pack_bomb(bomb: tuple[bytes, bytes, int, bytes]) -> bytes:
    """A bomb as version 1 packs its files."""
    head, unit, times, tail = bomb
    deflater = zlib.compressobj()
    parts = [deflater.compress(head)]
    parts += [deflater.compress(unit) for _ in range(times)]
    return base64.b64encode(b"".join([*parts, deflater.compress(tail), deflater.flush()]))


def dump_bomb_json(bomb: tuple[bytes, bytes, int, bytes]) -> bytes:
    """A bomb as bare JSON."""
    head, unit, times, tail = bomb
    return head + unit * times + tail


def change_archive_member(data: bytes, member: str, change: Callable[[bytes], bytes]) -> bytes:
    """An archive with one member changed."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == member else old.read(name))
    return file.getvalue()


_LOAD: Final = """
import re, resource, sys
from pathlib import Path
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.store import archive

def peak():
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    # Linux hands a parent's ru_maxrss on to its children.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))  # a bomb that goes off is no harm
data = Path(sys.argv[1]).read_bytes()
before, said = peak(), "taken"
try:
    archive.load_run_file(data, "mine", int(sys.argv[2]))
except ProtocolError as error:
    said = error.code
    assert len(error.message) < 1000, len(error.message)
print(said, (peak() - before) // 1024)
"""


def load_archive(path: Path) -> tuple[str, int]:
    """Import a file in a process of its own: the refusal's code, and by how many MiB its peak grew."""
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, str(path), str(LIMIT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said, grown = done.stdout.split()
    return said, int(grown)
