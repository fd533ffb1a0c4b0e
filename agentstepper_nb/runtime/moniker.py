"""A moniker: the function that does a session's steps, with a contract that doesn't change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from .frame import FrameIn, FrameOut

if TYPE_CHECKING:
    from ..sdk.async_stepper import AsyncAgentStepper

#: The entry points of installed monikers; each names a subclass of `Moniker`, or what makes one.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.monikers"


@dataclass
class MonikerContext:
    """What a session's moniker works with.

    Args:
        agent_id: The agent.
        session_id: The session.
        config: As it was created with.
        data_dir: The folder of this installation's runs; monikers take folders of their own there.
        dbg: The debugger's run of the session; None where there is none. What a step asks of models
            and tools goes through it, so that it can be stepped.
        log: The worker's.
    """

    agent_id: str
    session_id: str
    config: Any
    data_dir: Path
    dbg: AsyncAgentStepper | None
    log: logging.Logger


class Moniker:
    """Does the steps of one session, one at a time. Subclass it, and name the class as an entry point.

    Attributes:
        name: What it is called in the queue.
        stop_on_done: Whether a session ends at a step that is `done`, unless its limits say otherwise:
            True for what comes to an end, False for what goes on.
    """

    name: ClassVar[str]
    stop_on_done: ClassVar[bool] = True

    def __init__(self, task: MonikerContext) -> None:
        self.task = task

    @classmethod
    def check(cls, config: Any) -> None:
        """Refuse a config that can't work, where a session is created.

        Raises:
            ValueError: What is wrong, for a person.
        """

    async def step(self, frame: FrameIn) -> FrameOut:
        """Do one step. Raising makes it an error step, after the retries that the limits give.

        Args:
            frame: The step, the state of the step before and, once, guidance.
        """
        raise NotImplementedError

    def step_interval_s(self) -> float:
        """Seconds to wait between two steps; a stop, a pause or an interrupt ends the wait."""
        return 0.0

    async def close(self) -> None:
        """The session ends, or its worker does."""


#: Makes a moniker for a session.
MonikerFactory = Callable[[MonikerContext], Moniker]
