"""Characters that nobody sees, or that turn around what stands beside them, by Unicode's properties.

js/src/view/format.ts has the same rule; one table of all code points holds both to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import regex

#: Controls, formats, line and paragraph separators, halves of characters, and what Unicode says is shown
#: as nothing. Not tabs and line ends. Not a joiner in a script that has letters beyond ASCII or in an
#: emoji, which are written with them, nor what chooses an emoji's look.
INVISIBLE_CHARACTERS: Final = regex.compile(
    r"(?![\t\n\r]|(?<=\p{Emoji})[\uFE0E\uFE0F]|(?<=[^\x00-\x7F\u200C\u200D])[\u200C\u200D])"
    r"[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]",
    regex.VERSION1,
)


def escape_invisible(text: str, format_character: Callable[[str], str]) -> str:
    """A text with its hidden characters replaced.

    Args:
        text: Of anyone.
        format_character: What stands for a character.
    """
    if text.isascii() and text.isprintable():
        return text
    replaced: str = INVISIBLE_CHARACTERS.sub(lambda found: format_character(found[0]), text)
    return replaced


def replace_surrogates(text: str) -> str:
    """A text in which question marks stand for halves of characters, which UTF-8 can't encode."""
    return text.encode(errors="replace").decode()


def escape_character(character: str) -> str:
    r"""A character as Python's strings have it: `\u200e`."""
    return character.encode("unicode_escape").decode("ascii")


def escape_to_one_line(text: str) -> str:
    r"""A text that neither hides anything nor begins a line: `\n` stands for a line's end."""
    line = escape_invisible(text, escape_character)
    return line if line.isprintable() else "".join(map(_on_line, line))


def _on_line(character: str) -> str:
    return escape_character(character) if character in "\t\n\r" else character
