"""Closes a socket over a too large message, so that the peer receives the reason."""

from __future__ import annotations

import asyncio
from typing import Final

from tornado.websocket import WebSocketProtocol13

CLOSE_TOO_LARGE: Final = 1009

#: Seconds without a byte after which the peer has stopped sending; tornado waits 5 in all.
_QUIET_S: Final = 0.5
#: Seconds after which a peer that never stops is hung up on all the same.
_DRAIN_TIMEOUT_S: Final = 60.0
_CHUNK_BYTES: Final = 1024 * 1024


class OversizeProtocol(WebSocketProtocol13):
    """Sends the size limit as the reason, and reads the rest of the message before it disconnects.

    tornado disconnects at once: the rest of the message then meets a closed socket, the system resets
    the connection, and the close frame is lost with it.
    """

    _is_refusing = False  # between the close frame and the end of the reading
    _is_draining = False

    def close(self, code: int | None = None, reason: str | None = None) -> None:
        """Close the connection; over a too large message with the limit as the reason."""
        if code == CLOSE_TOO_LARGE:
            self._is_refusing = True
            reason = f"message exceeds limit of {self.params.max_message_size} bytes"
        super().close(code, reason)

    def _abort(self) -> None:
        if not self._is_refusing or self._is_draining:
            super()._abort()

    async def _receive_frame(self) -> None:
        await super()._receive_frame()
        if self._is_refusing:
            self._is_draining = True
            try:
                async with asyncio.timeout(_DRAIN_TIMEOUT_S):
                    while True:
                        await asyncio.wait_for(
                            self.stream.read_bytes(_CHUNK_BYTES, partial=True), _QUIET_S
                        )
            except TimeoutError:
                self._abort()
