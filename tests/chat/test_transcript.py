"""One session's transcript: what is written is read back, whatever a crash left."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentstepper_nb.chat import line_store
from agentstepper_nb.chat.line_store import FileLineStore, MemoryLineStore
from agentstepper_nb.chat.transcripts import ChatTranscript
from tests.chat.harness import PNG, expect_refusal, make_numbered_messages, message, session


@pytest.fixture
def made() -> Iterator[ChatTranscript]:
    """One that goes with the process."""
    with closing(ChatTranscript(MemoryLineStore(), session())) as transcript:
        yield transcript


@pytest.mark.parametrize("in_memory", [True, False])
def test_what_is_said_is_read_back(tmp_path: Path, in_memory: bool) -> None:
    lines = MemoryLineStore() if in_memory else FileLineStore(tmp_path / "a")
    with closing(ChatTranscript(lines, session())) as made:
        said = [
            *make_numbered_messages(5),
            message("alt", id="p", type="IMAGE", data=PNG, media_type="image/png"),
        ]
        for each in said:
            made.record_message(each)
        assert len(made) == 6
        assert [made.read(each.id) for each in said] == said
        assert made.read_newest(2) == tuple(said[-2:])
        assert made.read_newest(100) == tuple(said)
        assert made.read("nothing") is None


def test_a_message_that_is_another_now_stands_in_its_first_place(made: ChatTranscript) -> None:
    one, two = make_numbered_messages(2)
    for each in (one, two, msgspec.structs.replace(one, content="other")):
        made.record_message(each)
    assert [each.content for each in made.read_newest(9)] == ["other", "text 1"]
    made.record_removal(["m0", "nothing"])
    assert [each.content for each in made.read_newest(9)] == ["text 1"]


def test_pages_of_what_was_said_before(made: ChatTranscript) -> None:
    for each in make_numbered_messages(10):
        made.record_message(each)
    page = made.read_before("m7", 3)
    assert ([each.id for each in page.messages], page.more) == (["m4", "m5", "m6"], True)
    page = made.read_before("m2", 3)
    assert ([each.id for each in page.messages], page.more) == (["m0", "m1"], False)
    assert made.read_before("m0", 3).messages == ()
    with expect_refusal("unknown_message_id"):
        made.read_before("nothing", 3)


@given(st.integers(min_value=0, max_value=2000), st.binary(max_size=40))
@example(670, b'\x80"')
@example(670, b"[" * 100_000)
def test_whatever_a_crash_left_the_rest_is_read(
    tmp_path_factory: Any, cut: int, junk: bytes
) -> None:
    """A file that is cut anywhere, with anything after it, gives what stands whole in it."""
    path = tmp_path_factory.mktemp("torn") / "t"
    with closing(ChatTranscript(FileLineStore(path), info := session())) as made:
        for each in make_numbered_messages(4):
            made.record_message(each)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    cut = min(len(whole), first + cut)
    path.write_bytes(whole[:cut] + junk)
    with closing(ChatTranscript(FileLineStore(path), info)) as torn:
        torn.record_message(message("after", id="after"))
    with closing(ChatTranscript(FileLineStore(path), info)) as read:
        ids = [each.id for each in read.read_newest(9)]
    complete = whole[first:cut].count(b"\n")
    assert ids[:complete] == [f"m{n}" for n in range(complete)]
    assert ids[-1] == "after"
    assert len(ids) <= complete + 2


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    made = ChatTranscript(FileLineStore(path), session())
    made.record_message(message("one", id="one"))
    before = path.read_bytes()
    real = os.pwrite

    def full(file: int, data: bytes, at: int) -> int:
        if len(data) > 20:
            return real(file, data[:20], at)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(line_store.os, "pwrite", full)
    with pytest.raises(OSError, match="No space"):
        made.record_message(message("two", id="two"))
    assert path.read_bytes() == before
    assert (len(made), made.read("two")) == (2, None)
    monkeypatch.undo()
    made.record_message(message("three", id="three"))
    assert [each.id for each in made.read_newest(9)] == ["one", "three"]
    made.close()


def test_no_more_is_read_at_once_than_fits() -> None:
    lines = MemoryLineStore()
    made = ChatTranscript(lines, session(), max_read_bytes=5000)
    for each in make_numbered_messages(10):
        made.record_message(msgspec.structs.replace(each, content="x" * 1000))
    page = made.read_before("m9", 9)
    assert ([each.id for each in page.messages], page.more) == (["m6", "m7", "m8"], True)
    assert [each.id for each in made.read_newest(9)] == ["m7", "m8", "m9"]
    with closing(ChatTranscript(lines, session(), max_read_bytes=1)) as read:
        assert [each.id for each in read.read_newest(9)] == ["m9"]


def test_what_goes_with_the_process_does_not_fill_its_memory() -> None:
    lines = MemoryLineStore(max_memory_bytes=1000)
    made = ChatTranscript(lines, session())
    said = make_numbered_messages(30)
    for each in said:
        made.record_message(each)
    assert isinstance(lines._file.name, int)  # a file that has no name
    assert made.read_newest(30) == tuple(said)
    made.close()
    made.close()
    with pytest.raises(OSError, match="closed"):
        made.record_message(message("after"))
