"""Secrets are masked before anything leaves the process.

Masked are the values of environment variables named `*KEY`, `*TOKEN` or `*SECRET`, and Authorization and
API-key headers. Each mask stands for its original, so that an edit of the text around it doesn't destroy
the secret: the agent gets it back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final

from .jsontext import dump, load, walk

_SUFFIXES: Final = ("KEY", "TOKEN", "SECRET")
_SHORTEST: Final = 8

_API_KEYS: Final = ("api-key", "api_key", "apikey")

_HEADER_NAME = re.compile(r"(proxy-)?authorization|([a-z]+[-_])*api[-_]?key", re.IGNORECASE)
_HEADER_TEXT = re.compile(
    r"""(?P<name>
            (?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+
          | (?:[a-z]+-)*api-key["']?\s*:\s*["']?
        )
        (?P<secret>[\w.~+/=-]{8,})""",
    re.IGNORECASE | re.VERBOSE,
)


class Mask:
    """Masks one message's texts, and remembers what each mask stands for."""

    def __init__(self) -> None:
        self.originals: dict[str, str] = {}
        self._secrets = _environment()

    def text(self, text: str) -> str:
        """Mask a text."""
        for name, secret in self._secrets:
            if secret in text:
                text = text.replace(secret, self._hide(name, secret))
        if _hints_at_header(text):
            text = _HEADER_TEXT.sub(self._hide_match, text)
        return text

    def json(self, text: str) -> str:
        """Mask the strings in JSON text. A number is never touched, so that it stays JSON."""
        if not _hints_at_header(text) and not any(_escaped(s) in text for _, s in self._secrets):
            return text
        return dump(self._value(load(text)))

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.text(key): self._item(key, item) for key, item in value.items()}
        if isinstance(value, list):
            match value:
                case [str() as name, str() as secret] if _HEADER_NAME.fullmatch(name):
                    return [name, self._hide(name, secret)]
            return [self._value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _item(self, key: str, item: Any) -> Any:
        if isinstance(item, str) and item and _HEADER_NAME.fullmatch(key):
            return self._hide(key, item)
        return self._value(item)

    def _hide_match(self, match: re.Match[str]) -> str:
        name = re.split(r"[\"'\s:=]", match["name"], maxsplit=1)[0]
        return match["name"] + self._hide(name, match["secret"])

    def _hide(self, name: str, secret: str) -> str:
        number = 1
        while True:
            mask = f"[masked {name}]" if number == 1 else f"[masked {name} {number}]"
            if self.originals.setdefault(mask, secret) == secret:
                return mask
            number += 1


def restorer(originals: dict[str, str]) -> Callable[[str], str]:
    """Give the function that puts originals back where their masks stand in a text."""
    if not originals:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, originals)))
    return lambda text: pattern.sub(lambda match: originals[match[0]], text)


def unmask(value: Any, originals: dict[str, str]) -> Any:
    """Give an edited JSON value with the originals of its masks."""
    return walk(value, restorer(originals)) if originals else value


def _environment() -> list[tuple[str, str]]:
    """The secrets of the environment as it is now, longest first: one may contain another."""
    names = [name for name in os.environ if name.endswith(_SUFFIXES)]
    found = [(name, os.environ.get(name, "")) for name in names]
    return sorted(
        (pair for pair in found if len(pair[1]) >= _SHORTEST), key=lambda pair: -len(pair[1])
    )


def _hints_at_header(text: str) -> bool:
    lower = text.lower()
    if "authorization" in lower:
        return True
    return "api" in lower and any(word in lower for word in _API_KEYS)


def _escaped(secret: str) -> str:
    """A secret as it stands inside JSON text."""
    return secret if secret.isalnum() else dump(secret)[1:-1]
