"""Conversations that grow, in real prose: a model is sent all that was said, each time."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle, islice
from pydoc_data.topics import topics
from typing import Any, Final, NamedTuple

from tests.helpers.growing_agent import SAID, TOOLS

#: Every so many turns something happens to a conversation beside that it grows.
EVERY: Final = 10
#: Turns that another agent takes by itself.
APART: Final = 20
#: Bytes of an image.
IMAGE: Final = 30_000


class Turn(NamedTuple):
    """What a model is sent, what it says, and what the tool gives that is called for it."""

    prompt: dict[str, Any]
    said: dict[str, Any]  # a message of the next prompt
    whole: dict[str, Any] | None = None  # the answer around it
    result: str | None = None


class Talk:
    """One conversation, in which nothing is said twice.

    Args:
        seed: Another one says other things.
    """

    def __init__(self, seed: int = 0) -> None:
        self.chance = random.Random(seed)
        self.messages: list[dict[str, Any]] = []
        text = "".join(topics.values())
        start = self.chance.randrange(len(text))
        self._prose = cycle(text[start:] + text[:start])

    def turn(self, **more: Any) -> Turn:
        """Ask once more."""
        self.messages.append(self.said("user", **more))
        prompt = {"model": "m", "messages": list(self.messages), "tools": TOOLS}
        self.messages.append(self.said("assistant"))
        return Turn(prompt, self.messages[-1])

    def said(self, role: str, **more: Any) -> dict[str, Any]:
        """A new message."""
        return {"role": role, "content": "".join(islice(self._prose, SAID)), **more}


def grows(turns: int) -> Iterator[Turn]:
    """It only grows."""
    talk = Talk()
    for _ in range(turns):
        yield talk.turn()


def edited(turns: int) -> Iterator[Turn]:
    """One of the first messages is edited now and then."""
    talk = Talk()
    for number in range(turns):
        yield talk.turn()
        if number % EVERY == EVERY - 1:
            talk.messages[talk.chance.randrange(EVERY)] = talk.said("user")


def summarised(turns: int) -> Iterator[Turn]:
    """All but the end is cut and summarised now and then."""
    talk = Talk()
    for number in range(turns):
        yield talk.turn()
        if number % (5 * EVERY) == 5 * EVERY - 1:
            talk.messages[:-EVERY] = [talk.said("system")]


def illustrated(turns: int) -> Iterator[Turn]:
    """A message has an image now and then."""
    talk = Talk()
    for number in range(turns):
        if number % EVERY:
            yield talk.turn()
        else:
            image = base64.b64encode(talk.chance.randbytes(IMAGE * 3 // 4)).decode()
            yield talk.turn(images=[f"data:image/png;base64,{image}"])


def delegated(turns: int) -> Iterator[Turn]:
    """Another agent is asked after each turn: it takes many by itself, and all it said is forgotten."""
    talk = Talk()
    for number in range(turns):
        if number % (APART + 1) == 0:
            yield talk.turn()
            other = Talk(number + 1)
        else:
            yield other.turn()


def calling(turns: int) -> Iterator[Turn]:
    """A tool is called each time, and answers are objects as OpenAI gives them."""
    talk = Talk()
    for number in range(turns):
        prompt = {"model": "m", "messages": list(talk.messages), "tools": TOOLS}
        id = f"call_{number}"
        function = {"name": "read", "arguments": json.dumps({"path": f"file_{number}.txt"})}
        calls = [{"id": id, "type": "function", "function": function}]
        message = talk.said("assistant", tool_calls=calls)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        result = talk.said("tool", tool_call_id=id)
        yield Turn(prompt, message, {"id": f"{number}", "choices": [choice]}, result["content"])
        talk.messages += [message, result]


#: Conversations of so many turns, by what happens to them beside that they grow.
Talks = Mapping[str, Callable[[int], Iterable[Turn]]]

TALKS: Final[Talks] = {
    "": grows,
    "an early message edited every 10 turns": edited,
    "cut and summarised every 50 turns": summarised,
    "an image of 30 KB every 10 turns": illustrated,
    "after each turn another agent takes 20": delegated,
    "a tool is called each turn, answers as OpenAI gives them": calling,
}


def new(turns: Iterable[Turn]) -> int:
    """The bytes that are said for the first time in a conversation."""
    said = {json.dumps(TOOLS)}
    for turn in turns:
        said.update(map(json.dumps, [*turn.prompt["messages"][-2 * EVERY :], turn.said]))
    return sum(map(len, said))
