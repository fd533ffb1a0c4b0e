"""Whole conversations, kept line by line in the data folder, from which they are opened again."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.chat import ChatAgentPhase, ChatMessagePage, ChatSessionInfo, Message, State
from .line_store import FileLineStore, LineStore, MemoryLineStore, ReadOnlyLineStore

log = logging.getLogger("agentstepper_nb.chat")

_SUFFIX: Final = ".jsonl"
#: Bytes at a file's end, in which its last line is looked for.
_EDGE_BYTES: Final = 64 * 1024
#: Bytes of a file's first line at most: of many agents it has a long description each.
_MAX_FIRST_LINE_BYTES: Final = 16 * 1024 * 1024


class ChatTranscripts:
    """The transcripts of an installation.

    Args:
        folder: The folder of the transcripts; None: transcripts are in memory, and end with the process.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        #: The session of each file, by the file's name, valid while the file is unchanged.
        self._known: dict[str, tuple[tuple[int, int], ChatSessionInfo | None]] = {}

    def create(self, session: ChatSessionInfo) -> ChatTranscript:
        """Create the transcript of a new session. The first message creates the file."""
        lines = MemoryLineStore() if self._folder is None else FileLineStore(self._path(session.id))
        return ChatTranscript(lines, session)

    def open(self, session_id: str) -> ChatTranscript:
        """Open a stored transcript.

        Raises:
            CommandError: `unknown_session`: there is no such transcript. `session_open`: another process
                has the transcript open. `session_failed`: the transcript can't be read.
        """
        path = self._path(session_id)
        lines: FileLineStore | None = None
        try:
            lines = FileLineStore(path)
            if not lines.size:
                raise FileNotFoundError
            first = lines.read(0, min(lines.size, _MAX_FIRST_LINE_BYTES))
            return ChatTranscript(lines, read_first_line(first, session_id))
        except (OSError, *DECODE_ERRORS) as error:
            if lines is not None:
                lines.close()
            if isinstance(error, FileNotFoundError):
                raise make_unknown_session_error(session_id) from None
            text = f"The chat session in {path} can't be read: {error}."
            raise CommandError("session_failed", text) from None

    def list_stored_sessions(self, excluded_ids: Container[str] = ()) -> list[ChatSessionInfo]:
        """List the sessions with stored transcripts, in no order.

        Args:
            excluded_ids: The ids of sessions to skip, because they are open in this process.
        """
        if self._folder is None:
            return []
        known = {}
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    id = entry.name.removesuffix(_SUFFIX)
                    if id != entry.name and is_session_id(id) and id not in excluded_ids:
                        known[entry.name] = self._read_entry(entry)
        except OSError:  # there is no folder yet
            return []
        self._known = known
        return [info for _, info in known.values() if info is not None]

    def _read_entry(
        self, entry: os.DirEntry[str]
    ) -> tuple[tuple[int, int], ChatSessionInfo | None]:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # deleted meanwhile
            return (0, 0), None
        if not stat.S_ISREG(status.st_mode):  # to open a pipe may take for ever
            return (0, 0), None
        mark = (status.st_mtime_ns, status.st_size)
        known = self._known.get(entry.name)
        if known is not None and known[0] == mark:
            return known
        try:
            return mark, _summary(Path(entry.path))
        except (OSError, *DECODE_ERRORS) as error:
            log.warning("%s can't be listed: %s", entry.path, error)
            return mark, None

    def _path(self, session_id: str) -> Path:
        if self._folder is None or not is_session_id(session_id):
            raise make_unknown_session_error(session_id)
        return self._folder / f"{session_id}{_SUFFIX}"


def is_session_id(text: str) -> bool:
    """Whether a session may have such an id: it is a file's name."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def make_unknown_session_error(session_id: str) -> CommandError:
    """There is no such session."""
    return CommandError("unknown_session", f"There is no chat session {session_id[:100]!r}.")


def _summary(path: Path) -> ChatSessionInfo:
    """What a file says of its session: by its last line, where that is a note, else by all of it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        first = read_first_line(file.readline(_MAX_FIRST_LINE_BYTES), path.stem)
        file.seek(max(0, os.fstat(descriptor).st_size - _EDGE_BYTES))
        tail = file.read()
        last_line = tail.rstrip(b"\n").rpartition(b"\n")[2]
        last = read_session_info(last_line) if tail.endswith(b"\n") else None
        if last is not None:
            return replace(last, id=path.stem)
        return ChatTranscript(ReadOnlyLineStore(descriptor), first).summary()


#: The errors of a damaged line: the line isn't UTF-8, isn't JSON, or has another format.
DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
#: A session's file is of this form; a later one is left alone.
FORMAT_VERSION: Final = 1
#: Characters of an agent's description that are kept.
_MAX_DESCRIPTION_CHARS: Final = 1000
#: Bytes that are read at once, of pictures mostly.
MAX_READ_BYTES: Final = 64 * 1024 * 1024


class _Line(Struct, kw_only=True, omit_defaults=True):
    """A line: what is noted of the session, a message, or the ids of messages that are gone."""

    form: int | None = None  # of the first line
    session: ChatSessionInfo | None = None
    message: Message | None = None
    gone: tuple[str, ...] = ()


class _IndexedMessage(Struct):
    """A message, as far as an index needs it."""

    id: str
    created_at: float = 0.0


class _IndexedLine(Struct):
    """A line, as far as an index needs it."""

    form: int | None = None
    session: Raw = Raw()
    message: _IndexedMessage | None = None
    gone: tuple[str, ...] = ()


_index: Final = msgspec.json.Decoder(_IndexedLine)
_line: Final = msgspec.json.Decoder(_Line)
_info: Final = msgspec.json.Decoder(ChatSessionInfo)


class ChatTranscript:
    """The transcript of one session. A message that is written again replaces its earlier version.

    Args:
        lines: The storage of the lines.
        session: The session's state in the first line.
        max_read_bytes: The most bytes of messages that are read at once.
    """

    def __init__(
        self, lines: LineStore, session: ChatSessionInfo, max_read_bytes: int = MAX_READ_BYTES
    ) -> None:
        self._max_read_bytes = max_read_bytes
        self.session = session
        """What was noted of the session last."""
        self._lines = lines
        #: The position of each message; None: the message could not be written.
        self._places: dict[str, tuple[int, int] | None] = {}
        self._updated_at = session.updated_at
        if lines.size:
            self._read_index()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._places

    def record_message(self, message: Message) -> None:
        """Write a new or changed message.

        Raises:
            OSError: The message can't be written; it still counts as a message of the session.
        """
        self._places.setdefault(message.id, None)
        self._updated_at = max(self._updated_at, message.created_at)
        self._places[message.id] = self._append(_Line(message=message))

    def record_removal(self, message_ids: Iterable[str]) -> None:
        """Forget messages.

        Raises:
            OSError: That can't be written. They are gone all the same, for as long as this is open.
        """
        ids = tuple(each for each in message_ids if each in self._places)
        for each in ids:
            del self._places[each]
        if ids:
            self._append(_Line(gone=ids))

    def record_info(self, session: ChatSessionInfo) -> None:
        """Write the session's state, for lists of sessions. Does nothing before the first message.

        Raises:
            OSError: The state can't be written.
        """
        self.session = make_closed_info(session)
        if self._places:
            self._append(_Line(session=self.session))

    def read(self, message_id: str) -> Message | None:
        """Read a message; None: there is no such message, or it can't be read."""
        place = self._places.get(message_id)
        if place is None:
            return None
        try:
            return _line.decode(self._lines.read(*place)).message
        except (OSError, *DECODE_ERRORS):
            log.exception("A message of chat session %s can't be read.", self.session.id)
            return None

    def read_newest(self, count: int) -> tuple[Message, ...]:
        """The newest messages, oldest first: so many, or as many as may be read at once."""
        return self._read(self._select_within_limit(list(self._places)[-count:]))

    def read_before(self, message_id: str, limit: int) -> ChatMessagePage:
        """The newest messages before one.

        Args:
            message_id: The one.
            limit: How many at most.

        Raises:
            CommandError: `unknown_message_id`.
        """
        ids = list(self._places)
        try:
            end = ids.index(message_id)
        except ValueError:
            raise CommandError(
                "unknown_message_id", f"This conversation has no message {message_id[:100]!r}."
            ) from None
        page = self._select_within_limit(ids[max(0, end - limit) : end])
        return ChatMessagePage(messages=self._read(page), more=end > len(page))

    def close(self) -> None:
        """Close the transcript. Idempotent."""
        self._lines.close()

    def remove(self) -> None:
        """Delete it, and let go of it.

        Raises:
            CommandError: `session_failed`: it can't be deleted.
        """
        try:
            self._lines.remove()
        except OSError as error:
            raise CommandError(
                "session_failed",
                f"The files of chat session {self.session.id} can't be deleted: {error}.",
            ) from None
        finally:
            self.close()

    def summary(self) -> ChatSessionInfo:
        """Return the session's stored state."""
        state = self.session.state
        if self._places and state is State.STATE_INIT:
            state = State.STATE_STOP
        return replace(
            self.session, messages=len(self), state=state, updated_at=self._updated_at, live=False
        )

    def _select_within_limit(self, ids: list[str]) -> list[str]:
        """The newest of them that may be read at once: one at least."""
        remaining_bytes, taken = self._max_read_bytes, 0
        for each in reversed(ids):
            place = self._places[each]
            remaining_bytes -= 0 if place is None else place[1]
            if remaining_bytes < 0 and taken:
                break
            taken += 1
        return ids[len(ids) - taken :]

    def _read(self, ids: Iterable[str]) -> tuple[Message, ...]:
        found = (self.read(each) for each in ids)
        return tuple(each for each in found if each is not None)

    def _append(self, line: _Line) -> tuple[int, int]:
        if not self._lines.size:
            self._lines.append(
                _encoded(_Line(form=FORMAT_VERSION, session=make_closed_info(self.session)))
            )
        data = _encoded(line)
        return self._lines.append(data), len(data)

    def _read_index(self) -> None:
        offset, bad = 0, 0
        for data in self._lines.lines():
            try:
                self._index_line(_index.decode(data), offset, len(data))
            except DECODE_ERRORS:
                bad += bool(data.strip())
            offset += len(data)
        if bad:
            log.warning("%d lines of chat session %s are damaged.", bad, self.session.id)

    def _index_line(self, line: _IndexedLine, offset: int, length: int) -> None:
        if bytes(line.session):
            self.session = replace(_info.decode(line.session), id=self.session.id)
            self._updated_at = max(self._updated_at, self.session.updated_at)
        if line.message is not None:
            self._places[line.message.id] = (offset, length)
            self._updated_at = max(self._updated_at, line.message.created_at)
        for each in line.gone:
            self._places.pop(each, None)


def make_closed_info(session: ChatSessionInfo) -> ChatSessionInfo:
    """Convert a session's state to that of a session that isn't open."""
    return replace(
        session,
        state=State.STATE_INIT if session.state is State.STATE_INIT else State.STATE_STOP,
        agents=tuple(
            replace(
                each,
                phase=ChatAgentPhase.ENDED,
                description=each.description[:_MAX_DESCRIPTION_CHARS],
            )
            for each in session.agents
        ),
        speaking=None,
        waiting=None,
        halted=False,
        no_debugger=None,
        messages_in_memory=0,
        window_from=None,
        live=False,
    )


def _encoded(line: _Line) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def read_first_line(data: bytes, session_id: str) -> ChatSessionInfo:
    """Decode a file's first line. The session's id is taken from the file's name."""
    line = _line.decode(data.partition(b"\n")[0])
    if line.form != FORMAT_VERSION or line.session is None:
        raise OSError("a newer agentstepper_nb wrote the file, or it is not a transcript")
    return replace(line.session, id=session_id)


def read_session_info(line: bytes) -> ChatSessionInfo | None:
    """Decode a line with the session's state; None: the line is of another kind, or incomplete."""
    if not line.startswith(b'{"session":'):
        return None
    try:
        return _line.decode(line).session
    except DECODE_ERRORS:
        return None
