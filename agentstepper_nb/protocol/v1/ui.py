"""Version 1 between the web UI and the Core: `{"event": …, "content": …}`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, cast

import msgspec
from msgspec import Raw, Struct

from ... import typed_json
from ...errors import ProtocolError
from ..data_model import (
    AgentActivity,
    Commit,
    Event,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
    RunState,
)
from ..records import RunHistory
from .agent import find_summary
from .commits import dump_changes, select_commits

AGENT_STATES: Final[dict[AgentActivity, str]] = {
    AgentActivity.RUNNING: "Agent running...",
    AgentActivity.LLM_THINKING: "LLM thinking...",
    AgentActivity.TOOL_EXECUTING: "Tool executing...",
    AgentActivity.HALTED: "Halted at breakpoint...",
    AgentActivity.HALTING: "Halting at breakpoint...",
    AgentActivity.WAITING: "Agent running...",  # version 1 has no other word
    AgentActivity.FINISHED: "Agent finished...",
}

#: Sender and receiver at the begin and at the end of an event. Version 1 names the agent Core.
_ACTORS: Final[dict[tuple[EventKind, EventSide], tuple[str, str]]] = {
    (EventKind.LLM_QUERY, EventSide.BEGIN): ("Core", "LLM"),
    (EventKind.LLM_QUERY, EventSide.END): ("LLM", "Core"),
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN): ("Core", "Tools"),
    (EventKind.TOOL_INVOCATION, EventSide.END): ("Tools", "Core"),
    (EventKind.CUSTOM, EventSide.BEGIN): ("Core", "Tools"),
    (EventKind.CUSTOM, EventSide.END): ("Tools", "Core"),
}

_NULL: Final = Raw(b"null")

# ---- UI to Core -------------------------------------------------------------------------------------


class V1Step(Struct, frozen=True):
    """Answer the pending breakpoint, or halt at the next."""

    run: str


class V1Continue(Struct, frozen=True):
    """Go on without halting."""

    run: str


class V1Halt(Struct, frozen=True):
    """Halt at the next breakpoint."""

    run: str


class V1Rename(Struct, frozen=True):
    """Rename a run."""

    run: str
    name: str


class V1Download(Struct, frozen=True):
    """Ask for a run's file."""

    run: str


class V1Import(Struct, frozen=True):
    """Take a run's file in."""

    data: str


class V1Update(Struct, frozen=True):
    """Set the edit of the message a run is halted at."""

    run: str
    message: str
    content: Raw


class V1Delete(Struct, frozen=True):
    """Delete a run that has ended."""

    run: str


V1Command = V1Step | V1Continue | V1Halt | V1Rename | V1Download | V1Import | V1Update | V1Delete

_COMMANDS: Final[dict[str, type[Struct]]] = {
    "step": V1Step,
    "continue": V1Continue,
    "halt": V1Halt,
    "rename_run": V1Rename,
    "download_run_request": V1Download,
    "import_run": V1Import,
    "update_msg_content": V1Update,
    "delete_run": V1Delete,
}


class _Envelope(Struct):
    event: str
    content: Raw = Raw(b"{}")


_envelope = msgspec.json.Decoder(_Envelope)
_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    name: msgspec.json.Decoder(kind) for name, kind in _COMMANDS.items()
}
_encoder = msgspec.json.Encoder()
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeError)


def decode_command(text: str) -> V1Command:
    """Decode a command of the web UI.

    Raises:
        ProtocolError: Not JSON, an unknown command, or a field is wrong.
    """
    try:
        envelope = _envelope.decode(text)
    except _UNREADABLE as error:
        raise ProtocolError("malformed", f"Failed to parse the UI's message: {error}.") from None
    decoder = _decoders.get(envelope.event)
    if decoder is None:
        raise ProtocolError(
            "unknown_command",
            f"“{envelope.event[:80]}” is no command; known are: {', '.join(_COMMANDS)}.",
        )
    try:
        command = decoder.decode(envelope.content)
    except _UNREADABLE as error:
        raise ProtocolError("invalid_message", f"{envelope.event}: {error}.") from None
    return cast(V1Command, command)


def is_edit_command(text: str) -> bool:
    """Whether a message is an edit command, well-formed or not."""
    try:
        return _envelope.decode(text).event == "update_msg_content"
    except _UNREADABLE:
        return False


class _Named(Struct):
    run: str


class _Loose(Struct):
    content: _Named


def decode_run_id(text: str) -> str | None:
    """The run that a refused command names, where it names one."""
    try:
        return typed_json.decode(text, _Loose).content.run
    except _UNREADABLE:
        return None


# ---- Core to UI -------------------------------------------------------------------------------------


class _Message(Struct, rename={"source": "from", "target": "to"}):
    uuid: str
    source: str
    target: str
    content: Raw
    contentType: str
    summary: str | None
    sentAt: str


class _Change(Struct):
    path: str
    changeType: str
    content: str
    previousContent: str


class _Commit(Struct):
    id: str
    date: str
    title: str
    changes: list[_Change]


class _Run(Struct):
    uuid: str
    name: str
    programName: str
    startTime: str
    state: str
    agentState: str
    commits: list[_Commit]
    messages: list[_Message]
    haltedAt: str | None


def _encode(event: str, content: dict[str, Any]) -> str:
    return _encoder.encode({"event": event, "content": content}).decode()


def format_time(at: float) -> str:
    """A time as the original writes it: ISO 8601 to the second, with its offset."""
    return _iso(int(at))


@lru_cache(64)  # what happens now happens in the same second
def _iso(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S%z")


def _content(text: str, strict: bool) -> tuple[Raw, str]:
    """Contents for a browser: what only a lenient parser takes goes as a text."""
    if not strict:
        return Raw(_encoder.encode(text)), "text"
    return Raw(text), "json" if text.lstrip()[:1] == "{" else "text"


def _message(halt_point: HaltPoint) -> _Message:
    source, target = _ACTORS.get((halt_point.kind, halt_point.side), ("System", "System"))
    content, kind = _content(halt_point.data, halt_point.is_strict_json)
    summary = find_summary(halt_point)
    return _Message(
        halt_point.id, source, target, content, kind, summary, format_time(halt_point.at)
    )


def _debug_message(event: Event) -> _Message:
    text = _plain(event.data)
    return _Message(event.id, "System", "System", _NULL, "text", text, format_time(event.at))


def _plain(data: str | None) -> str:
    """A JSON text's string, or the text itself where it is none."""
    if data is None:
        return ""
    try:
        value = msgspec.json.decode(data)
    except _UNREADABLE:
        return data
    return value if isinstance(value, str) else data


def _commit(commit: Commit) -> _Commit:
    own = [
        _Change(path, kind, body.content, body.previous_content)
        for path, kind, body in dump_changes(commit)
    ]
    return _Commit(commit.id, format_time(commit.at), commit.model_summary or commit.title, own)


def _run(history: RunHistory) -> _Run:
    run = history.run
    rows = [(b.seq, _message(b)) for b in history.halt_points]
    rows += [
        (event.seq, _debug_message(event))
        for event in history.events
        if event.kind is EventKind.DEBUG_MESSAGE
    ]
    return _Run(
        uuid=run.id,
        name=run.name,
        programName=run.program,
        startTime=format_time(run.started_at),
        state=_state(run),
        agentState=AGENT_STATES[run.agent_state],
        commits=[_commit(commit) for commit in select_commits(history.commits)],
        messages=[message for _, message in sorted(rows, key=lambda row: row[0])],
        haltedAt=run.pending[0] if run.pending else None,
    )


def _state(run: Run) -> str:
    """Version 1 has no word for an agent that is away: it shows what the run would be otherwise."""
    if run.state is RunState.DETACHED:
        return str(RunState.HALTED if run.pending else RunState(run.mode.value))
    return str(run.state)


def encode_init_app_state(
    histories: Iterable[RunHistory], active: str | None, halted: str | None
) -> str:
    """The snapshot a UI gets when it connects.

    Args:
        histories: The runs, oldest first, whole.
        active: The live run that halted or started last.
        halted: Its pending breakpoint.
    """
    runs = [_run(history) for history in histories]
    return _encode("init_app_state", {"runs": runs, "activeRun": active, "haltedAt": halted})


def encode_new_run(history: RunHistory) -> str:
    """A run began or was imported."""
    return _encode("new_run", {"run": _run(history)})


def encode_run_state(run: Run) -> str:
    """A run's state changed."""
    content = {
        "run": run.id,
        "state": _state(run),
        "agentState": AGENT_STATES[run.agent_state],
        "haltedAt": run.pending[0] if run.pending else None,
    }
    return _encode("update_run_state", content)


def encode_new_message(halt_point: HaltPoint) -> str:
    """A breakpoint was reached."""
    return _encode("new_message", {"run": halt_point.run, "message": _message(halt_point)})


def encode_new_debug_message(event: Event) -> str:
    """The agent posted a debug message."""
    return _encode("new_message", {"run": event.run, "message": _debug_message(event)})


def encode_new_note(run: str, id: str, text: str, at: float) -> str:
    """Something that the Core has to say of a run, as a message that nobody keeps."""
    note = _Message(id, "System", "System", _NULL, "text", text, format_time(at))
    return _encode("new_message", {"run": run, "message": note})


def encode_new_commit(commit: Commit) -> str:
    """A commit arrived."""
    return _encode("new_commit", {"run": commit.run, "commit": _commit(commit)})


def encode_run_export(name: str, data: bytes) -> str:
    """A run's file, as asked."""
    return _encode("run_export", {"name": name, "data": data.decode("ascii")})


def encode_error(code: str, message: str, run: str | None) -> str:
    """A command was refused."""
    return _encode("error", {"code": code, "message": message, "run": run})
