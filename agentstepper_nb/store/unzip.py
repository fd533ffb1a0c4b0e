"""Zip files of strangers: read by known names alone, within bounds, into memory."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import Final

from ..errors import ProtocolError
from ..protocol.json_bounds import CHUNK

#: How a zip file begins.
MAGIC: Final = b"PK\x03\x04"
#: Bytes of the list of members: of an honest archive, with what other programs add to it.
_LONGEST_LIST: Final = 1 << 16
#: The record at a zip file's end, and the one that tells of a longer form.
_END: Final = b"PK\x05\x06"
_END_SIZE: Final = 22
_LOCATOR: Final = b"PK\x06\x07"
_LOCATOR_SIZE: Final = 20

_KNOWN: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1

#: What the standard library raises for zip files that are none.
_BAD: Final = (
    zipfile.BadZipFile,
    zlib.error,
    ArithmeticError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


#: Looks at the next bytes of a member, by its name; it raises to refuse them.
Look = Callable[[str, bytes], None]


def unzip(data: bytes, names: Collection[str], limit: int, look: Look) -> dict[str, bytearray]:
    """Read members of a zip file. Other members are not looked at; nothing is written anywhere.

    Args:
        data: The file.
        names: The members that are read, where they are there.
        limit: The most bytes that these may unpack to, all together. They are counted as they come:
            what the file says of its sizes isn't believed.
        look: Called with all that is read before any of it is kept.

    Raises:
        ProtocolError: `corrupt_import`: it is no zip file, damaged, encrypted, or has a member twice;
            `too_large`: it passes the limit.
    """
    _check_end(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            found = [info for info in file.infolist() if info.filename in names]
            if len({info.filename for info in found}) < len(found):
                raise corrupt("The archive has a member twice")
            sizes = {info.filename: 0 for info in found}
            for info in found:
                for chunk in _chunks(file, info):
                    sizes[info.filename] += len(chunk)
                    if sum(sizes.values()) > limit:
                        raise _too_large(limit)
                    look(info.filename, chunk)
            return {info.filename: _read(file, info, sizes[info.filename]) for info in found}
    except ProtocolError:
        raise
    except _BAD as error:
        raise corrupt(f"The archive is damaged ({error})") from None


def corrupt(reason: str) -> ProtocolError:
    """The error of a file that can't be taken in.

    Args:
        reason: What is wrong; it may quote the file.
    """
    return ProtocolError("corrupt_import", f"{reason[:500]}: export it again.")


def _too_large(limit: int) -> ProtocolError:
    return ProtocolError(
        "too_large",
        f"The archive unpacks to more than {limit // 1024**2} MiB, the limit: it can't be imported.",
    )


def _check_end(data: bytes) -> None:
    """Refuse what lists more members than an archive has, before they are listed."""
    end = data[-_END_SIZE:]
    before = data[-_END_SIZE - _LOCATOR_SIZE : -_END_SIZE]
    if not end.startswith(_END) or end[-2:] != b"\0\0" or before.startswith(_LOCATOR):
        raise corrupt("This is no archive of a run, or it is cut off")
    if int.from_bytes(end[12:16], "little") > _LONGEST_LIST:
        raise corrupt("The archive lists far more than a run's")


def _chunks(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    if info.flag_bits & _ENCRYPTED:
        raise corrupt("The archive is encrypted")
    if info.compress_type not in _KNOWN:
        raise corrupt("The archive is compressed in a way that isn't read here")
    with file.open(info) as member:
        while chunk := member.read(CHUNK):
            yield chunk


def _read(file: zipfile.ZipFile, info: zipfile.ZipInfo, size: int) -> bytearray:
    """A member of known size, whole."""
    whole = bytearray(size)
    at = 0
    for chunk in _chunks(file, info):
        whole[at : at + len(chunk)] = chunk
        at += len(chunk)
    return whole
