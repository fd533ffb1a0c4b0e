"""Contents that travel as what is new in them: what arrives is what was sent, whatever came before."""

from __future__ import annotations

import base64
import json
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol import delta_encoding
from agentstepper_nb.protocol.delta_encoding import (
    DELTA_SIZES,
    REFERENCE_BYTES,
    DeltaDecoder,
    DeltaEncoder,
    EncodedContent,
)
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES
from agentstepper_nb.protocol.segments import split_content

WIRE = Path(__file__).parents[2] / "wire" / "pieces.jsonl"
IMAGE = base64.b64encode(random.Random(0).randbytes(6000)).decode()
TOOLS = [{"name": "ls", "description": "d" * 400}, {"name": "cat", "description": "e" * 500}]


class PromptingAgent:
    """What an agent puts into its prompts, one after the other."""

    def __init__(self) -> None:
        self.messages: list[Any] = [{"role": "system", "content": "You are terse. " * 40}]
        self._message_count = 0

    def add_message(self, size: int, **more: Any) -> None:
        self._message_count += 1
        text = f"{self._message_count}: “\t{'word ' * (size // 5)}\\”"
        self.messages.append({"role": "user", "content": text, **more})

    def make_prompt(self) -> bytes:
        body = {"model": "m", "tools": TOOLS, "messages": self.messages, "stream": False}
        return json.dumps(body, ensure_ascii=False).encode()


class DeltaConnection:
    """A connection, one way, and what has travelled on it."""

    def __init__(
        self,
        max_contents: int = delta_encoding.MAX_CONTENTS,
        max_memory_bytes: int = delta_encoding.MAX_MEMORY_BYTES,
    ) -> None:
        self.encoder = DeltaEncoder(max_contents, max_memory_bytes)
        self.decoder = DeltaDecoder(max_contents, max_memory_bytes)
        self.size = 0  # bytes of the last content as it travelled

    def send(self, text: bytes) -> None:
        """Send a content; it arrives as it was, and both sides remember the same."""
        if len(text) not in DELTA_SIZES:
            self.size = len(text)
            return
        encoded = self.encoder.encode(text)
        sent = msgspec.json.encode(encoded)
        self.size = len(sent)
        assert self.decoder.decode(msgspec.json.decode(sent, type=EncodedContent)) == text
        self.check()

    def check(self) -> None:
        left, right = self.encoder._memory, self.decoder._memory
        assert vars(left) == vars(right)
        assert self.encoder._numbers == {piece: number for number, piece in left.pieces.items()}
        mentioned = set().union(*left._contents.values())
        assert set(left.pieces) == mentioned
        weight = sum(
            len(piece) + delta_encoding.PART_OVERHEAD_BYTES for piece in left.pieces.values()
        )
        weight += sum(REFERENCE_BYTES * len(content) for content in left._contents.values())
        assert left._memory_bytes == weight <= left._max_memory_bytes
        assert len(left._contents) <= left._max_contents


def sizes(wire: DeltaConnection, texts: list[bytes]) -> list[int]:
    found = []
    for text in texts:
        wire.send(text)
        found.append(wire.size)
    return found


# ---- what arrives ----------------------------------------------------------------------------------

MOVES = ["grow", "answer", "edit", "cut", "image", "again", "other", "short", "array", "back"]


@given(
    moves=st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 3000)), max_size=40),
    contents=st.sampled_from([1, 2, 5, 1000]),
    weight=st.sampled_from([4_000, 20_000, 1_000_000]),
)
def test_what_arrives_is_what_was_sent(
    moves: list[tuple[str, int]], contents: int, weight: int
) -> None:
    wire, agent, past = DeltaConnection(contents, weight), PromptingAgent(), [b"[]"]
    for move, number in moves:
        wire.send(content(agent, move, number, past))
        past.append(agent.make_prompt())


def content(agent: PromptingAgent, move: str, number: int, past: list[bytes]) -> bytes:
    """What is sent next."""
    change(agent, move, number)
    match move:
        case "answer":
            return json.dumps(agent.messages[-1], ensure_ascii=False).encode()
        case "other":
            return json.dumps({"n": number, "text": "…" * number}, ensure_ascii=False).encode()
        case "short":
            return b"%d" % number
        case "array":
            return json.dumps(["same" * 40] * number).encode()
        case "back":
            return past[number % len(past)]
    return agent.make_prompt()


def change(agent: PromptingAgent, move: str, number: int) -> None:
    """Change what the agent has said, where the move is of that kind."""
    place = number % len(agent.messages)
    match move:
        case "grow" | "answer":
            agent.add_message(number)
        case "edit":
            agent.messages[place] = {"role": "user", "content": "edited " * number}
        case "cut":
            agent.messages[1:place] = [{"role": "user", "content": f"So far: {number}"}]
        case "image":
            agent.add_message(20, images=[{"url": f"data:image/png;base64,{IMAGE}"}])


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from([b"a", b"", b"[", "é".encode(), b"b" * 90]), max_size=12)))
def test_any_pieces_at_all(contents: list[list[bytes]]) -> None:
    wire = DeltaConnection()
    for parts in contents:
        assert wire.decoder.decode(wire.encoder.encode_parts(parts)) == b"".join(parts)
        wire.check()


# ---- what it costs ---------------------------------------------------------------------------------


def test_a_prompt_that_grows_costs_what_is_new() -> None:
    wire, agent = DeltaConnection(), PromptingAgent()
    wire.send(agent.make_prompt())
    for _ in range(50):
        agent.add_message(1000)
        wire.send(agent.make_prompt())
        assert wire.size < 1200


def test_an_answer_isn_t_sent_again_with_the_next_prompt() -> None:
    wire, agent = DeltaConnection(), PromptingAgent()
    agent.add_message(1000)
    wire.send(agent.make_prompt())
    agent.add_message(3000)
    wire.send(json.dumps(agent.messages[-1], ensure_ascii=False).encode())
    wire.send(agent.make_prompt())
    assert wire.size < 200


def test_after_an_early_edit_the_rest_goes_by_number() -> None:
    wire, agent = DeltaConnection(), PromptingAgent()
    for _ in range(100):
        agent.add_message(1000)
    wire.send(agent.make_prompt())
    agent.messages[1]["content"] = "Now this is said instead."
    assert sizes(wire, [agent.make_prompt()] * 2) == [
        pytest.approx(1000, abs=500),
        pytest.approx(60, abs=30),
    ]


def test_a_cut_and_summarised_conversation_sends_the_summary() -> None:
    wire, agent = DeltaConnection(), PromptingAgent()
    for _ in range(100):
        agent.add_message(1000)
    wire.send(agent.make_prompt())
    agent.messages[1:90] = [{"role": "user", "content": "What was said so far. " * 20}]
    wire.send(agent.make_prompt())
    assert wire.size < 900


def test_two_conversations_in_turns_cost_what_is_new() -> None:
    wire, agents = DeltaConnection(), (PromptingAgent(), PromptingAgent())
    for agent in agents:
        for _ in range(50):
            agent.add_message(1000)
        wire.send(agent.make_prompt())
    for turn in range(40):
        agent = agents[turn % 2]
        agent.add_message(1000, turn=turn)
        wire.send(agent.make_prompt())
        assert wire.size < 1300


def test_an_image_is_sent_once() -> None:
    wire, agent = DeltaConnection(), PromptingAgent()
    agent.add_message(10, images=[{"url": IMAGE}])
    first, *later = sizes(wire, [agent.make_prompt(), agent.make_prompt()])
    agent.add_message(600)
    later += sizes(wire, [agent.make_prompt()])
    assert first > len(IMAGE)
    assert max(later) < 800


def test_what_could_not_be_remembered_travels_as_it_is() -> None:
    encoder = DeltaEncoder()
    assert 512 not in DELTA_SIZES
    assert delta_encoding.MAX_MEMORY_BYTES + 1 not in DELTA_SIZES
    assert 513 in DELTA_SIZES
    assert encoder.encode(b"1" * 513) == EncodedContent(number=1, rest=("1" * 513,))


# ---- what isn't right --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        EncodedContent(number=0),
        EncodedContent(number=1),
        EncodedContent(number=3, prefix_of=1, prefix_pieces=1),
        EncodedContent(number=2, prefix_of=1, prefix_pieces=3),
        EncodedContent(number=2, prefix_of=2, prefix_pieces=1),
        EncodedContent(number=2, prefix_of=0, prefix_pieces=1),
        EncodedContent(number=2, prefix_of=2**52, prefix_pieces=2**52),
        EncodedContent(number=2, rest=(0,)),
        EncodedContent(number=2, rest=(-1,)),
        EncodedContent(number=2, rest=(3,)),
        EncodedContent(number=2, rest=("new", 4)),
        EncodedContent(number=2, rest=(10**30,)),
    ],
    ids=str,
)
def test_what_isn_t_known_is_refused_and_changes_nothing(wrong: EncodedContent) -> None:
    decoder = DeltaDecoder()
    assert decoder.decode(EncodedContent(number=1, rest=("one, ", "two"))) == b"one, two"
    with pytest.raises(ProtocolError) as refused:
        decoder.decode(wrong)
    assert refused.value.code == "unknown_content"
    encoded = EncodedContent(number=2, prefix_of=1, prefix_pieces=1, rest=(2, ", ", 3, "three"))
    assert decoder.decode(encoded) == b"one, two, , three"


def test_a_new_piece_may_be_named_in_its_own_content() -> None:
    assert DeltaDecoder().decode(EncodedContent(number=1, rest=("a", 1, "b", 2, 1))) == b"aabba"


def test_few_bytes_don_t_become_very_many() -> None:
    decoder = DeltaDecoder()
    million = "m" * 2**20
    assert (
        len(decoder.decode(EncodedContent(number=1, rest=(million, *[1] * 63))))
        == MAX_MESSAGE_BYTES
    )
    with pytest.raises(ProtocolError) as refused:
        decoder.decode(EncodedContent(number=2, prefix_of=1, prefix_pieces=64, rest=("1",)))
    assert refused.value.code == "too_large"


def test_names_of_pieces_have_a_weight_too() -> None:
    decoder = DeltaDecoder(max_memory_bytes=10_000)
    decoder.decode(EncodedContent(number=1, rest=("", *[1] * 500)))
    for number in range(2, 10):
        decoder.decode(
            EncodedContent(number=number, prefix_of=number - 1, prefix_pieces=501, rest=("",))
        )
        assert len(decoder._memory._contents) * 501 * REFERENCE_BYTES <= 10_000
    decoder.decode(EncodedContent(number=10, rest=("", *[("")] * 2000)))
    assert decoder._memory.pieces == {}


@settings(max_examples=40)
@given(
    st.lists(
        st.builds(
            EncodedContent,
            number=st.integers(0, 8),
            prefix_of=st.integers(0, 8),
            prefix_pieces=st.integers(0, 5),
            rest=st.lists(st.integers(-1, 12) | st.text(max_size=3), max_size=5).map(tuple),
        ),
        max_size=30,
    )
)
def test_hostile_pieces_are_refused_and_harm_nothing(hostile: list[EncodedContent]) -> None:
    decoder, truth = DeltaDecoder(), DeltaDecoder()
    for encoded in hostile:
        try:
            decoder.decode(encoded)
        except ProtocolError as error:
            assert error.code == "unknown_content"
            assert vars(decoder._memory) == vars(truth._memory)
        else:
            truth.decode(encoded)


# ---- as it stands on the wire ------------------------------------------------------------------------


def recorded() -> list[str]:
    """A conversation as it travels, each content with its length and hash; the view's tests read it.

    So long that contents are forgotten, for their number and for what they weigh.
    """
    encoder, agent, chance = DeltaEncoder(), PromptingAgent(), random.Random(7)
    lines = []
    for turn in range(delta_encoding.MAX_CONTENTS + 10):
        agent.add_message(chance.randrange(40), said="äöü€😀"[: turn % 5])
        if turn % 50 == 30:
            agent.messages[-1 - chance.randrange(20)] = {"edited": "x" * 600}
        lines.append(line(encoder, split_content(agent.make_prompt())))
    many = [b"0,"] * (delta_encoding.MAX_MEMORY_BYTES // REFERENCE_BYTES // 200)
    for turn in range(delta_encoding.MAX_CONTENTS):
        many[-1 - chance.randrange(20)] = b"%d," % turn
        lines.append(line(encoder, many))
    return lines


def line(encoder: DeltaEncoder, parts: list[bytes]) -> str:
    text = b"".join(parts)
    encoded = {"pieces": encoder.encode_parts(parts), "length": len(text), "hash": hash_of(text)}
    return msgspec.json.encode(encoded).decode()


def hash_of(text: bytes) -> str:
    return sha256(text).hexdigest()[:16]


@pytest.mark.slow
def test_the_recorded_wire_is_as_it_would_be_now() -> None:
    now = recorded()
    assert WIRE.read_text(encoding="utf-8").splitlines() == now
    decoder = DeltaDecoder()
    for each in now:
        said = json.loads(each)
        text = decoder.decode(msgspec.convert(said["pieces"], EncodedContent))
        assert (len(text), hash_of(text)) == (said["length"], said["hash"])
    assert len(decoder._memory._contents) < delta_encoding.MAX_CONTENTS - 10, (
        "some are forgotten for their weight"
    )
