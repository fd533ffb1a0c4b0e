"""The fuzz harness: messages broken by a seed, what is answered, and the growth of memory."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import random
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agentstepper_nb.protocol.worker import RpcFailure, worker_messages

Json = Any

MESSAGES = 1000
MANY_MESSAGES = 100_000
#: After so many a peer reads what was answered, and the Core is looked at.
BATCH = 500
#: Bytes that the process may have grown by in the second half.
GROWTH = 64 << 20


#: What may stand where something else is expected.
WEIRD: list[Json] = [
    None,
    True,
    0,
    -1,
    1.5,
    1e300,
    float("nan"),
    float("-inf"),
    10**30,
    10**400,
    "",
    " ",
    "none",
    "null",
    "NaN",
    "\ud800",
    "\u202e\x1b[31m\x00",
    "x" * 3000,
    [],
    {},
    [[[[[]]]]],
    {"": {"": None}},
    json.loads("[" * 300 + "]" * 300),
]


class MessageFuzzer:
    """Breaks messages, the same way for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def break_message(self, message: Json) -> str:
        """A message with something wrong about it, as text; one in eight stays whole."""
        way = self.random.randrange(8)
        if way == 0:
            return json.dumps(message)
        if way < 5:
            changed = json.loads(json.dumps(message))
            for _ in range(self.random.choice((1, 1, 2))):
                changed = self.mutate(changed)
            return json.dumps(changed)
        return self.scramble_text(json.dumps(message, ensure_ascii=False))

    def mutate(self, value: Json) -> Json:
        """The value with one place of it replaced, dropped or added."""
        if not isinstance(value, (dict, list)):
            return self.pick_weird()
        inside = list(value) if isinstance(value, dict) else range(len(value))
        if not inside or self.random.random() < 0.1:
            return self.pick_weird()
        key = self.random.choice(list(inside))
        if isinstance(value[key], (dict, list)) and self.random.random() < 0.7:
            value[key] = self.mutate(value[key])
            return value
        way = self.random.randrange(6)
        if way == 0:
            del value[key]
        elif way == 1 and isinstance(value, dict):
            value[self.random.choice(("", "run", "more", key * 2))] = value[key]
        else:
            value[key] = self.pick_weird()
        return value

    def pick_weird(self) -> Json:
        return copy.deepcopy(self.random.choice(WEIRD))

    def scramble_text(self, text: str) -> str:
        at, to = sorted(self.random.randrange(len(text) + 1) for _ in range(2))
        return self.random.choice(
            [
                text[:at],
                text[:at] + text[to:],
                text[:to] + text[at:],
                text[:at] + self.random.choice('{}[]":,0x\\\n\x00✓') + text[at + 1 :],
                text * 2,
            ]
        )


class CountingTransport:
    """Counts what a peer is sent, by type and by the codes of refusals. Nobody may close it."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()

    def send(self, text: str) -> None:
        envelope, message = worker_messages.decode(text)
        self.answers[envelope.type] += 1
        if isinstance(message, RpcFailure):
            self.codes[message.code] += 1

    def close(self, code: int, reason: str) -> None:
        raise AssertionError(reason)


async def send_broken_messages(
    count: int,
    seed: int,
    messages: Callable[[int], list[dict[str, Any]]],
    receive: Callable[[str], None],
) -> None:
    """Feed a peer broken messages, and let the loop run after every tenth.

    Args:
        count: How many.
        seed: The same seed breaks the same way.
        messages: What the other side might say in a turn, whole.
        receive: Takes one message's text.
    """
    breaker = MessageFuzzer(seed)
    for first in iterate_batches(count):
        for turn in range(first, first + BATCH):
            receive(breaker.break_message(breaker.random.choice(messages(turn))))
            if turn % 10 == 0:
                await asyncio.sleep(0)


def iterate_batches(messages: int) -> Iterator[int]:
    """The first message's number of each batch; between them the process doesn't grow."""
    before = 0
    for first in range(0, messages, BATCH):
        if first == messages // 2:
            before = read_resident_bytes()
        yield first
    assert read_resident_bytes() - before < GROWTH


def read_resident_bytes() -> int:
    """Bytes of memory that this process has, the Core's included."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
