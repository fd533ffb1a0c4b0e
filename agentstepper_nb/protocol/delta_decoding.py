"""Messages whose contents came in pieces, with the contents as they were."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from ..errors import ProtocolError
from .agent import HaltPointReached
from .delta_encoding import DeltaDecoder
from .ui import MessageBody

_json: Final = msgspec.json.Decoder(Raw)


def decode_contents(message: Struct, decoder: DeltaDecoder) -> Struct:
    """A message as it was before it travelled; all that came on a connection have to be given, in order.

    Args:
        message: What came.
        decoder: The connection's, for this direction.

    Raises:
        ProtocolError: `unknown_content`: nothing that comes on this connection can be understood any
            more; or only this message is refused: `invalid_message`, `too_large`.
    """
    if isinstance(message, MessageBody) and message.pieces is not None:
        data = decoder.decode(message.pieces).decode()
        return replace(message, data=data, pieces=None)
    if isinstance(message, HaltPointReached) and message.pieces is not UNSET:
        text = decoder.decode(message.pieces)
        _check(text)
        return replace(message, data=Raw(text), pieces=UNSET)
    return message


def _check(text: bytes) -> None:
    """Check that joined pieces are JSON; other contents are checked when the message is decoded."""
    try:
        _json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolError("invalid_message", f"breakpoint: {error} - in `$.pieces`.") from None
