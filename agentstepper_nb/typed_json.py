"""Typed values from JSON and from plain objects, by msgspec, for any number of threads.

msgspec makes a plan of a type where the type is first used, and gives up the lock of the interpreter
meanwhile. Another thread that uses the type then finds a half-made plan, and the process dies of SIGSEGV
(msgspec 0.22; a Core that many clients reached right after its start ended so). Here one thread makes
the plan, and the others wait. Decoders that a module makes at its import, before any thread uses their
types, need none of this.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final, TypeVar, overload

import msgspec

_T = TypeVar("_T")

#: Reentrant: making a plan runs Python, and so perhaps a finalizer that comes here, too.
_lock: Final = threading.RLock()
_decoders: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}

# A child has none of its parent's threads: nobody would release a lock that one of them held.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def make_decoder(kind: type[_T]) -> msgspec.json.Decoder[_T]:
    """Make the plan of a type, and a decoder that isn't kept: for types that are made at run time."""
    with _lock:
        return msgspec.json.Decoder(kind)


def get_decoder(kind: type[_T]) -> msgspec.json.Decoder[_T]:
    """Return the decoder of a type. It is made once, and kept."""
    found = _decoders.get(kind)
    if found is None:
        found = _decoders[kind] = make_decoder(kind)
    return found


def decode(text: bytes | bytearray | memoryview | str, kind: type[_T]) -> _T:
    """Decode JSON as a value of a type.

    Raises:
        msgspec.DecodeError: The text is not JSON.
        msgspec.ValidationError: Its value does not fit the type.
    """
    return get_decoder(kind).decode(text)


@overload
def convert(value: object, kind: type[_T], *, strict: bool = True) -> _T: ...
@overload
def convert(value: object, kind: Any, *, strict: bool = True) -> Any: ...
def convert(value: object, kind: Any, *, strict: bool = True) -> Any:
    """Make a value of a type out of dictionaries, lists and other plain objects.

    Args:
        value: The plain objects.
        kind: The type, or a union of types.
        strict: Refuse a text in a number's place, and the like.

    Raises:
        msgspec.ValidationError: The value does not fit the type.
    """
    get_decoder(kind)
    return msgspec.convert(value, kind, strict=strict)
