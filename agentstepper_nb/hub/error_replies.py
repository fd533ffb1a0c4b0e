"""Replies to refused messages."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import CommandError, DamagedRunError, ProtocolError, StoreError


class ErrorReply(NamedTuple):
    """An error as it is sent to a peer.

    Args:
        code: A code of `agentstepper_nb.protocol.error_codes`.
        message: The error and its remedy, for a person.
        run: The id of the run that the error concerns; None: no run.
        is_internal: Whether the Core itself failed; then the error goes to the Core's log.
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
        case StoreError():
            return ErrorReply("store_failed", str(error))
    return ErrorReply(
        "internal",
        "The Core failed at this message. The Core's log has the traceback.",
        is_internal=True,
    )
