"""What payloads of well-known shapes say: a tool call's parts, a prompt's model, a response's usage."""

from __future__ import annotations

from typing import Any, Final

from ..errors import ProtocolError
from ..protocol.data_model import Usage

#: What no query costs; infinity and what isn't a number is as little a cost.
_MAX_COST_DOLLARS: Final = 1e12


def read_tool_call(edit: Any) -> tuple[str, Any]:
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


def find_model(prompt: Any) -> str | None:
    """The model that a prompt in the form of an LLM API asks."""
    match prompt:
        case {"model": str() as model}:
            return model
    return None


def find_usage(response: Any) -> Usage | None:
    """What a response in the form of an LLM API says that it cost."""
    match response:
        case {"usage": {"prompt_tokens": int() as asked, "completion_tokens": int() as said}}:
            pass
        case {"usage": {"input_tokens": int() as asked, "output_tokens": int() as said}}:
            pass
        case {"usage": {"inputTokens": int() as asked, "outputTokens": int() as said}}:  # Bedrock's
            pass
        case {"usageMetadata": {"promptTokenCount": int() as asked, **counts}}:  # Gemini's
            answered = counts.get("candidatesTokenCount")
            return Usage(
                input_tokens=asked, output_tokens=answered if isinstance(answered, int) else None
            )
        case _:
            return None
    return Usage(input_tokens=asked, output_tokens=said, cost=_find_cost(response["usage"]))


def _find_cost(usage: dict[str, Any]) -> float | None:
    """The cost as OpenRouter and those like it tell it, beside the tokens."""
    cost: Any = usage.get("cost")
    if type(cost) not in (int, float) or not 0 <= cost < _MAX_COST_DOLLARS:
        return None
    return float(cost)
