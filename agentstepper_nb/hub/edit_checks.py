"""What one agent's SDK says of edits, before they are set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Raw

from ..errors import ProtocolError
from ..protocol.agent import CheckEdit, EditChecked

#: Seconds that an agent has to say whether it takes an edit.
PATIENCE: Final = 10.0

_LATE: Final = (
    f"The agent hasn't said within {PATIENCE:.0f} s whether it can take this edit: try again, or step "
    "without it."
)
_LOST: Final = (
    "The agent was lost before it said whether it can take this edit: try again once it is back."
)


class EditChecks:
    """The questions to one agent that aren't answered yet.

    Args:
        new_id: Gives a new id.
        send: Sends the agent a question.
        patience: Seconds to wait for each answer.
    """

    def __init__(
        self,
        new_id: Callable[[], str],
        send: Callable[[CheckEdit], None],
        patience: float = PATIENCE,
    ) -> None:
        self._new_id = new_id
        self._send = send
        self._patience = patience
        self._open: dict[str, asyncio.Future[None]] = {}

    async def ask(self, breakpoint: str, edit: str) -> None:
        """Ask the agent whether it takes an edit.

        Args:
            breakpoint: The breakpoint, which waits.
            edit: JSON text.

        Raises:
            ProtocolError: `invalid_edit`: it doesn't, or didn't say.
        """
        check = self._new_id()
        answered = self._open[check] = asyncio.get_running_loop().create_future()
        try:
            self._send(CheckEdit(check=check, breakpoint=breakpoint, data=Raw(edit.encode())))
            await asyncio.wait_for(answered, self._patience)
        except TimeoutError:
            raise ProtocolError("invalid_edit", _LATE) from None
        finally:
            del self._open[check]

    def hear(self, answer: EditChecked) -> None:
        """The agent answered; nobody may wait for it any more."""
        answered = self._open.get(answer.check)
        if answered is None or answered.done():
            return
        if answer.refusal is None:
            answered.set_result(None)
        else:
            answered.set_exception(ProtocolError("invalid_edit", answer.refusal))

    def end(self) -> None:
        """The agent is gone."""
        for answered in self._open.values():
            if not answered.done():
                answered.set_exception(ProtocolError("invalid_edit", _LOST))
