"""What a person edits at one breakpoint, as the agent's process takes it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from msgspec import Raw

from ..errors import ProtocolError
from .decoding import reason
from .packing import Packed, Packer, Word

log = logging.getLogger("agentstepper_nb.sdk")

#: Makes of an edited value what a call takes; raises where it doesn't take that.
Accept = Callable[[Any], Any]

_UNSAID: Final = "The agent's type refuses this edit, and its redact= fails for the reason."
#: Letters of why an edit is refused.
_LONGEST: Final = 2000


class EditReader:
    """Reads the edits of one breakpoint. What was read is kept, so that validators run once an edit.

    Args:
        packer: What packed the value.
        packed: What the person edits.
        accept: Makes of an edited value what the caller takes.
    """

    def __init__(self, packer: Packer, packed: Packed, accept: Accept | None = None) -> None:
        self._packer = packer
        self._packed = packed
        self._accept = accept
        self._last: tuple[bytes, Any] | None = None

    def beside(self, packed: Packed) -> EditReader:
        """A reader for an edit of what was shown elsewhere; this one where that is the same."""
        same = packed is self._packed
        return self if same else EditReader(self._packer, packed, self._accept)

    def read(self, raw: Raw) -> Any:
        """Give the value that an edit stands for.

        Raises:
            Exception: It can't become such a value.
        """
        text, last = bytes(raw), self._last
        if last is not None and last[0] == text:
            return last[1]
        value = self._packer.unpack(raw, self._packed)
        value = value if self._accept is None else self._accept(value)
        self._last = text, value
        return value

    def problem(self, raw: Raw) -> str | None:
        """Why the agent can't take an edit, in words that may leave its process; None where it can."""
        try:
            self.read(raw)
        except Exception as error:
            return self.told(error)
        return None

    def told(self, error: Exception) -> str:
        """What an error says, without secrets."""
        text = error.message if isinstance(error, ProtocolError) else reason(error)
        try:
            told = self._packer.texts(Word.ERROR, {"type": "", "message": text}, _LONGEST)
            return told["message"]
        except Exception:  # the agent's own hook; without it nothing of the error may leave
            log.warning("redact= failed for why an edit is refused.", exc_info=True)
            return _UNSAID
