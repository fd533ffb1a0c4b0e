"""What a path has to look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.coding.safe_paths import (
    DEPTH_LIMIT,
    MAX_NAME_BYTES,
    MAX_PATH_BYTES,
    check_path,
    split_path,
)
from agentstepper_nb.errors import UnsafePathError

REFUSED = [
    "",
    "/",
    "/etc/passwd",
    "//etc",
    "C:\\Windows",
    "C:/Windows",
    "c:",
    "c:evil",
    "\\\\server\\share",
    "//server/share",
    "\\",
    "a\\b",
    "..\\..\\etc",
    "~",
    "~/x",
    "~root/x",
    "a\0b",
    "\0",
    "a\nb",
    "a\rb",
    "\x1b[2J",
    "a\x7f",
    "a\u0085b",
    "a\u2028b",
    "a\u202egpj.exe",
    "\u2066a",
    "\ud800",
    "x" * (MAX_NAME_BYTES + 1),
    "é" * (MAX_NAME_BYTES // 2 + 1),
    "x/" * (MAX_PATH_BYTES // 2 + 1),
    "x/" * (DEPTH_LIMIT + 1),
]


def named(path: str) -> str:
    return f"{path[:20]!a}-{len(path)}"


@pytest.mark.parametrize("path", REFUSED, ids=named)
def test_what_is_refused(path: str) -> None:
    with pytest.raises(UnsafePathError, match="is refused"):
        split_path(path)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (".", ()),
        ("./", ()),
        ("a", ("a",)),
        ("./a//b/./c/", ("a", "b", "c")),
        ("a/../b", ("a", "..", "b")),
        ("a~", ("a~",)),
        ("a/~", ("a", "~")),
        ("...", ("...",)),
        ("..a/b..", ("..a", "b..")),
        ("ab:c", ("ab:c",)),
        ("a b/ä/日本", ("a b", "ä", "日本")),
        ("-rf", ("-rf",)),
        ("x" * MAX_NAME_BYTES, ("x" * MAX_NAME_BYTES,)),
        ("x/" * DEPTH_LIMIT, ("x",) * DEPTH_LIMIT),
    ],
)
def test_what_is_read(path: str, names: tuple[str, ...]) -> None:
    assert split_path(path) == names


@given(st.text())
def test_it_gives_names_or_says_why_not(path: str) -> None:
    try:
        names = split_path(path)
    except UnsafePathError as error:
        assert error.reason
    else:
        assert all(name and name != "." and "/" not in name for name in names)
        assert not any(character < " " for character in path)


def test_a_refusal_shows_no_more_of_a_path_than_needed() -> None:
    with pytest.raises(UnsafePathError) as refused:
        check_path("x" * 100_000)
    assert len(str(refused.value)) < 400
