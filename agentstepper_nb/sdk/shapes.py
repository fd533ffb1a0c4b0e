"""What values of well-known shapes say: a tool call, and what LLM APIs send and answer."""

from __future__ import annotations

from typing import Any, Final

from ..errors import ProtocolError
from ..protocol.values import Usage

#: What no query costs; infinity and what isn't a number is as little a cost.
_MOST: Final = 1e12


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
            pass
        case {"usage": {"input_tokens": int() as asked, "output_tokens": int() as said}}:
            pass
        case _:
            return None
    return Usage(input_tokens=asked, output_tokens=said, cost=_dollars(response["usage"]))


def _dollars(usage: dict[str, Any]) -> float | None:
    """The cost as OpenRouter and those like it tell it, beside the tokens."""
    cost: Any = usage.get("cost")
    if type(cost) not in (int, float) or not 0 <= cost < _MOST:
        return None
    return float(cost)
