"""Messages are whole again, each way; all others are left alone."""

from __future__ import annotations

import pytest
from msgspec import UNSET, Raw

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.agent import HaltPointReached, Withdraw
from agentstepper_nb.protocol.data_model import EventSide
from agentstepper_nb.protocol.delta_decoding import decode_contents
from agentstepper_nb.protocol.delta_encoding import DeltaDecoder, EncodedContent
from agentstepper_nb.protocol.ui import MessageBody

ENCODED = EncodedContent(number=1, rest=('{"a": ', '"é"}'))


def body(data: str, pieces: EncodedContent | None = None) -> MessageBody:
    return MessageBody(
        run="r", message="m", revision=3, data=data, pieces=pieces, edit="1", is_strict_json=False
    )


def reached(data: bytes | None, pieces: EncodedContent | None = None) -> HaltPointReached:
    return HaltPointReached(
        id="b",
        event="e",
        side=EventSide.END,
        waits=True,
        at=1.0,
        clock=2.0,
        data=UNSET if data is None else Raw(data),
        pieces=pieces or UNSET,
        breakpoints=("s",),
    )


def test_a_views_contents() -> None:
    assert decode_contents(body("", ENCODED), DeltaDecoder()) == body('{"a": "é"}')


def test_an_agents_contents() -> None:
    assert decode_contents(reached(None, ENCODED), DeltaDecoder()) == reached('{"a": "é"}'.encode())


@pytest.mark.parametrize(
    "message", [body("1"), reached(b"1"), reached(None), Withdraw(halt_point="b")]
)
def test_what_is_whole_stays(message: object) -> None:
    assert decode_contents(message, DeltaDecoder()) is message  # type: ignore[arg-type]


@pytest.mark.parametrize("then", [("{",), (), ("[1] 2",), ("nul",), ('"\\ud800"',)])
def test_what_an_agent_tells_is_json(then: tuple[str, ...]) -> None:
    decoder = DeltaDecoder()
    with pytest.raises(ProtocolError, match=r"^breakpoint: .* - in `\$.pieces`") as refused:
        decode_contents(reached(None, EncodedContent(number=1, rest=then)), decoder)
    assert refused.value.code == "invalid_message"
    assert decode_contents(body("", EncodedContent(number=2, rest=("[]",))), decoder) == body("[]")


def test_what_isn_t_known() -> None:
    with pytest.raises(ProtocolError) as refused:
        decode_contents(body("", EncodedContent(number=1, rest=(1,))), DeltaDecoder())
    assert refused.value.code == "unknown_content"
