from __future__ import annotations

import pytest

from agentstepper_nb.cli.terminal_text import (
    escape_controls,
    find_json_error,
    fold_text,
    format_readable,
    indent_json,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines", "two\nlines"),
        ("windows\r\nlines", "windows\nlines"),
        ("back\rover", r"back\rover"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("right-to-left \u202e", r"right-to-left \u202e"),
        ("null\0delete\x7f", r"null\x00delete\x7f"),
        ("half \ud800", r"half \ud800"),
        ("line\u2028end", r"line\u2028end"),
        ("tab\tstop", "tab    stop"),
        ("wide\u3000and\xa0hard", "wide\u3000and\xa0hard"),
        ("family 👨\u200d👩", "family 👨\u200d👩"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_numbers_keys_and_escapes_stay_as_they_were_written() -> None:
    data = r'{"b":1.0,"a":12345678901234567890,"a":1e400,"s":"\u00e9\/"}'
    assert indent_json(data).split() == [
        *("{", '"b":', "1.0,", '"a":', "12345678901234567890,", '"a":', "1e400,"),
        *('"s":', r'"\u00e9\/"', "}"),
    ]


@pytest.mark.parametrize("data", ["[NaN]", "{", "[" * 100_000])
def test_what_is_not_strict_json_is_given_back(data: str) -> None:
    assert indent_json(data) == data
    assert format_readable(data) == data


def test_a_text_is_read_as_such() -> None:
    assert format_readable(r'"first\nsecond é"') == "first\nsecond é"


def test_long_texts_inside_are_broken_at_their_line_ends() -> None:
    data = '{"short": "a\\nb", "long": "' + "x" * 100 + r"\nnext\\name\\\nlast" + '"}'
    assert format_readable(data) == "\n".join(
        [
            "{",
            r'  "short": "a\nb",',
            f'  "long": "{"x" * 100}\\n',
            *[r"    next\\name\\\n", '    last"', "}"],
        ]
    )


def test_long_messages_are_folded() -> None:
    text = "\n".join(str(number) for number in range(100))
    lines = fold_text(text, "v 3 shows all").split("\n")
    assert len(lines) == 41
    assert lines[31:34] == ["31", "… 60 more lines: v 3 shows all", "92"]
    assert (
        fold_text("x" * 2001, "v 3 shows all") == "x" * 2000 + "… 1 more characters: v 3 shows all"
    )
    short = "\n".join("x" * 40)
    assert fold_text(short, "") == short


@pytest.mark.parametrize("text", ["null", '""', "{}", '{"a": [1, 2.0]}', '"\\ud800"'])
def test_json_has_nothing_to_complain_of(text: str) -> None:
    assert find_json_error(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1: Expecting value"),
        ('{\n  "a" 1\n}', "line 2, column 7: Expecting ':' delimiter"),
        ("[NaN]", "NaN is no JSON number"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    complained = find_json_error(text)
    assert complained and said in complained
