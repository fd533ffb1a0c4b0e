"""A tool's schema as a small model can be held to it: no text or list goes on until the limit."""

from __future__ import annotations

from typing import Any, Final

#: Characters of one text; the grammar that llama.cpp makes of a schema allows no 2,000.
MAX_TEXT: Final = 1000
#: Entries of one list.
MAX_ITEMS: Final = 16
#: Where a schema has further ones.
_INSIDE: Final = ("items", "additionalProperties", "contains", "not", "if", "then", "else")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS: Final = ("properties", "patternProperties")
#: What already says how long a text is.
_FIXED: Final = ("enum", "const", "format", "pattern")


def bounded(
    schema: dict[str, Any], tokens: int, prefix: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Limit the texts and lists of a schema.

    Args:
        schema: A tool's; what it refers to is in its own `$defs`.
        tokens: The longest answer: no text is longer, even of one character a token.
        prefix: What its definitions are called by in a schema that holds several tools.

    Returns:
        The schema without its definitions, and these by their new names.
    """
    bounds = _Bounds(max(1, min(MAX_TEXT, tokens)), prefix)
    own = {name: bounds.of(inside) for name, inside in schema.get("$defs", {}).items()}
    inside = {key: value for key, value in schema.items() if key != "$defs"}
    result: dict[str, Any] = bounds.of(inside)
    return result, {f"{prefix}{name}": value for name, value in own.items()}


class _Bounds:
    def __init__(self, text: int, prefix: str) -> None:
        self._text = text
        self._prefix = prefix

    def of(self, schema: Any) -> Any:
        if not isinstance(schema, dict):  # true and false are schemas as well
            return schema
        new = {key: self._inside(key, value) for key, value in schema.items()}
        kinds = new.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        self._anchor(new)
        if "string" in kinds and not any(key in new for key in _FIXED):
            new["maxLength"] = min(new.get("maxLength", self._text), self._text)
        if "array" in kinds:
            new["maxItems"] = min(new.get("maxItems", MAX_ITEMS), MAX_ITEMS)
        if "properties" in new:
            new.setdefault("additionalProperties", False)
        return new

    def _inside(self, key: str, value: Any) -> Any:
        if key == "$ref" and isinstance(value, str):
            return value.replace("#/$defs/", f"#/$defs/{self._prefix}", 1)
        if key in _INSIDE:
            return self.of(value)
        if key in _LISTS and isinstance(value, list):
            return [self.of(inside) for inside in value]
        if key in _MAPS and isinstance(value, dict):
            return {name: self.of(inside) for name, inside in value.items()}
        return value

    def _anchor(self, schema: dict[str, Any]) -> None:
        """Leave out a pattern that says nothing of the whole text: llama.cpp refuses it."""
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not (pattern.startswith("^") and pattern.endswith("$")):
            del schema["pattern"]
