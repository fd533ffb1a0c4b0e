"""Completes a line of `%agentstepper`, for the Tab key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from .agentstepper_magics import COMMAND_NAMES

_FIRST_WORDS: Final = (*COMMAND_NAMES, "--kernel", "--input", "--export", "--run")
_PLACES: Final = ("any", "tool", "llm", "event", "start", "error")
_WATCHES: Final = ("tokens", "cost", "repeated", "touches")
_OPTIONS: Final = ("hit", "once", "log", "for", "all", "where")
_NEXT_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "before": (*_PLACES, *_OPTIONS),
    "after": (*_PLACES, *_OPTIONS),
    "all": ("agents",),
    # A name, a number or an expression follows, which nobody here knows.
    **dict.fromkeys(("tokens", "cost", "repeated", "touches", "hit", "for", "where"), ()),
}


def list_candidates(line: str, chats: Callable[[], Sequence[str]] = tuple) -> list[str]:
    """List the words that may come next.

    Args:
        line: The line up to the cursor, with the magic's name.
        chats: Lists the names of chats.
    """
    words = line.split()[1:]
    begun = words.pop() if words and not line[-1].isspace() else ""
    return [word for word in _next(words, chats) if word.startswith(begun)]


def _next(words: list[str], chats: Callable[[], Sequence[str]]) -> Sequence[str]:
    match words:
        case []:
            return _FIRST_WORDS
        case ["chat"]:
            return chats()
        case ["nest"]:
            return ("on",)
        case ["price"]:
            return ("delete",)
        case ["break", *rest]:
            return _complete_breakpoint(rest)
    return ()


def _complete_breakpoint(words: list[str]) -> Sequence[str]:
    match words:
        case []:
            return (
                "before",
                "after",
                *_PLACES,
                *_WATCHES,
                "enable",
                "disable",
                "delete",
                "dry-run",
            )
        case ["dry-run"]:
            return ("before", "after", *_PLACES, *_WATCHES)
        case ["enable" | "disable" | "delete", *numbers]:
            return () if numbers else ("all",)
        case _ if "where" in words:
            return ()
        case [*_, "repeated", _]:
            return ("overall", *_OPTIONS)
        case [*_, last] if last in _NEXT_WORDS:
            return _NEXT_WORDS[last]
    return ("error", *_WATCHES, *_OPTIONS)


def complete(shell: Any, event: Any) -> list[str]:
    """Complete a line, as a hook of IPython's completer."""

    def chats() -> list[str]:
        from .chat_magic import list_chat_names

        return list_chat_names(shell.user_ns)

    return list_candidates(event.text_until_cursor, chats)
