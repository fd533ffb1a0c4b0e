"""When a rule speaks: conditions on a request, joined with `&`, `|` and `~`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from agentstepper_nb.llm_wire.chat import Request


@dataclass(frozen=True)
class Condition:
    """A question about a request, and how it reads in a script."""

    text: str
    test: Callable[[Request], bool]

    def __call__(self, request: Request) -> bool:
        """Whether it holds for this request."""
        return self.test(request)

    def __str__(self) -> str:
        return self.text

    def __and__(self, other: Condition) -> Condition:
        return Condition(f"{self} & {other}", lambda request: self(request) and other(request))

    def __or__(self, other: Condition) -> Condition:
        return Condition(f"({self} | {other})", lambda request: self(request) or other(request))

    def __invert__(self) -> Condition:
        return Condition(f"~({self})", lambda request: not self(request))


def turn_of(request: Request) -> int:
    """The turn that a request asks for: how many of its messages are the assistant's."""
    return sum(message.role == "assistant" for message in request.messages)


def last_tool_result(request: Request, tool: str) -> str | None:
    """What the newest call of a tool gave, as the agent told it; None where there was none."""
    calls = {call.id: call.function.name for message in request.messages for call in message.calls}
    for message in reversed(request.messages):
        if message.role == "tool" and calls.get(message.tool_call_id or "") == tool:
            return message.text
    return None


def turn(number: int) -> Condition:
    """It is this turn, counted from 0."""
    return Condition(f"turn({number})", lambda request: turn_of(request) == number)


def says(role: str, pattern: str) -> Condition:
    """The newest message of a role contains a match of a regular expression.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search

    def test(request: Request) -> bool:
        spoken = [message.text for message in request.messages if message.role == role]
        return bool(spoken) and search(spoken[-1]) is not None

    return Condition(f"says({role!r}, {pattern!r})", test)


def last_says(pattern: str) -> Condition:
    """The newest message, whoever speaks, contains a match of a regular expression.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search
    return Condition(
        f"last_says({pattern!r})",
        lambda request: bool(request.messages and search(request.messages[-1].text)),
    )


def tool_says(tool: str, pattern: str) -> Condition:
    """The newest result of a tool contains a match of a regular expression.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search

    def test(request: Request) -> bool:
        result = last_tool_result(request, tool)
        return result is not None and search(result) is not None

    return Condition(f"tool_says({tool!r}, {pattern!r})", test)


def where(text: str, test: Callable[[Request], bool]) -> Condition:
    """A condition of your own; `text` stands for it where rules are listed."""
    return Condition(f"where({text!r})", test)


#: Holds for every request; for the last rule of a script.
always = Condition("always", lambda _: True)
