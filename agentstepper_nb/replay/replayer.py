"""Answers the events of one run by a recording; and how a function is run so."""

from __future__ import annotations

import difflib
import json
import threading
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from ..errors import Divergence
from ..protocol.answers import ResumeAnswer, SkipAnswer
from ..protocol.data_model import EventKind, EventSide
from ..protocol.replay_marks import ReplayMark, ReplayRole
from ..protocol.start_methods import ForkOrigin
from ..sdk.drivers import is_loop_running
from ..sdk.raised_errors import make_recorded_error, make_signal
from ..sdk.replay_source import EventRequest, ReplayedBegin
from .event_matcher import (
    EventKey,
    EventMatcher,
    RecordedEvent,
    ReplayAction,
    ReplayDecision,
    ReplayDepth,
    ReplayMode,
)
from .recordings import Recording
from .volatile_patterns import format_patterns, suggest_patterns

#: Lines around a difference, and lines of a diff at most.
_CONTEXT_LINES: Final = 3
_MAX_DIFF_LINES: Final = 200
_SUGGESTION: Final = " What differs may be left out of the comparison: volatile="
#: The answers by which an event's call isn't made.
_UNMADE: Final = (ReplayAction.SERVE, ReplayAction.DIVERGE)
_MADE_BY_AGENT: Final = "The agent called this tool itself: only its result is seen."


@dataclass(frozen=True)
class ForkPoint:
    """The place where a run is forked.

    Args:
        event: The id of the recorded event.
        side: The begin, to edit the request, or the end, to edit the result.
        edit: The JSON text of the new request or result; None: the run halts at the fork point.
    """

    event: str
    side: EventSide = EventSide.BEGIN
    edit: str | None = None


class RepeatedDivergence(Divergence, KeyboardInterrupt):
    """An agent goes on after it diverged: loops that retry whatever fails end at KeyboardInterrupt."""


class Replayer:
    """Answers the events of one run by a recording. Thread-safe.

    Args:
        recording: The recording.
        fork: Where the run is forked; None: nowhere, it is a strict replay.
        depth: What is served where recorded events are inside of one another.
        halts: Whether the run halts in the view where it diverges, before it ends.
    """

    def __init__(
        self,
        recording: Recording,
        fork: ForkPoint | None = None,
        depth: ReplayDepth = ReplayDepth.WHOLE,
        *,
        halts: bool = True,
    ) -> None:
        self.recording = recording
        self._fork = fork
        self._halts = halts
        self._lock = threading.Lock()
        #: LLM queries that were made, since no outcome was served.
        self.made_queries = 0
        #: The run's divergence; None: there was none. The agent may have caught the exception.
        self.divergence: Divergence | None = None
        mode = ReplayMode.STRICT if fork is None else ReplayMode.FORK
        fork_at = None if fork is None else fork.event
        self._fork_row = None if fork is None else _find_row(recording, fork)
        self._matcher = EventMatcher(recording.events, mode, depth, fork_at)

    @property
    def origin(self) -> ForkOrigin:
        """The recorded run, and the row that it is forked at."""
        return ForkOrigin(run=self.recording.run, row=self._fork_row or UNSET)

    @property
    def remaining(self) -> tuple[RecordedEvent, ...]:
        """The recorded events that haven't happened yet, by seq."""
        with self._lock:
            return self._matcher.list_unmatched()

    def check_complete(self) -> None:
        """Check, at the end of a strict replay, that all that was recorded has happened.

        Raises:
            Divergence: Something is missing, or the run has diverged and went on.
        """
        if self.divergence is not None:
            raise self.divergence
        with self._lock:
            missing = self._matcher.find_missing()
        if missing is not None:
            raise Divergence(
                f"The replay of run {self.recording.run} ended before its recording. Expected next: row "
                f"{missing.seq}.",
                missing.id,
            )

    def begin(self, request: EventRequest) -> ReplayedBegin:
        """Decide how an event begins; see `ReplaySource`."""
        if self.divergence is not None:
            return _repeat(self.divergence)
        hasher, begun = self.recording.hasher, request.begun
        if hasher.key is None:
            content_hash = hasher.hash(bytes(request.data))
        else:
            content_hash = request.hash_with_key(hasher.key)
        scope = () if begun.scope is UNSET else begun.scope
        key = EventKey(scope, begun.kind, begun.name, content_hash)
        with self._lock:
            decision = self._matcher.decide(key, has_forked=request.scope.has_forked)
            if decision.action in (ReplayAction.FORK, ReplayAction.LIVE):
                # Where the outcome is another this time, the next request is, too, and taints the scope.
                _set_forked(request, is_around=not decision.is_unserved)
            if begun.kind is EventKind.LLM_QUERY and decision.action not in _UNMADE:
                self.made_queries += 1
        if decision.recorded is not None and request.scope.frozen is not None:
            _set_time(request, decision.recorded.at)
        return self._execute(decision, request)

    def _execute(self, decision: ReplayDecision, request: EventRequest) -> ReplayedBegin:
        recorded = decision.recorded
        if decision.action is ReplayAction.DIVERGE:
            return self._diverge(decision, request)
        if request.is_made:
            return _accept_made(decision)
        if recorded is not None and decision.action is ReplayAction.SERVE:
            return _serve(recorded, _make_mark(ReplayRole.SERVED, decision))
        if recorded is not None and decision.action is ReplayAction.FORK:
            return self._begin_fork(recorded, decision)
        is_entered = decision.action is ReplayAction.ENTER
        role = ReplayRole.ENTERED if is_entered else ReplayRole.LIVE
        return ReplayedBegin(_make_mark(role, decision))

    def _begin_fork(self, recorded: RecordedEvent, decision: ReplayDecision) -> ReplayedBegin:
        assert self._fork is not None
        edit = None if self._fork.edit is None else Raw(self._fork.edit.encode())
        forked = _make_mark(ReplayRole.FORKED, decision, halts=edit is None)
        if self._fork.side is EventSide.BEGIN:
            answer = None if edit is None else ResumeAnswer(data=edit)
            return ReplayedBegin(forked, answer, edit=edit)
        served = _make_mark(ReplayRole.SERVED, decision)
        if recorded.refusal is not None and edit is None:
            return ReplayedBegin(_make_mark(ReplayRole.ENTERED, decision), end_mark=forked)
        if recorded.refusal is not None or recorded.result is None:
            result = edit or Raw(b"null")  # which a person replaces where the run halts
            return ReplayedBegin(served, SkipAnswer(result=result), end_mark=forked)
        return _serve(recorded, served)._replace(end_mark=forked, end_edit=edit)

    def _diverge(self, decision: ReplayDecision, request: EventRequest) -> ReplayedBegin:
        begun, expected = request.begun, decision.recorded
        what = f"{begun.kind.value} {begun.name or ''}".strip()
        message = f"The replay differs from run {self.recording.run} at {what}. {decision.reason}"
        diff, volatile = "", tuple[str, ...]()
        if expected is not None:
            actual = str(request.data, "utf-8")
            diff = make_request_diff(expected.request, actual)
            volatile = suggest_patterns(expected.request, actual) if diff else ()
            message += f" Expected: row {expected.seq}."
        if volatile:
            message += _SUGGESTION + format_patterns(volatile) + "."
        error = Divergence(message, None if expected is None else expected.id, diff, volatile)
        self.divergence = error
        mark = _make_mark(ReplayRole.DIVERGED, decision, halts=self._halts)
        return ReplayedBegin(mark, error=error)


def make_request_diff(expected: str, actual: str) -> str:
    """A unified diff of two requests.

    Args:
        expected: The JSON text that was recorded.
        actual: The JSON text now.
    """
    lines = difflib.unified_diff(
        _list_lines(expected), _list_lines(actual), "recorded", "now", n=_CONTEXT_LINES, lineterm=""
    )
    shown = list(lines)
    if len(shown) > _MAX_DIFF_LINES:
        shown = [*shown[:_MAX_DIFF_LINES], f"… {len(shown) - _MAX_DIFF_LINES} more lines"]
    return "\n".join(shown)


def _list_lines(text: str) -> list[str]:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False).splitlines()
    except ValueError:  # lenient JSON of version 1
        return text.splitlines()


def _find_row(recording: Recording, fork: ForkPoint) -> int | None:
    event = next((each for each in recording.events if each.id == fork.event), None)
    if event is None:
        return None
    return event.seq if fork.side is EventSide.BEGIN else event.end_seq


def _set_forked(request: EventRequest, *, is_around: bool) -> None:
    """Let what an event opens be live from now on, and perhaps the scope around it."""
    if is_around:
        request.scope.has_forked = True
    if request.event.scope is not None:
        request.event.scope.has_forked = True


def _repeat(first: Divergence) -> ReplayedBegin:
    """Refuse an event of an agent that goes on."""
    kind = Divergence if is_loop_running() else RepeatedDivergence  # which would end the loop
    error = kind(first.message, first.expected, first.diff, first.volatile)
    return ReplayedBegin(ReplayMark(role=ReplayRole.DIVERGED), error=error)


def _set_time(request: EventRequest, at: float) -> None:
    """Let the code of a scope, and what the event itself opens, see the time of a recorded event."""
    for scope in (request.scope, request.event.scope):
        if scope is not None and scope.frozen is not None:
            scope.frozen.at = at


def _serve(recorded: RecordedEvent, mark: ReplayMark) -> ReplayedBegin:
    if recorded.failure is not None:
        return ReplayedBegin(mark, error=make_recorded_error(recorded.failure))
    if recorded.signal is not None:
        signal = make_signal(json.loads(recorded.signal))
        if signal is None:  # its class isn't here
            return ReplayedBegin(msgspec.structs.replace(mark, role=ReplayRole.ENTERED))
        return ReplayedBegin(mark, error=signal)
    return ReplayedBegin(mark, SkipAnswer(result=Raw((recorded.result or "null").encode())))


def _accept_made(decision: ReplayDecision) -> ReplayedBegin:
    """An event whose call was made before it was known."""
    match decision.action:
        case ReplayAction.FORK:
            return ReplayedBegin(_make_mark(ReplayRole.FORKED, decision))
        case ReplayAction.LIVE:
            return ReplayedBegin(_make_mark(ReplayRole.LIVE, decision))
    mark = _make_mark(ReplayRole.ENTERED, decision)
    return ReplayedBegin(msgspec.structs.replace(mark, note=_MADE_BY_AGENT))


def _make_mark(role: ReplayRole, decision: ReplayDecision, *, halts: bool = False) -> ReplayMark:
    note = decision.reason
    if decision.is_relocated:
        note = "Recorded in another scope."
    recorded = decision.recorded
    return ReplayMark(
        role=role, event=UNSET if recorded is None else recorded.id, note=note, halts=halts
    )
