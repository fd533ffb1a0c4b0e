"""Makes the pieces of answers: what an agent yields beside plain text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ..protocol.chat import AgentOutput, MessageType


def text(content: str) -> AgentOutput:
    """Some text, as a plain `str` is."""
    return AgentOutput(content=content)


def code(
    content: str,
    language: str,
    *,
    format: Literal["source", "result"] = "source",
    is_new_block: bool = False,
) -> AgentOutput:
    """Some code, or what it gave.

    Args:
        content: The code, or more of what is being said.
        language: Its language.
        format: Whether it is code, or a result.
        is_new_block: Whether it is a block of its own, also after a piece of the same kind.
    """
    return AgentOutput(
        type=MessageType.CODE.value,
        content=content,
        language=language,
        format=format,
        is_new_block=is_new_block,
    )


def code_file(path: str | Path, language: str) -> AgentOutput:
    """The code in a file below the allowed paths, as it is when somebody looks."""
    return AgentOutput(
        type=MessageType.CODE.value, path=str(path), language=language, format="source"
    )


def console(content: str) -> AgentOutput:
    """Some output of a program, said by the computer."""
    return AgentOutput(type=MessageType.CONSOLE.value, content=content, role="computer")


def image(
    source: bytes | str | Path, *, media_type: str | None = None, alt: str = ""
) -> AgentOutput:
    """A picture: its bytes, or a file below the allowed paths. PNG, JPEG, GIF or WebP.

    Args:
        source: The bytes, or the path.
        media_type: As the bytes say; None: it is taken from them.
        alt: What it shows, in words.
    """
    if isinstance(source, bytes):
        return AgentOutput(
            type=MessageType.IMAGE.value, data=source, media_type=media_type, content=alt
        )
    return AgentOutput(
        type=MessageType.IMAGE.value, path=str(source), media_type=media_type, content=alt
    )


def call(name: str, arguments: Any, *, call_id: str | None = None) -> AgentOutput:
    """A function is called; `result` with the same id says what came of it."""
    return AgentOutput(
        type=MessageType.FUNCTION.value, name=name, arguments=arguments, call_id=call_id
    )


def result(call_id: str | None, value: Any, *, ok: bool = True) -> AgentOutput:
    """What a call came to; without an id, the newest one's."""
    return AgentOutput(
        type=MessageType.FUNCTION.value,
        role="computer",
        call_id=call_id,
        result=value,
        ok=ok,
    )


def confirmation(
    content: str, choices: Sequence[str] = ("Yes", "No"), *, details: object = None
) -> AgentOutput:
    """A question to the person. A generator that yields it is sent the choice.

    Args:
        content: What is asked.
        choices: What may be chosen.
        details: JSON values to be shown with it.
    """
    return AgentOutput(
        type=MessageType.CONFIRMATION.value,
        content=content,
        choices=tuple(choices),
        details=details,
    )
