"""What begins a turn: what a user says, or the interpreter in a user's place."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...llm_wire.answers import clean
from ...protocol.chat import Message
from .. import kinds
from ..backend import UserInput
from ..connector import InterpreterABC
from ..session import House, Session
from ..streams.gathering import MAX_CONTENT


def said_by_user(message: str | UserInput | Message, session: Session, house: House) -> Message:
    """What a user says, as a message of a session.

    Args:
        message: A text, with or without whom it is for; or a message of any type, from anywhere.
        session: The session.
        house: What it shares with others.

    Raises:
        ProtocolError: `invalid_message`: it is no message.
    """
    own: dict[str, Any] = {
        "id": house.new_id(),
        "session_id": session.id,
        "created_at": house.clock(),
    }
    if isinstance(message, Message):
        return kinds.check(replace(message, role="user", final=True, **own))
    if isinstance(message, str):
        message = UserInput(content=message)
    return kinds.check(
        Message(role="user", content=message.content, agent_name=message.agent_name, **own)
    )


def continuation(agent: InterpreterABC, session: Session, house: House) -> Message:
    """What an agent is told to go on: the interpreter says it.

    Args:
        agent: The agent.
        session: The session.
        house: What it shares with others.
    """
    return Message(
        id=house.new_id(),
        session_id=session.id,
        role="system",
        content=clean(agent.continuation_prompt or "")[:MAX_CONTENT],
        agent_name=agent.name,
        created_at=house.clock(),
    )
