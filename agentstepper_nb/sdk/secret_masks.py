"""Secrets are masked before anything leaves the process.

Masked are the values of environment variables named `*KEY`, `*TOKEN` or `*SECRET`, and Authorization and
API-key headers. Each mask stands for its original, so that an edit of the text around it doesn't destroy
the secret: the agent gets it back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from os import fsdecode
from typing import Any, Final, NamedTuple

from .json_text import dump_json

_SUFFIXES: Final = ("KEY", "TOKEN", "SECRET")
_MIN_SECRET_CHARS: Final = 8

_API_KEY = re.compile(r"api[-_]?key")
_HEADER_NAME = re.compile(r"(proxy-)?authorization|([a-z]+[-_])*api[-_]?key", re.IGNORECASE)
_HEADER_TEXT = re.compile(
    r"""(?P<name>
            (?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+
          | (?:[a-z]+-)*api-key["']?\s*:\s*["']?
        )
        (?P<secret>[\w.~+/=-]{8,})""",
    re.IGNORECASE | re.VERBOSE,
)


class SecretMask:
    """Masks one message's texts, and remembers what each mask stands for."""

    def __init__(self) -> None:
        self.originals: dict[str, str] = {}
        self._secrets = _find_environment_secrets()

    def text(self, text: str) -> str:
        """Mask a text."""
        for name, secret, _ in self._secrets:
            if secret in text:
                text = text.replace(secret, self._hide(name, secret))
        if _hints_at_header(text):
            text = _HEADER_TEXT.sub(self._hide_match, text)
        return text

    def json(self, text: str) -> str:
        """Mask the strings in JSON text. A number is never touched, so that it stays JSON."""
        if not _hints_at_header(text) and not any(each.escaped in text for each in self._secrets):
            return text
        return dump_json(self._value(json.loads(text)))

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


def make_restorer(originals: dict[str, str]) -> Callable[[str], str]:
    """Give the function that puts originals back where their masks stand in a text."""
    if not originals:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, originals)))
    return lambda text: pattern.sub(lambda match: originals[match[0]], text)


class _Secret(NamedTuple):
    name: str
    value: str
    escaped: str  # as it stands inside JSON text


class _CheckedEnvironment(NamedTuple):
    """The environment as it was looked through last."""

    variables: dict[Any, Any]
    secrets: tuple[_Secret, ...]


_last_environment = _CheckedEnvironment({}, ())


def _find_environment_secrets() -> tuple[_Secret, ...]:
    """The secrets of the environment as it is now."""
    global _last_environment
    # To compare it costs a fiftieth of looking it through, but only as the system has it: encoded.
    now = getattr(os.environ, "_data", None)
    if now is None:
        return _secrets(os.environ.copy())
    seen = _last_environment
    if seen.variables != now:
        now = dict(now)  # which nobody changes meanwhile
        seen = _last_environment = _CheckedEnvironment(
            now, _secrets({fsdecode(name): fsdecode(now[name]) for name in now})
        )
    return seen.secrets


def _secrets(variables: dict[str, str]) -> tuple[_Secret, ...]:
    """The secrets among variables, longest first: one may contain another."""
    found = [
        (name, value)
        for name, value in variables.items()
        if name.endswith(_SUFFIXES) and len(value) >= _MIN_SECRET_CHARS
    ]
    found.sort(key=lambda pair: -len(pair[1]))
    return tuple(_Secret(name, value, dump_json(value)[1:-1]) for name, value in found)


def _hints_at_header(text: str) -> bool:
    lower = text.lower()
    return "authorization" in lower or _API_KEY.search(lower) is not None
