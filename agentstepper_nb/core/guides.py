"""Guides: messages that a person adds to a prompt, each in the prompt's own form.

What stands in the prompt already stays as the agent wrote it, character by character.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Raw

from ..errors import CommandError
from ..protocol.breakpoint_rules import MAX_BREAKPOINTS
from ..protocol.data_model import EventKind, EventSide, HaltPoint

_ROLE: Final = "user"
#: Members of a prompt that hold its messages: Chat Completions and Messages, Responses, Gemini.
_MESSAGE_MEMBERS: Final = ("messages", "input", "contents")
#: Members that hold a prompt's only text, of functions that take one.
_TEXT_MEMBERS: Final = ("prompt", "question", "query", "text", "message", "content")
#: The most guides of one prompt.
MAX_GUIDES: Final = MAX_BREAKPOINTS

_encode = msgspec.json.Encoder().encode


def add_guide(prompt: str, text: str) -> str | None:
    """A prompt with a message added at its end.

    Args:
        prompt: JSON text.
        text: The message.

    Returns:
        JSON text; None where the prompt has no place for a message.
    """
    try:
        made = _add(Raw(prompt.encode()), text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return None if made is None else str(made, "utf-8")


def keep_guides(guides: tuple[str, ...], edit: str | None) -> tuple[str, ...]:
    """The guides of a prompt whose texts are still in an edit of the prompt."""
    if edit is None or not guides:
        return ()
    try:
        whole = msgspec.json.decode(edit)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ()
    return tuple(guide for guide in guides if _has_text(whole, guide))


def check_guide(current: HaltPoint, base: str, text: str) -> str:
    """A pending prompt with a message added.

    Args:
        current: The halt point.
        base: JSON text to add it to: the prompt, or its edit.
        text: The message.

    Raises:
        CommandError: `cannot_guide`.
    """
    is_query = current.kind is EventKind.LLM_QUERY and current.side is EventSide.BEGIN
    made = add_guide(base, text) if is_query else None
    if made is None:
        why = (
            "This prompt has a form to which no message can be added"
            if is_query
            else "Only the prompt of an LLM query that hasn't been sent can be guided"
        )
        raise CommandError(
            "cannot_guide", f"{why}. Edit the data of this halt point instead.", current.run
        )
    return made


def _add(prompt: Raw, text: str) -> Raw | None:
    match _kind(prompt):
        case "text":
            return _append_text(prompt, text)
        case "list":
            return _append_message(msgspec.json.decode(prompt, type=list[Raw]), text)
        case "object":
            return _add_to_member(msgspec.json.decode(prompt, type=dict[str, Raw]), text)
    return None


def _add_to_member(prompt: dict[str, Raw], text: str) -> Raw | None:
    """Add a message to the member of a prompt that has the messages, or its only text."""
    for name in _MESSAGE_MEMBERS:
        if name not in prompt:
            continue
        made = _add_to_messages(name, prompt[name], text)
        if made is not None:
            return Raw(_encode({**prompt, name: made}))
    for name in _TEXT_MEMBERS:
        if name in prompt and _kind(prompt[name]) in ("text", "list"):
            made = _add(prompt[name], text)
            return None if made is None else Raw(_encode({**prompt, name: made}))
    return None


def _add_to_messages(name: str, messages: Raw, text: str) -> Raw | None:
    if name == "contents":
        return _add_content(messages, text)
    if _kind(messages) == "list":
        return _append_message(msgspec.json.decode(messages, type=list[Raw]), text)
    if _kind(messages) == "text" and name == "input":  # of the Responses API: a user's one message
        first = {"role": _ROLE, "content": messages}
        return Raw(_encode([first, {"role": _ROLE, "content": text}]))
    return _append_text(messages, text) if _kind(messages) == "text" else None


def _add_content(contents: Raw, text: str) -> Raw | None:
    """Gemini's: a list of contents, or one content or text alone."""
    added = {"role": _ROLE, "parts": [{"text": text}]}
    match _kind(contents):
        case "list":
            return Raw(_encode([*msgspec.json.decode(contents, type=list[Raw]), added]))
        case "object":
            return Raw(_encode([contents, added]))
        case "text":
            return Raw(_encode([{"role": _ROLE, "parts": [{"text": contents}]}, added]))
    return None


def _append_message(messages: list[Raw], text: str) -> Raw | None:
    """Add to a list of messages, in the form of those that are there."""
    if messages and all(_kind(each) == "text" for each in messages):
        return Raw(_encode([*messages, text]))
    if any(_kind(each) != "object" for each in messages):
        return None
    return Raw(_encode([*messages, _make_message(messages, text)]))


def _make_message(messages: list[Raw], text: str) -> dict[str, Any]:
    known = [msgspec.json.decode(each, type=dict[str, Raw]) for each in messages]
    if known and all("parts" in each for each in known):
        return {"role": _ROLE, "parts": [{"text": text}]}
    if any(_has_bare_blocks(each.get("content")) for each in known):
        return {"role": _ROLE, "content": [{"text": text}]}
    return {"role": _ROLE, "content": text}


def _has_bare_blocks(content: Raw | None) -> bool:
    """Whether a message's content has blocks without a type, as Bedrock's Converse has them."""
    if content is None or _kind(content) != "list":
        return False
    blocks = msgspec.json.decode(content)
    return any(isinstance(block, dict) and "type" not in block for block in blocks)


def _append_text(before: Raw, text: str) -> Raw:
    return Raw(_encode(f"{msgspec.json.decode(before, type=str)}\n\n{text}"))


def _kind(raw: Raw) -> str:
    first = bytes(raw).lstrip()[:1]
    return {b'"': "text", b"[": "list", b"{": "object"}.get(first, "other")


def _has_text(value: Any, text: str) -> bool:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            if text in item:
                return True
        elif isinstance(item, dict):
            left += item.values()
        elif isinstance(item, list):
            left += item
    return False
