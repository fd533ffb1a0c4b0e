"""From request and rule to completion: a pure function."""

from __future__ import annotations

import json
import re
from hashlib import blake2b

from agentstepper_nb.llm_wire.chat import (
    Choice,
    Completion,
    FunctionCall,
    Message,
    Request,
    ToolCall,
    Usage,
    assistant,
    encode_question,
)

from .script import Rule


def fingerprint(request: Request) -> str:
    """A hash of the request, from which ids are made; a stream of the same answer has the same."""
    return blake2b(encode_question(request), digest_size=12).hexdigest()


def complete(rule: Rule, request: Request) -> Completion:
    """The completion that a rule gives to a request.

    Raises:
        Exception: Whatever the rule's own function raises.
        TypeError: Arguments of a call that JSON can't carry.
    """
    reply, key = rule.reply_to(request), fingerprint(request)
    calls = tuple(
        ToolCall(f"call_{key}_{index}", FunctionCall(call.tool, call.arguments_json))
        for index, call in enumerate(reply.calls)
    )
    message = assistant(reply.text, calls)
    return Completion(
        id=f"chatcmpl-{key}",
        created=0,
        model=request.model,
        choices=(Choice(0, message, "tool_calls" if calls else "stop"),),
        usage=_usage(request, message),
    )


def _usage(request: Request, answer: Message) -> Usage:
    offered = sum(_count(json.dumps(tool)) for tool in request.tools or ())
    read = offered + sum(_tokens(message) for message in request.messages)
    written = _tokens(answer)
    return Usage(read, written, read + written)


def _tokens(message: Message) -> int:
    calls = sum(_count(f"{call.function.name} {call.function.arguments}") for call in message.calls)
    return _count(message.text) + calls


def _count(text: str) -> int:
    """Words and signs: no tokenizer's count, but steady, and near enough to look at."""
    return len(re.findall(r"\w+|[^\w\s]", text))
