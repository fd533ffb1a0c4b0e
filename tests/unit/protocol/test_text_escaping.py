"""What nobody sees is told by Unicode's properties, here and in the view alike."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from agentstepper_nb.cli.terminal_text import escape_controls
from agentstepper_nb.core.summaries import extract_first_line
from agentstepper_nb.protocol.text_escaping import (
    INVISIBLE_CHARACTERS,
    escape_character,
    escape_invisible,
    escape_to_one_line,
)

#: Also of js/tests/view/words.test.ts: first and last of each range of code points.
TABLE = Path(__file__).parents[3] / "js" / "tests" / "helpers" / "hidden_characters.json"
NAMED = (
    "\u200e\u00ad\u2028\u2029\u3164\uffa0\u115f\u034f\u180e\u200b\u202e\ufeff\U000e0041\U000e01ef"
)


@pytest.mark.slow
def test_all_code_points_are_told_as_in_the_view() -> None:
    ranges = [(int(first, 16), int(last, 16)) for first, last in json.loads(TABLE.read_text())]
    told = {code for first, last in ranges for code in range(first, last + 1)}
    found = {code for code in range(0x110000) if INVISIBLE_CHARACTERS.match(f"a{chr(code)}", 1)}
    assert [hex(code) for code in sorted(told ^ found)] == []


@pytest.mark.slow
def test_the_properties_hold_all_controls_and_formats() -> None:
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    missed = [
        hex(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in kinds
        and not INVISIBLE_CHARACTERS.match(f"a{chr(code)}", 1)
    ]
    assert missed == ["0x9", "0xa", "0xd"]


@pytest.mark.parametrize("character", NAMED)
def test_what_is_named_is_seen_in_a_terminal_and_left_out_of_a_line(character: str) -> None:
    text = f"rm{character} -rf"
    assert (
        escape_controls(text) == escape_to_one_line(text) == f"rm{escape_character(character)} -rf"
    )
    assert extract_first_line(text) == "rm -rf" if character not in "\u2028\u2029" else "rm"


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d👩\u200d👧\u200d👦",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3",
        "می\u200cخواهم",
        "क्\u200dष",
        "naïve 日本",
    ],
)
def test_emoji_and_scripts_stay(text: str) -> None:
    assert (
        escape_invisible(text, escape_character)
        == escape_controls(text)
        == escape_to_one_line(text)
        == extract_first_line(text)
        == text
    )


def test_a_joiner_between_latin_letters_is_seen() -> None:
    assert escape_to_one_line("a\u200db \u200cc a\ufe0f") == "a\\u200db \\u200cc a\\ufe0f"
    assert escape_to_one_line("日\u200d\u200d") == "日\u200d\\u200d"


def test_one_line_is_one_line() -> None:
    assert escape_to_one_line("a\nb\r\n\tc\x1b[2J\x85") == "a\\nb\\r\\n\\tc\\x1b[2J\\x85"
