"""Conversations that grow, in real prose: a model is sent all that was said, each time."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle, islice
from pydoc_data.topics import topics
from typing import Any, Final, NamedTuple

from tests.helpers.growing_agent import MESSAGE_CHARS, TOOLS

#: Every so many turns something happens to a conversation beside that it grows.
INTERVAL_TURNS: Final = 10
#: Turns that another agent takes by itself.
DELEGATED_TURNS: Final = 20
#: Bytes of an image.
IMAGE_BYTES: Final = 30_000


class TextTurn(NamedTuple):
    """What a model is sent, what it says, and what the tool gives that is called for it."""

    prompt: dict[str, Any]
    answer: dict[str, Any]  # a message of the next prompt
    raw_answer: dict[str, Any] | None = None  # the answer around it
    result: str | None = None


class GrowingConversation:
    """One conversation, in which nothing is said twice.

    Args:
        seed: Another one says other things.
    """

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.messages: list[dict[str, Any]] = []
        text = "".join(topics.values())
        start = self.random.randrange(len(text))
        self._prose = cycle(text[start:] + text[:start])

    def add_turn(self, **more: Any) -> TextTurn:
        """Ask once more."""
        self.messages.append(self.make_message("user", **more))
        prompt = {"model": "m", "messages": list(self.messages), "tools": TOOLS}
        self.messages.append(self.make_message("assistant"))
        return TextTurn(prompt, self.messages[-1])

    def make_message(self, role: str, **more: Any) -> dict[str, Any]:
        """A new message."""
        return {"role": role, "content": "".join(islice(self._prose, MESSAGE_CHARS)), **more}


def grow(turns: int) -> Iterator[TextTurn]:
    """It only grows."""
    conversation = GrowingConversation()
    for _ in range(turns):
        yield conversation.add_turn()


def edit_early(turns: int) -> Iterator[TextTurn]:
    """One of the first messages is edited now and then."""
    conversation = GrowingConversation()
    for number in range(turns):
        yield conversation.add_turn()
        if number % INTERVAL_TURNS == INTERVAL_TURNS - 1:
            early = conversation.random.randrange(INTERVAL_TURNS)
            conversation.messages[early] = conversation.make_message("user")


def summarize(turns: int) -> Iterator[TextTurn]:
    """All but the end is cut and summarised now and then."""
    conversation = GrowingConversation()
    for number in range(turns):
        yield conversation.add_turn()
        if number % (5 * INTERVAL_TURNS) == 5 * INTERVAL_TURNS - 1:
            conversation.messages[:-INTERVAL_TURNS] = [conversation.make_message("system")]


def add_images(turns: int) -> Iterator[TextTurn]:
    """A message has an image now and then."""
    conversation = GrowingConversation()
    for number in range(turns):
        if number % INTERVAL_TURNS:
            yield conversation.add_turn()
        else:
            image = base64.b64encode(conversation.random.randbytes(IMAGE_BYTES * 3 // 4)).decode()
            yield conversation.add_turn(images=[f"data:image/png;base64,{image}"])


def delegate(turns: int) -> Iterator[TextTurn]:
    """Another agent is asked after each turn: it takes many by itself, and all it said is forgotten."""
    conversation = GrowingConversation()
    for number in range(turns):
        if number % (DELEGATED_TURNS + 1) == 0:
            yield conversation.add_turn()
            other = GrowingConversation(number + 1)
        else:
            yield other.add_turn()


def call_tools(turns: int) -> Iterator[TextTurn]:
    """A tool is called each time, and answers are objects as OpenAI gives them."""
    conversation = GrowingConversation()
    for number in range(turns):
        prompt = {"model": "m", "messages": list(conversation.messages), "tools": TOOLS}
        id = f"call_{number}"
        function = {"name": "read", "arguments": json.dumps({"path": f"file_{number}.txt"})}
        calls = [{"id": id, "type": "function", "function": function}]
        message = conversation.make_message("assistant", tool_calls=calls)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        result = conversation.make_message("tool", tool_call_id=id)
        yield TextTurn(prompt, message, {"id": f"{number}", "choices": [choice]}, result["content"])
        conversation.messages += [message, result]


#: Conversations of so many turns, by what happens to them beside that they grow.
ConversationMakers = Mapping[str, Callable[[int], Iterable[TextTurn]]]

CONVERSATIONS: Final[ConversationMakers] = {
    "": grow,
    "an early message edited every 10 turns": edit_early,
    "cut and summarised every 50 turns": summarize,
    "an image of 30 KB every 10 turns": add_images,
    "after each turn another agent takes 20": delegate,
    "a tool is called each turn, answers as OpenAI gives them": call_tools,
}


def count_new_bytes(turns: Iterable[TextTurn]) -> int:
    """The bytes of the texts that a conversation sends for the first time."""
    known_texts = {json.dumps(TOOLS)}
    for turn in turns:
        known_texts.update(
            map(json.dumps, [*turn.prompt["messages"][-2 * INTERVAL_TURNS :], turn.answer])
        )
    return sum(map(len, known_texts))
