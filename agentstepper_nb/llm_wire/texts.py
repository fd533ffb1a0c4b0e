"""Words, which every API sends as a text or as parts that carry texts."""

from __future__ import annotations

from typing import Any

#: A text, or parts of which those with a `text` are the words.
Content = str | tuple[dict[str, Any], ...] | None


def joined(content: Content, joint: str = "") -> str:
    """The words of a content; parts without words are left out."""
    if content is None or isinstance(content, str):
        return content or ""
    return joint.join(part["text"] for part in content if isinstance(part.get("text"), str))
