"""What a provider tells of a model that gave no answer: what went wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

#: Characters of what a service says that are told.
SHOWN: Final = 1000

_OVERLOADED: Final = {408, 409, 429}
_TOO_LONG: Final = (
    "The conversation is longer than this model takes: begin a new one, or choose another."
)
#: How services say that a conversation is too long: they all do so by a bad request.
_TOO_LONG_SIGNS: Final = (
    "context length",
    "context_length",
    "context window",
    "context size",  # llama.cpp
    "prompt is too long",
)


@dataclass(frozen=True)
class Problems:
    """Puts failures into words; each is the data of a `TraceEvent("error", …)`.

    Args:
        where: The model and its address, to begin a sentence with.
        key: The variable that has the key.
        url: The variable that has the address.
    """

    where: str
    key: str
    url: str

    def timed_out(self) -> dict[str, Any]:
        """Nothing came for too long."""
        text = f"{self.where} said nothing for too long. Try again, or look whether it still runs."
        return {"kind": "timeout", "message": text}

    def unreachable(self, why: object) -> dict[str, Any]:
        """There is no connection."""
        text = f"{self.where} can't be reached: {why}. Look at {self.url} and the network."
        return {"kind": "unreachable", "message": text}

    def broken(self, why: object) -> dict[str, Any]:
        """The connection was lost in the midst of an answer."""
        text = f"{self.where} broke off in the midst of its answer: {why}. Try again."
        return {"kind": "cut", "message": text}

    def failed(self, why: object) -> dict[str, Any]:
        """The request couldn't even be made."""
        return {"kind": "invalid", "message": f"{self.where} can't be asked: {why}"}

    def no_model(self, content_type: str) -> dict[str, Any]:
        """What stands at that address is no model."""
        text = (
            f"{self.where} answered with {content_type}, as no model does. Look at {self.url}: most "
            "addresses of this kind end in /v1."
        )
        return {"kind": "invalid", "message": text}

    def refused(self, status: int, body: object) -> dict[str, Any]:
        """It answered with an error."""
        busy = status in _OVERLOADED or status >= 500
        said = _said(body)
        answered = f"{self.where} answered {status}{f': {said}' if said else ''}"
        text = f"{answered.rstrip('.')}. {self._advice(status, said)}".rstrip()
        return {"kind": "overloaded" if busy else "refused", "message": text, "status": status}

    def _advice(self, status: int, said: str) -> str:
        if status == 413 or any(sign in said.lower() for sign in _TOO_LONG_SIGNS):
            return _TOO_LONG
        match status:
            case 401:
                return f"Set {self.key} to a key that is valid there."
            case 403:
                return f"The key in {self.key} may not do this: use another, or another model."
            case 404:
                return f"Choose a model that is served there, or correct {self.url}."
            case 429:
                return "Too many requests, or no credit is left: wait, or look at the account."
            case _ if status >= 500:
                return "It is overloaded or out of order: try again later."
        return ""


def _said(body: object) -> str:
    """The words of an error's body, whose form differs from service to service."""
    while isinstance(body, Mapping):
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), None)
    said = str(body or "").strip()
    return said if len(said) <= SHOWN else f"{said[:SHOWN]}…"
