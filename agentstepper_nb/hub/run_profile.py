"""A run's profile: the times of its events, and the parts of its prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from ..core import message_parts
from ..protocol.data_model import Event, EventKind, EventSide, HaltPoint
from ..protocol.lanes import find_scope_lane
from ..protocol.run_profile import (
    GetModelInfo,
    GetProfile,
    ModelInfoList,
    ProfiledEvent,
    PromptSizes,
    RunProfile,
)
from .model_info import find_model_info
from .pagination import read_run
from .run_service import RunService

_KINDS: Final = (EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION, EventKind.CUSTOM)
#: Rows that a profile is made of: the last ones of a run.
MAX_PROFILED_ROWS: Final = 4000
_SYSTEM_KEYS: Final = ("system", "instructions", "systemInstruction", "system_instruction")
_TOOLS_KEYS: Final = ("tools", "functions", "toolConfig")
_encode: Final = msgspec.json.Encoder().encode


class MessageSize(NamedTuple):
    """A message of a prompt: its digest and size."""

    digest: int
    size_bytes: int
    is_system: bool


class PromptMessages(NamedTuple):
    """The parts of a prompt, as far as sizes need them."""

    system_bytes: int
    tools_bytes: int
    messages: tuple[MessageSize, ...]


async def read_profile(hub: RunService, command: GetProfile) -> RunProfile:
    """Read the times of a run's events, and their usage.

    Raises:
        CommandError: `unknown_run`.
        DamagedRunError: The stored run is damaged.
    """
    last = hub.run(command.run).rows
    first = max(1, last - MAX_PROFILED_ROWS + 1)
    profiler = RunProfiler(command.run, first)
    visit = hub.store.visit_rows(command.run, first, last, profiler.add, profiler.needs_content)
    await read_run(hub, command.run, visit)
    return await asyncio.to_thread(profiler.make_profile)


async def read_model_info(hub: RunService, command: GetModelInfo) -> ModelInfoList:
    """Look models up; on a thread, since the first time reads the package's data."""
    return await asyncio.to_thread(find_model_info, command.models)


class RunProfiler:
    """Collects the halt points of a run, in any order and on any thread, to a profile.

    Args:
        run: The run's id.
        first_row: The number of the first row that is added.
    """

    def __init__(self, run: str, first_row: int) -> None:
        self._run = run
        self._first_row = first_row
        self._begins: dict[str, HaltPoint] = {}  # by event
        self._ends: dict[str, HaltPoint] = {}
        self._prompts: dict[str, PromptMessages] = {}

    def needs_content(self, point: HaltPoint) -> bool:
        """Whether the contents of a halt point are needed: those of prompts."""
        return point.kind is EventKind.LLM_QUERY and point.side is EventSide.BEGIN

    def add(self, item: HaltPoint | Event) -> None:
        """Add a row; debug messages are left out."""
        if isinstance(item, Event) or item.kind not in _KINDS:
            return
        bare = msgspec.structs.replace(item, data="", edit=None, traceback="")
        (self._begins if item.side is EventSide.BEGIN else self._ends)[item.event] = bare
        if self.needs_content(item):
            prompt = read_prompt(item.current)
            if prompt is not None:
                self._prompts[item.event] = prompt

    def make_profile(self) -> RunProfile:
        """Make the profile of the added rows; an event that begins before the first row is left out."""
        begins = sorted(self._begins.values(), key=lambda point: point.seq)
        sizes = self._compare_prompts(begins)
        events = (
            _make_event(begin, self._ends.get(begin.event), sizes.get(begin.event))
            for begin in begins
        )
        return RunProfile(run=self._run, events=tuple(events), first_row=self._first_row)

    def _compare_prompts(self, begins: list[HaltPoint]) -> dict[str, PromptSizes]:
        """The sizes of each prompt, by event. Messages of the same agent's previous prompt count as
        history.
        """
        previous: dict[tuple[str, ...], frozenset[int]] = {}
        sizes = {}
        for begin in begins:
            prompt = self._prompts.get(begin.event)
            if prompt is None:
                continue
            lane = find_scope_lane(begin.scope)
            known = previous.get(lane, frozenset())
            previous[lane] = frozenset(message.digest for message in prompt.messages)
            sizes[begin.event] = _measure(prompt, known)
        return sizes


def read_prompt(text: str) -> PromptMessages | None:
    """The parts of a prompt.

    Args:
        text: The prompt as JSON.

    Returns:
        Its parts; None where the text is no prompt with messages.
    """
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    found = message_parts.find_messages(value)
    if isinstance(found, str):
        found = [found]
    if not isinstance(found, list):
        return None
    options = value if isinstance(value, Mapping) else {}
    return PromptMessages(
        _count_bytes(options, _SYSTEM_KEYS),
        _count_bytes(options, _TOOLS_KEYS),
        tuple(_read_message(item) for item in found),
    )


def _read_message(item: Any) -> MessageSize:
    encoded = _encode(item)
    message = message_parts.read_message(item)
    return MessageSize(
        hash(encoded), len(encoded), message is not None and message.role == "system"
    )


def _count_bytes(options: Mapping[str, Any], keys: tuple[str, ...]) -> int:
    return sum(len(_encode(options[key])) for key in keys if options.get(key))


def _measure(prompt: PromptMessages, known: frozenset[int]) -> PromptSizes:
    system, history, new = prompt.system_bytes, 0, 0
    for message in prompt.messages:
        if message.is_system:
            system += message.size_bytes
        elif message.digest in known:
            history += message.size_bytes
        else:
            new += message.size_bytes
    return PromptSizes(system=system, tools=prompt.tools_bytes, history=history, new=new)


def _make_event(
    begin: HaltPoint, end: HaltPoint | None, prompt: PromptSizes | None
) -> ProfiledEvent:
    duration_s = None if end is None else end.duration
    started_at = begin.at
    if end is not None and duration_s is not None:
        started_at = end.at - duration_s  # the begin may have been halted at
    return ProfiledEvent(
        seq=begin.seq,
        kind=begin.kind,
        name=begin.name,
        scope=begin.scope,
        label=begin.label,
        started_at=started_at,
        duration_s=duration_s,
        outcome=None if end is None else end.outcome,
        usage=None if end is None else end.usage,
        prompt=prompt,
    )
