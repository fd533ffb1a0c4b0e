"""What values of well-known shapes say: a tool call, and what LLM APIs send and answer."""

from __future__ import annotations

from typing import Any

from ..errors import ProtocolError
from ..protocol.values import Usage


def read_call(edit: Any) -> tuple[str, Any]:
    """Read a tool call.

    Raises:
        ProtocolError: `invalid_edit`. The Core refuses such an edit; this is for the ones that don't.
    """
    match edit:
        case {"Tool": str() as tool, "Argument": args, **rest} if not rest:
            return tool, args
    raise ProtocolError(
        "invalid_edit", 'The edit of this tool call isn\'t {"Tool": text, "Argument": any}.'
    )


def model_of(prompt: Any) -> str | None:
    """The model that a prompt in the form of an LLM API asks."""
    match prompt:
        case {"model": str() as model}:
            return model
    return None


def usage_of(response: Any) -> Usage | None:
    """What a response in the form of an LLM API says that it cost."""
    match response:
        case {"usage": {"prompt_tokens": int() as asked, "completion_tokens": int() as said}}:
            return Usage(input_tokens=asked, output_tokens=said)
        case {"usage": {"input_tokens": int() as asked, "output_tokens": int() as said}}:
            return Usage(input_tokens=asked, output_tokens=said)
    return None
