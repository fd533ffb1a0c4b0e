"""Messages are whole again, each way; all others are left alone."""

from __future__ import annotations

import pytest
from msgspec import UNSET, Raw

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.agent import BreakpointReached, Withdraw
from agentstepper_nb.protocol.joined import joined
from agentstepper_nb.protocol.pieces import Pieces, Receiver
from agentstepper_nb.protocol.ui import MessageBody
from agentstepper_nb.protocol.values import Side

TOLD = Pieces(number=1, then=('{"a": ', '"é"}'))


def body(data: str, pieces: Pieces | None = None) -> MessageBody:
    return MessageBody(
        run="r", message="m", revision=3, data=data, pieces=pieces, edit="1", strict=False
    )


def reached(data: bytes | None, pieces: Pieces | None = None) -> BreakpointReached:
    return BreakpointReached(
        id="b",
        event="e",
        side=Side.END,
        waits=True,
        at=1.0,
        clock=2.0,
        data=UNSET if data is None else Raw(data),
        pieces=pieces or UNSET,
        stops=("s",),
    )


def test_a_views_contents() -> None:
    assert joined(body("", TOLD), Receiver()) == body('{"a": "é"}')


def test_an_agents_contents() -> None:
    assert joined(reached(None, TOLD), Receiver()) == reached('{"a": "é"}'.encode())


@pytest.mark.parametrize(
    "message", [body("1"), reached(b"1"), reached(None), Withdraw(breakpoint="b")]
)
def test_what_is_whole_stays(message: object) -> None:
    assert joined(message, Receiver()) is message  # type: ignore[arg-type]


@pytest.mark.parametrize("then", [("{",), (), ("[1] 2",), ("nul",), ('"\\ud800"',)])
def test_what_an_agent_tells_is_json(then: tuple[str, ...]) -> None:
    receiver = Receiver()
    with pytest.raises(ProtocolError, match=r"^breakpoint: .* - in `\$.pieces`") as refused:
        joined(reached(None, Pieces(number=1, then=then)), receiver)
    assert refused.value.code == "invalid_message"
    assert joined(body("", Pieces(number=2, then=("[]",))), receiver) == body("[]")


def test_what_isn_t_known() -> None:
    with pytest.raises(ProtocolError) as refused:
        joined(body("", Pieces(number=1, then=(1,))), Receiver())
    assert refused.value.code == "unknown_content"
