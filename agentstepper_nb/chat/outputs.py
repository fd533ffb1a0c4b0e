"""Makes answer items: the values that an agent yields besides plain text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ..protocol.chat import AgentOutput, MessageType


def text(content: str) -> AgentOutput:
    """Make a text, as a plain `str` is."""
    return AgentOutput(content=content)


def code(
    content: str,
    language: str,
    *,
    format: Literal["source", "result"] = "source",
    is_new_block: bool = False,
) -> AgentOutput:
    """Make a code block, or the output of code.

    Args:
        content: The code, or a further piece of the block in progress.
        language: The code's language.
        format: Whether the content is code, or a result.
        is_new_block: Whether to begin a new block, also after an item of the same kind.
    """
    return AgentOutput(
        type=MessageType.CODE.value,
        content=content,
        language=language,
        format=format,
        is_new_block=is_new_block,
    )


def code_file(path: str | Path, language: str) -> AgentOutput:
    """Show a code file below the allowed paths, in the state in which it is when it is viewed."""
    return AgentOutput(
        type=MessageType.CODE.value, path=str(path), language=language, format="source"
    )


def console(content: str) -> AgentOutput:
    """Make a program's output, which the computer says."""
    return AgentOutput(type=MessageType.CONSOLE.value, content=content, role="computer")


def image(
    source: bytes | str | Path, *, media_type: str | None = None, alt: str = ""
) -> AgentOutput:
    """Show an image: PNG, JPEG, GIF or WebP, as bytes or as a file below the allowed paths.

    Args:
        source: The bytes, or the path.
        media_type: The media type of the bytes; None: detected from the bytes.
        alt: A description of the image.
    """
    if isinstance(source, bytes):
        return AgentOutput(
            type=MessageType.IMAGE.value, data=source, media_type=media_type, content=alt
        )
    return AgentOutput(
        type=MessageType.IMAGE.value, path=str(source), media_type=media_type, content=alt
    )


def call(name: str, arguments: Any, *, call_id: str | None = None) -> AgentOutput:
    """Make a function call; a `result` with the same id has the call's result."""
    return AgentOutput(
        type=MessageType.FUNCTION.value, name=name, arguments=arguments, call_id=call_id
    )


def result(call_id: str | None, value: Any, *, ok: bool = True) -> AgentOutput:
    """Make the result of a function call; without an id, of the newest call."""
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
    """Make a question to the person. The `yield` of it in a generator returns the choice.

    Args:
        content: The question.
        choices: The choices.
        details: JSON values to show with the question.
    """
    return AgentOutput(
        type=MessageType.CONFIRMATION.value,
        content=content,
        choices=tuple(choices),
        details=details,
    )
