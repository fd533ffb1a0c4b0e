"""Whether a tool call went well, for the APIs whose results have no field for that."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

_MARKS: Final = {True: "[ok]\n", False: "[failed]\n"}


class _Outcome(Struct):
    ok: bool = True


def tell(content: str, ok: bool) -> str:
    """Give a result as it is sent, so that the model, and `hear`, know whether the call went well.

    What says so itself, as `{"ok": false, …}` does, is sent as it is; so is all that went well.
    """
    marked = content.startswith(tuple(_MARKS.values()))
    return content if not marked and _says_ok(content) is ok else _MARKS[ok] + content


def hear(sent: str) -> tuple[str, bool]:
    """Take apart again what `tell` gave: the content, and whether the call went well."""
    for ok, mark in _MARKS.items():
        if sent.startswith(mark):
            return sent.removeprefix(mark), ok
    return sent, _says_ok(sent)


def _says_ok(content: str) -> bool:
    try:
        return msgspec.json.decode(content, type=_Outcome).ok
    except (ValueError, RecursionError):  # no such object: it says nothing
        return True
