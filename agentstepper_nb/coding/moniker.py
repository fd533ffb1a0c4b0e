"""`coding`: the coding agent as a background agent. Each step is a prompt that it answers.

The first prompt is the config's, those after it are guidance. Its model's questions and its tools' calls
stand inside the step, in the session's own run of the debugger. Its conversation is in the coding
session's log, so that a session which lost its worker goes on with all that was said.
"""

from __future__ import annotations

import uuid
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import UNSET, Meta, Struct

from .. import typed_json
from ..llm_wire.conversation import AssistantMessage
from ..protocol.coding_settings import CodingSettings
from ..runtime.frame import FrameIn, FrameOut
from ..runtime.moniker import Moniker, MonikerContext
from ..runtime.monikers.model_moniker import (
    NonEmptyText,
    check_provider,
    decode_config,
    open_provider,
)
from ..sdk.base_stepper import set_current_stepper
from .options import CodingOptions, make_options
from .orchestrator import TurnResult
from .session import CodingSession

#: Makes a coding session's id of a session's: the same in each of its activations.
_IDS: Final = uuid.UUID("6f0d6f0e-7b0c-4d43-9d0e-2b0f6a3f7c11")
#: The prompt that goes on where the one before was cut at its limit of questions.
_CONTINUE_PROMPT: Final = "Go on."
_NOTHING: Final = "The agent has nothing to do and waits for guidance."


class CodingConfig(CodingSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of the moniker `coding`: these fields, and the settings of coding sessions.

    Approvals are requested in the debugger.

    Args:
        workspace: The absolute path of the folder to which the agent is confined.
        prompt: The first prompt.
        provider: The model's provider, as `--provider` takes it.
        model: The model's name at the provider.
    """

    workspace: Annotated[str, Meta(min_length=1, max_length=4096)]
    prompt: NonEmptyText
    provider: str
    model: str


class CodingMonikerState(Struct, frozen=True, kw_only=True, rename={"has_reached_limit": "cut"}):
    """The state of the moniker `coding`.

    Args:
        coding_session: The coding session's id, also for `agentstepper code --resume`.
        has_reached_limit: Whether the last prompt ended at its limit of queries.
    """

    coding_session: str
    has_reached_limit: bool = False


class CodingMoniker(Moniker):
    """Answers a prompt a step."""

    name: ClassVar[str] = "coding"

    def __init__(self, task: MonikerContext) -> None:
        super().__init__(task)
        self._config = decode_config(task.config, CodingConfig)
        self._id = str(uuid.uuid5(_IDS, task.session_id))
        self._session: CodingSession | None = None
        self._is_idle = False  # it has nothing to do

    @classmethod
    def check(cls, config: Any) -> None:
        """See `Moniker.check`."""
        checked = decode_config(config, CodingConfig)
        check_provider(checked.provider, checked.model)
        folder = Path(checked.workspace)
        if not (folder.is_absolute() and folder.is_dir()):
            raise ValueError(
                f"`workspace` must be the absolute path of a folder, but {folder} is not."
            )

    async def step(self, frame: FrameIn) -> FrameOut:
        """Answer a prompt; without one there is nothing to do."""
        prompt = self._prompt(frame)
        self._is_idle = False
        if prompt is None:
            self._is_idle = True
            return self._make_output(
                frame, CodingMonikerState(coding_session=self._id), done=True, notes=_NOTHING
            )
        session = await self._ensure_session()
        result = await session.run(prompt)
        result.raise_for_error()
        cut = result.reason == "max_iterations"
        self._is_idle = not cut
        return self._make_output(
            frame,
            CodingMonikerState(coding_session=session.id, has_reached_limit=cut),
            text=_answer(result),
            data={
                "reason": result.reason,
                "iterations": result.iterations,
                "usage": msgspec.to_builtins(result.usage),
                "coding_session": session.id,
            },
            done=not cut,
        )

    def step_interval_s(self) -> float:
        """Until somebody tells it something, once it has nothing to do."""
        return float("inf") if self._is_idle else 0.0

    async def close(self) -> None:
        """Close the coding session; its log stays."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _prompt(self, frame: FrameIn) -> str | None:
        if frame.guidance is not UNSET:
            return frame.guidance if isinstance(frame.guidance, str) else str(frame.guidance)
        try:
            moniker_state = typed_json.convert(frame.state, CodingMonikerState)
        except msgspec.ValidationError:
            return self._config.prompt
        return _CONTINUE_PROMPT if moniker_state.has_reached_limit else None

    def _make_output(
        self, frame: FrameIn, moniker_state: CodingMonikerState, *, done: bool, **what: Any
    ) -> FrameOut:
        return FrameOut(
            step=frame.step,
            next_step="prompt",
            state=msgspec.to_builtins(moniker_state),
            done=done,
            **what,
        )

    async def _ensure_session(self) -> CodingSession:
        """The coding session: that of an earlier activation where there was one."""
        if self._session is None:
            dbg = self.task.dbg
            # The session's run is this agent's.
            with nullcontext() if dbg is None else set_current_stepper(dbg):
                self._session = await self._open(debugger=dbg is not None)
        return self._session

    async def _open(self, *, debugger: bool) -> CodingSession:
        config, data_dir = self._config, self.task.data_dir
        provider = self.task.limit_calls(open_provider(config.provider, config.model))
        options: CodingOptions = {**make_options(config), "debugger": debugger}
        return await CodingSession.open(
            self._id,
            workspace=Path(config.workspace),
            provider=provider,
            model=config.model,
            data_dir=data_dir,
            mode="server",
            **options,
        )


def _answer(result: TurnResult) -> str | None:
    """What the model said last."""
    for message in reversed(result.messages):
        if isinstance(message, AssistantMessage):
            return message.content or None
    return None
