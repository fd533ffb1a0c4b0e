"""`joke`: tells one joke after the other on its subject. Guidance changes the subject."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec
from msgspec import UNSET, Struct

from ...llm_wire.conversation import ModelRequest, UserMessage
from ...models.base import ModelProvider
from ..frame import FrameIn, FrameOut
from ..moniker import Moniker, Task
from .asking import ask
from .config import Interval, Said, check_provider, config_of, open_provider

#: Characters of guidance that make a subject.
LONGEST_SUBJECT: Final = 200

_SYSTEM: Final = (
    "You tell jokes. Answer with one short joke on the subject that you are given, which names the "
    "subject, and with nothing else."
)


class JokeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a teller of jokes is created with.

    Args:
        subject: What its jokes are on.
        interval_s: Seconds between two jokes.
        provider: Who serves the model. As it stands it needs no network and no key.
        model: The model's name there.
    """

    subject: Said = "agents"
    interval_s: Interval = 3.0
    provider: str = "scripted"
    model: str = "jokes"


class Told(Struct, frozen=True, kw_only=True):
    """Its state: what the jokes are on, and how many were told."""

    subject: str
    count: int = 0


class JokeMoniker(Moniker):
    """Tells a joke a step."""

    name: ClassVar[str] = "joke"
    stop_on_done: ClassVar[bool] = False

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._config = config_of(task.config, JokeConfig)
        self._provider: ModelProvider | None = None

    @classmethod
    def check(cls, config: Any) -> None:
        """See `Moniker.check`."""
        checked = config_of(config, JokeConfig)
        check_provider(checked.provider, checked.model)

    async def step(self, frame: FrameIn) -> FrameOut:
        """Tell a joke, on another subject where guidance names one."""
        told = self._told(frame)
        number = told.count + 1
        text = await self._joke(number, told.subject)
        return FrameOut(
            step=frame.step,
            next_step=f"joke/{number + 1}",
            state=msgspec.to_builtins(Told(subject=told.subject, count=number)),
            text=text,
            data={"subject": told.subject, "number": number},
            done=False,
        )

    def pause_s(self) -> float:
        """The interval."""
        return self._config.interval_s

    async def close(self) -> None:
        """Close the model's connections."""
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()

    def _told(self, frame: FrameIn) -> Told:
        """The state, with guidance taken in; an edited one may be anything."""
        try:
            told = msgspec.convert(frame.state, Told)
        except msgspec.ValidationError:
            told = Told(subject=self._config.subject)
        if frame.guidance is UNSET:
            return told
        subject = " ".join(str(frame.guidance).split())[:LONGEST_SUBJECT]
        return Told(subject=subject or told.subject, count=told.count)

    async def _joke(self, number: int, subject: str) -> str:
        config = self._config
        if self._provider is None:
            self._provider = open_provider(config.provider, config.model)
        request = ModelRequest(
            model=config.model,
            system=_SYSTEM,
            messages=(UserMessage(content=f"Tell me joke number {number} about {subject}."),),
        )
        answer = await ask(self._provider, request, self.task.dbg)
        return answer.content
