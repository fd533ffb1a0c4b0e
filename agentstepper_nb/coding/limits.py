"""How far the coding agent may go."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

#: Iterations of one prompt where nobody says how many: questions to the model.
ITERATIONS: Final = 25


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of one session. Times are in seconds; None is without end."""

    iterations: int = ITERATIONS  # questions to the model that one prompt may take
    silence: float | None = 300.0  # that a model may let pass between two events
    tool_time: float | None = (
        900.0  # that one tool call may take; commands have a limit of their own
    )
    command_time: float = 120.0
    output: int = 64 * 1024  # bytes of a result that the model is given
    approval_time: float | None = None  # that a person has to answer
    answer_tokens: int | None = None  # of one answer; None: what the API has
