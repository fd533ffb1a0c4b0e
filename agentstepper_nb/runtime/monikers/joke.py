"""`joke`: tells one joke after the other on its subject. Guidance changes the subject."""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec
from msgspec import UNSET, Struct

from ... import typed_json
from ...llm_wire.conversation import ModelRequest, UserMessage
from ..frame import FrameIn, FrameOut
from .model_moniker import IntervalSeconds, ModelMoniker, NonEmptyText, query_model

#: Characters of guidance that make a subject.
MAX_SUBJECT_CHARS: Final = 200

_SYSTEM: Final = (
    "You tell jokes. Answer with one short joke on the subject that you are given, which names the "
    "subject, and with nothing else."
)


class JokeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of the moniker `joke`.

    Args:
        subject: The subject of the jokes.
        interval_s: Seconds between two jokes.
        provider: The model's provider. The default needs no network and no key.
        model: The model's name at the provider.
    """

    subject: NonEmptyText = "agents"
    interval_s: IntervalSeconds = 3.0
    provider: str = "scripted"
    model: str = "jokes"


class JokeState(Struct, frozen=True, kw_only=True):
    """The state of the moniker `joke`: the subject, and the number of jokes told."""

    subject: str
    count: int = 0


class JokeMoniker(ModelMoniker[JokeConfig]):
    """Tells one joke per step."""

    name: ClassVar[str] = "joke"
    stop_on_done: ClassVar[bool] = False
    cooperative: ClassVar[bool] = True  # it awaits a model, and nothing else takes time
    config_class = JokeConfig

    async def step(self, frame: FrameIn) -> FrameOut:
        """Tell a joke, on another subject where guidance names one."""
        state = self._read_state(frame)
        number = state.count + 1
        text = await self._request_joke(number, state.subject)
        return FrameOut(
            step=frame.step,
            next_step=f"joke/{number + 1}",
            state=msgspec.to_builtins(JokeState(subject=state.subject, count=number)),
            text=text,
            data={"subject": state.subject, "number": number},
            done=False,
        )

    def _read_state(self, frame: FrameIn) -> JokeState:
        """The state, with guidance taken in; an edited one may be anything."""
        try:
            state = typed_json.convert(frame.state, JokeState)
        except msgspec.ValidationError:
            state = JokeState(subject=self._config.subject)
        if frame.guidance is UNSET:
            return state
        subject = " ".join(str(frame.guidance).split())[:MAX_SUBJECT_CHARS]
        return JokeState(subject=subject or state.subject, count=state.count)

    async def _request_joke(self, number: int, subject: str) -> str:
        request = ModelRequest(
            model=self._config.model,
            system=_SYSTEM,
            messages=(UserMessage(content=f"Tell me joke number {number} about {subject}."),),
        )
        answer = await query_model(self.provider(), request, self.task.dbg)
        return answer.content
