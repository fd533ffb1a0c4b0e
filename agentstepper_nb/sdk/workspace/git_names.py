"""Names: a file's on the wire and in git's own quotation, a run's as a branch."""

from __future__ import annotations

import re
import time

# What `git check-ref-format` refuses anywhere in a name, and white space.
_REFUSED = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\s\ud800-\udfff]")
_PROGRAM_BYTES = 120  # a component of a ref is a file name: 255 bytes at most, ".lock" included

_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')
_QUOTED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


def format_wire_name(name: bytes) -> str:
    r"""A file's name as valid Unicode; a byte that isn't UTF-8 shows as `\xe9`."""
    return name.decode("utf-8", "backslashreplace")


def escape_invalid(text: str) -> str:
    """Make text fit for git and the wire: NUL and lone surrogates show as escapes."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def escape_line_breaks(text: str) -> str:
    """Show what would break a line, or not print at all, as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quote_name(path: bytes) -> bytes:
    """Quote a path as C does, which is how git takes any name."""
    return b'"%b"' % b"".join(b"%c" % c if c in _PLAIN else b"\\%03o" % c for c in path)


def unquote_name(path: bytes) -> bytes:
    """Undo git's quotation, which it uses only for names that need it."""
    if not path.startswith(b'"'):
        return path
    return _QUOTED.sub(_unescaped, path[1:-1])


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _LETTERS.get(code, code)


def make_branch_name(program: str, at: float) -> str:
    """The branch of a run.

    Args:
        program: The agent's name.
        at: The time of the run's start, in POSIX seconds; shown in local time, for people.

    Returns:
        A name that git accepts, not yet unique.
    """
    moment = time.strftime("%Y%m%d-%H%M%S", time.localtime(at))
    return f"{_as_ref(program) or 'agent'}/runs/{moment}"


def make_snapshots_branch(run: str) -> str:
    """The branch of a run's snapshots, beside the run's own: `agent/steps/…` of `agent/runs/…`."""
    program, _, moment = run.rpartition("/runs/")
    return f"{program}/steps/{moment}"


def _as_ref(program: str) -> str:
    """Leave out what git refuses in the name of a ref."""
    name = _REFUSED.sub("", program).encode()[:_PROGRAM_BYTES].decode("utf-8", "ignore")
    name = re.sub(r"@\{+", "@", re.sub(r"\.{2,}", ".", name))
    return "/".join(filter(None, map(_as_component, name.split("/"))))


def _as_component(part: str) -> str:
    part = part.lstrip(".-")
    while part.endswith((".lock", ".")):
        part = part.removesuffix(".lock").rstrip(".")
    return part
