"""Contents on their way to a UI, each told as what is new in it: docs/design/0012-pieces.md."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from ..protocol import ui as v2
from ..protocol.pieces import Sender

#: Bytes above which a content is cut on a thread: others would wait meanwhile.
_LARGE: Final = 64 * 1024


class Bodies:
    """The contents that are sent on one connection."""

    def __init__(self) -> None:
        self._sender = Sender()

    async def told(self, message: v2.CoreToUi) -> v2.CoreToUi:
        """A message with its contents in pieces. It is to be sent before the next one is made.

        Args:
            message: An answer; one without contents stays as it is.
        """
        if not isinstance(message, v2.MessageBody):
            return message
        text = message.data.encode()
        if len(text) > _LARGE:
            pieces = await asyncio.to_thread(self._sender.pieces, text)
        else:
            pieces = self._sender.pieces(text)
        return message if pieces is None else replace(message, data="", pieces=pieces)
