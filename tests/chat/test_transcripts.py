"""The folder of transcripts: what is listed, who may open it, and what is left alone."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from agentstepper_nb import line_file
from agentstepper_nb.chat import line_store
from agentstepper_nb.chat.transcripts import ChatTranscripts
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.chat import (
    AgentType,
    ChatAgentInfo,
    ChatSessionInfo,
    Message,
    State,
)
from tests.chat.harness import expect_refusal, make_numbered_messages, message, session


@pytest.fixture
def stored(tmp_path: Path) -> ChatTranscripts:
    return ChatTranscripts(tmp_path / "chats")


def written(stored: ChatTranscripts, messages: list[Message], **fields: Any) -> ChatSessionInfo:
    """Keep a conversation, and let go of it."""
    info = session(**fields)
    with closing(stored.create(info)) as made:
        for each in messages:
            made.record_message(each)
        made.record_info(info)
    return info


def test_only_this_user_may_read_it(stored: ChatTranscripts, tmp_path: Path) -> None:
    info = written(stored, make_numbered_messages(1))
    path = tmp_path / "chats" / f"{info.id}.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_conversation_in_which_nothing_was_said_leaves_nothing(
    stored: ChatTranscripts, tmp_path: Path
) -> None:
    written(stored, [])
    assert not (tmp_path / "chats").exists()
    assert stored.list_stored_sessions() == []


def test_kept_sessions_are_listed_and_opened(stored: ChatTranscripts) -> None:
    infos = [written(stored, make_numbered_messages(n + 1), title=f"T{n}") for n in range(3)]
    assert {each.id: each.title for each in stored.list_stored_sessions()} == {
        each.id: each.title for each in infos
    }
    assert not any(each.live for each in stored.list_stored_sessions())
    with closing(stored.open(infos[2].id)) as made:
        assert (made.session.title, len(made)) == ("T2", 3)


def test_many_agents_with_long_descriptions_are_listed_and_opened(stored: ChatTranscripts) -> None:
    agents = [
        ChatAgentInfo(
            name=f"a{n}", role="OTHER", type=AgentType.TOOL_CALLING, description="説" * 1000
        )
        for n in range(25)
    ]
    info = session(agents=tuple(agents))
    with closing(stored.create(info)) as made:  # its process is killed before it notes more
        made.record_message(message("Hello", id="1"))
    assert [each.id for each in stored.list_stored_sessions()] == [info.id]
    with closing(stored.open(info.id)) as opened:
        assert len(opened.session.agents) == 25


def test_a_list_looks_at_what_changed_alone(
    stored: ChatTranscripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    infos = [written(stored, make_numbered_messages(1)) for _ in range(20)]
    stored.list_stored_sessions()
    opened = []
    real = os.open
    monkeypatch.setattr(
        "agentstepper_nb.chat.transcripts.os.open",
        lambda path, *given: opened.append(path) or real(path, *given),
    )
    stored.list_stored_sessions()
    assert opened == []
    with closing(stored.open(infos[3].id)) as made:
        made.record_message(message("more", id="more"))
    opened.clear()
    stored.list_stored_sessions()
    assert [Path(each).stem for each in opened] == [infos[3].id]


def test_a_session_whose_process_was_killed_is_listed_as_it_was(stored: ChatTranscripts) -> None:
    info = session()
    with closing(stored.create(info)) as made:
        for each in make_numbered_messages(3):
            made.record_message(each)
    (found,) = stored.list_stored_sessions()
    assert (found.messages, found.state, found.updated_at) == (3, State.STATE_STOP, 4.0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"{}\n",
        b"junk",
        b"[]\n",
        b'{"form":99,"session":{}}\n',
        b'{"form":1}\n',
        b"\xff" * 100,
    ],
)
def test_a_file_that_is_no_transcript_is_left_alone(
    stored: ChatTranscripts, tmp_path: Path, data: bytes
) -> None:
    good = written(stored, make_numbered_messages(1))
    name = str(uuid4())
    bad = tmp_path / "chats" / f"{name}.jsonl"
    bad.write_bytes(data)
    assert [each.id for each in stored.list_stored_sessions()] == [good.id]
    with pytest.raises(CommandError) as wrong:
        stored.open(name)
    assert wrong.value.code == ("unknown_session" if not data else "session_failed")
    assert bad.read_bytes().startswith(data)


def test_a_pipe_holds_up_no_list(stored: ChatTranscripts, tmp_path: Path) -> None:
    """Nothing is opened that is no file: to open a pipe waits for who writes into it."""
    good = written(stored, make_numbered_messages(1))
    pipe = tmp_path / "chats" / f"{uuid4()}.jsonl"
    os.mkfifo(pipe)
    assert [each.id for each in stored.list_stored_sessions()] == [good.id]
    with expect_refusal("unknown_session"):
        stored.open(pipe.stem)


def test_what_is_open_here_is_not_looked_at(stored: ChatTranscripts) -> None:
    infos = [written(stored, make_numbered_messages(1)) for _ in range(2)]
    assert [each.id for each in stored.list_stored_sessions({infos[0].id})] == [infos[1].id]


def test_a_long_conversation_is_listed_by_its_ends(
    stored: ChatTranscripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much was said, a list reads as much of it; one that a kill cut off is read by blocks."""
    info = session()
    with closing(stored.create(info)) as made:
        for each in make_numbered_messages(3000):
            made.record_message(msgspec.structs.replace(each, content="x" * 500))
        made.record_info(msgspec.structs.replace(info, messages=len(made)))
        read: list[int] = []
        real = os.pread
        monkeypatch.setattr(line_store.os, "pread", lambda *of: read.append(of[1]) or real(*of))
        (found,) = stored.list_stored_sessions()
        assert (found.messages, read) == (3000, [])
        made.record_message(message("more", id="more"))
        (found,) = stored.list_stored_sessions()
        assert found.messages == 3001
        assert max(read) <= 1 << 20, "it isn't held as a whole"


def test_what_a_connector_says_of_itself_makes_no_file_unreadable(stored: ChatTranscripts) -> None:
    agent = ChatAgentInfo(
        name="a", role="OTHER", type=AgentType.TOOL_CALLING, description="d" * 1_000_000
    )
    info = written(stored, make_numbered_messages(1), agents=(agent,))
    with closing(stored.open(info.id)) as made:
        assert len(made.session.agents[0].description) == 1000


def test_who_waits_for_a_file_that_is_deleted_gets_none(
    stored: ChatTranscripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two have opened it, and one deletes it: the other doesn't write to a file that nobody finds."""
    info = written(stored, make_numbered_messages(1))
    path = tmp_path / "chats" / f"{info.id}.jsonl"
    real = line_file.lock_descriptor

    def late(file: int, *, blocking: bool) -> bool:
        path.unlink()
        return real(file, blocking=blocking)

    monkeypatch.setattr(line_file, "lock_descriptor", late)
    with expect_refusal("unknown_session"):
        stored.open(info.id)


def test_names_that_are_no_ids_are_never_opened(stored: ChatTranscripts, tmp_path: Path) -> None:
    written(stored, make_numbered_messages(1))
    folder = tmp_path / "chats"
    (folder / "notes.jsonl").write_text("{}")
    linked = folder / f"{uuid4()}.jsonl"
    (tmp_path / "outside").write_bytes(next(folder.glob("*-*.jsonl")).read_bytes())
    linked.symlink_to(tmp_path / "outside")
    assert len(stored.list_stored_sessions()) == 1
    for name in ("../outside", "notes", "", "..", str(uuid4()).upper(), "\0", f"{uuid4()}\n"):
        with expect_refusal("unknown_session"):
            stored.open(name)
    with expect_refusal("session_failed"):
        stored.open(linked.stem)


def test_a_session_belongs_to_one_process(stored: ChatTranscripts, tmp_path: Path) -> None:
    info = written(stored, make_numbered_messages(1))
    path = tmp_path / "chats" / f"{info.id}.jsonl"
    with path.open("rb") as theirs:  # another open file is as good as another process
        fcntl.flock(theirs, fcntl.LOCK_EX)
        with expect_refusal("session_open"):
            stored.open(info.id)
        assert [each.id for each in stored.list_stored_sessions()] == [info.id]
    stored.open(info.id).close()


def test_a_forked_process_holds_no_session(stored: ChatTranscripts) -> None:
    """It has what was open, and yet the session can be opened once it was closed here."""
    info = written(stored, make_numbered_messages(1))
    made = stored.open(info.id)
    lines: Any = made._lines
    forked = os.dup(lines._file._descriptor)  # as a fork has it
    made.close()
    stored.open(info.id).close()
    os.close(forked)
