"""Replies to refused messages."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import CommandError, DamagedRunError, ProtocolError


class ErrorReply(NamedTuple):
    """An error in the form in which it travels.

    Args:
        code: A word of `agentstepper_nb.protocol.error_codes`.
        message: What is wrong and what to do, for a person.
        run: The run it is about, where one was named.
        ours: Whether the Core itself failed, which is for its log.
    """

    code: str
    message: str
    run: str | None = None
    is_internal: bool = False


def make_error_reply(error: Exception) -> ErrorReply:
    """Make the reply to the peer whose message raised an error."""
    match error:
        case CommandError():
            return ErrorReply(error.code, error.message, error.run)
        case ProtocolError():
            return ErrorReply(error.code, error.message)
        case DamagedRunError():
            return ErrorReply("damaged_run", str(error), error.run)
    return ErrorReply(
        "internal",
        "The Core failed at this message. The Core's log has the traceback.",
        is_internal=True,
    )
