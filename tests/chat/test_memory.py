"""What is held of a conversation, and what of that an agent is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.chat.memory import Memory
from agentstepper_nb.protocol.chat import DEFAULT_WINDOW_MESSAGES, MAX_MESSAGE_LENGTH
from tests.chat.harness import message


def filled(memory: Memory, count: int) -> Memory:
    for number in range(count):
        memory.put(message(str(number), id=str(number)))
    return memory


def ids(messages: object) -> list[str]:
    assert isinstance(messages, tuple)
    return [each.id for each in messages]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_inv_message_001_at_most_100_are_held(count: int) -> None:
    """The newest 100 messages of a session are held; the oldest go."""
    memory = filled(Memory(), count)
    newest = [str(number) for number in range(count)][-MAX_MESSAGE_LENGTH:]
    assert ids(memory.messages) == newest
    assert len(memory) == len(newest) <= 100


@pytest.mark.parametrize("count", [1, 10, 11, 12, 150])
def test_inv_mem_001_a_window_of_the_last_ten(count: int) -> None:
    """An agent is given the last ten messages before the one it answers, of at most 100 held."""
    memory = filled(Memory(), count)
    before = [str(number) for number in range(count - 1)][-10:]
    assert ids(memory.window_before(str(count - 1))) == before
    assert memory.window_from == str(max(0, count - DEFAULT_WINDOW_MESSAGES))


def test_what_is_incomplete_is_not_given() -> None:
    memory = Memory(window=2)
    for name, final in (("a", True), ("b", False), ("c", True), ("d", False), ("e", True)):
        memory.put(message(id=name, final=final))
    assert ids(memory.window_before("e")) == ["a", "c"]
    assert ids(memory.window_before("d")) == ["a", "c"]
    assert ids(memory.window_before("a")) == []
    assert memory.window_from == "c"


def test_before_a_message_that_is_not_held_are_all() -> None:
    assert ids(filled(Memory(window=2), 3).window_before("gone")) == ["1", "2"]


def test_nothing_is_given_of_nothing() -> None:
    memory = Memory()
    assert (memory.messages, memory.window_from, memory.get("a")) == ((), None, None)


def test_a_message_keeps_its_place() -> None:
    memory = filled(Memory(), 3)
    memory.put(message("other", id="1"))
    assert ids(memory.messages) == ["0", "1", "2"]
    found = memory.get("1")
    assert found is not None
    assert found.content == "other"


def test_what_went_before_it_was_complete_does_not_come_back() -> None:
    """A confirmation that is answered a hundred messages later is no new message."""
    memory = Memory(limit=2, window=1)
    memory.put(message("Sure?", id="asked", final=False))
    filled(memory, 2)
    memory.put(message("Sure? still", id="asked", final=False))
    memory.put(message("Sure? Yes", id="asked"))
    assert ids(memory.messages) == ["0", "1"]


def test_what_a_person_took_out_is_gone() -> None:
    memory = filled(Memory(window=2), 4)
    memory.remove("2")
    memory.remove("never")
    assert ids(memory.messages) == ["0", "1", "3"]
    assert ids(memory.window_before("3")) == ["0", "1"]


@pytest.mark.parametrize(("limit", "window"), [(0, 0), (5, 6), (5, 0)])
def test_bounds_that_make_no_sense_are_refused(limit: int, window: int) -> None:
    with pytest.raises(ValueError, match="choose 1 to"):
        Memory(limit, window)


puts = st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=60)


@given(puts=puts, limit=st.integers(1, 6), data=st.data())
def test_inv_message_001_whatever_comes(
    puts: list[tuple[int, bool]], limit: int, data: st.DataObject
) -> None:
    """However messages come and change: in order of their first coming, bounded, none twice."""
    memory = Memory(limit, data.draw(st.integers(1, limit)))
    complete: set[int] = set()
    first: list[str] = []
    for number, final in puts:
        if number in complete:
            continue  # a complete message isn't told again
        if final:
            complete.add(number)
        if str(number) not in first:
            first.append(str(number))
        memory.put(message(id=str(number), final=final))
        held = ids(memory.messages)
        assert held == first[-limit:]
        window = memory.window_before(str(number))
        assert len(window) <= memory.window
        assert all(each.final for each in window)
        assert ids(window) == [id for id in held if id in ids(window)]
