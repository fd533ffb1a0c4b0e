"""Pieces become messages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import TextReplacement
from agentstepper_nb.chat.message_builder import (
    MAX_CALLS,
    MAX_CONTENT_CHARS,
    MessageBuilder,
    MessageCollector,
)
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.chat import AgentOutput, Message
from tests.chat.harness import expect_refusal

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def a_gathering() -> MessageBuilder:
    ids, times = count(1), count(1)
    return MessageBuilder("s", "ann", lambda: float(next(times)), lambda: f"m{next(ids)}")


def build_messages(*items: Any) -> list[Message]:
    """All that is told, to the end."""
    gathering = a_gathering()
    return [message for item in items for message in gathering.add(item)] + gathering.close()


def whole(*items: Any) -> list[Message]:
    """The messages, in the order in which they began."""
    gathered = MessageCollector()
    for message in build_messages(*items):
        gathered.add(message)
    return list(gathered.messages)


def brief(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.type, message.content) for message in messages]


# ---- text --------------------------------------------------------------------------------------------


def test_text_is_told_as_it_comes_and_whole_at_its_end() -> None:
    first, second, last = build_messages("Good ", "morning.")
    assert (first.content, first.final) == ("Good ", False)
    assert (second.content, second.final) == ("morning.", False)
    assert (last.content, last.final) == ("Good morning.", True)
    assert {message.id for message in (first, second, last)} == {"m1"}
    assert (last.role, last.agent_name, last.session_id) == ("assistant", "ann", "s")


def test_what_differs_is_another_message() -> None:
    messages = whole(
        "a",
        "b",
        outputs.code("x = ", "python"),
        outputs.code("1", "python"),
        outputs.code("1", "python", format="result"),
        outputs.code("y", "sh"),
        outputs.console("out"),
        AgentOutput(content="c", role="system"),
        "d",
    )
    assert brief(messages) == [
        ("MESSAGE", "ab"),
        ("CODE", "x = 1"),
        ("CODE", "1"),
        ("CODE", "y"),
        ("CONSOLE", "out"),
        ("MESSAGE", "c"),
        ("MESSAGE", "d"),
    ]
    assert all(message.final for message in messages)


def test_a_block_of_its_own_begins_anew() -> None:
    first, more = outputs.code("x = ", "python"), outputs.code("1", "python")
    second = outputs.code("y = 2", "python", is_new_block=True)
    said = whole(first, more, second, outputs.code("\n", "python"))
    assert [message.content for message in said] == ["x = 1", "y = 2\n"]
    assert all(message.final for message in said)


def test_a_mapping_is_a_piece_and_goes_on_with_others() -> None:
    (message,) = whole({"role": "assistant", "content": "a"}, "b")
    assert message.content == "ab"


def test_nothing_is_no_message_and_ends_none() -> None:
    assert brief(whole("", "a", "", outputs.console(""), "b")) == [("MESSAGE", "ab")]
    assert build_messages("") == []


def test_what_carries_something_begins_a_message_and_text_goes_on_with_it() -> None:
    one = AgentOutput(content="a", details={"n": 1})
    assert brief(whole(one, "b", one)) == [("MESSAGE", "ab"), ("MESSAGE", "a")]


def test_half_characters_are_question_marks() -> None:
    (message,) = whole("\ud83d", "\ude00")
    assert message.content == "??"


TEXTS = some.lists(
    some.one_of(
        some.text(min_size=1, max_size=6),
        some.text(min_size=1, max_size=6).map(outputs.console),
        some.text(min_size=1, max_size=6).map(lambda text: outputs.code(text, "python")),
    ),
    max_size=8,
)


@given(TEXTS, some.randoms(use_true_random=False))
def test_inv_stream_001_text_may_be_cut_anywhere(
    items: list[str | AgentOutput], random: Any
) -> None:
    """However text is cut, it gathers to the same messages."""
    cut: list[str | AgentOutput] = []
    for item in items:
        content = item if isinstance(item, str) else item.content
        at = random.randint(0, len(content))
        for part in (content[:at], content[at:]):
            cut.append(part if isinstance(item, str) else replace(item, content=part))
    assert brief(whole(*cut)) == brief(whole(*items))


@given(some.lists(some.sampled_from("abc"), max_size=12), some.randoms(use_true_random=False))
def test_inv_stream_001_the_pieces_told_are_the_whole(words: list[str], random: Any) -> None:
    """What is told piece by piece, joined, is what is told at the end."""
    items = [word if random.random() < 0.7 else outputs.console(word) for word in words]
    parts: dict[str, str] = {}
    for message in build_messages(*items):
        if message.final:
            assert parts[message.id] == message.content
        else:
            parts[message.id] = parts.get(message.id, "") + message.content


def test_what_is_too_long_is_cut_with_a_mark() -> None:
    (message,) = whole("a" * (MAX_CONTENT_CHARS - 10), "b" * 100, "c" * 100)
    assert len(message.content) == MAX_CONTENT_CHARS
    assert message.content.endswith("(cut: a message has at most 1,000,000 characters)")
    assert "b" not in message.content
    (at_once,) = whole("a" * 2 * MAX_CONTENT_CHARS)
    assert at_once.content == message.content
    assert (
        len(build_messages("a" * MAX_CONTENT_CHARS, *"bbbbb")) == 2
    )  # nothing is told of what is left out


# ---- calls -------------------------------------------------------------------------------------------


def test_a_call_and_its_result_are_one() -> None:
    begun, text, *rest = build_messages(
        outputs.call("look", {"at": 1}, call_id="c"), "Looking. ", outputs.result("c", [1, 2])
    )
    assert (begun.name, begun.arguments, begun.ok, begun.final) == ("look", {"at": 1}, None, False)
    assert text.content == "Looking. "
    said, ended = rest
    assert (said.id, said.final) == (text.id, True)
    assert (ended.id, ended.result, ended.ok, ended.final) == (begun.id, [1, 2], True, True)
    assert (ended.name, ended.arguments, ended.role) == ("look", {"at": 1}, "assistant")


def test_several_calls_may_be_open() -> None:
    messages = whole(
        outputs.call("a", {}, call_id="1"),
        outputs.call("b", {}, call_id="2"),
        outputs.call("c", {}),
        outputs.result("2", "second", ok=False),
        outputs.result(None, "third"),
        outputs.result("1", "first"),
    )
    got = [(message.name, message.result, message.ok) for message in messages]
    assert got == [("a", "first", True), ("b", "second", False), ("c", "third", True)]


CALLS = some.lists(some.sampled_from(["1", "2", "3", "4"]), unique=True)


@given(CALLS, some.data())
def test_inv_stream_001_results_may_come_in_any_order(
    ids: list[str], data: some.DataObject
) -> None:
    """Calls and their results gather to the same messages, whatever comes in between."""
    items: list[Any] = [outputs.call("f", {"n": id}, call_id=id) for id in ids]
    for id in data.draw(some.permutations(ids)):
        after = items.index(outputs.call("f", {"n": id}, call_id=id)) + 1
        items.insert(data.draw(some.integers(after, len(items))), outputs.result(id, id))
    messages = whole(*items)
    assert sorted((m.call_id, m.arguments["n"], m.result) for m in messages) == [
        (id, id, id) for id in sorted(ids)
    ]


def test_a_call_that_gets_no_result_ends_without() -> None:
    (message,) = whole(outputs.call("a", None))
    assert (message.final, message.ok, message.arguments) == (True, None, {})
    assert message.call_id


def test_a_call_with_its_result_is_whole_at_once() -> None:
    (message,) = build_messages(AgentOutput(type="FUNCTION", name="a", arguments={}, result=1))
    assert (message.final, message.ok, message.result) == (True, True, 1)


def test_a_result_without_a_call_is_told() -> None:
    (message,) = build_messages(outputs.result("nobody's", 1))
    assert (message.name, message.result) == ("?", 1)


def test_ids_may_be_used_twice() -> None:
    messages = whole(
        outputs.call("a", {}, call_id="1"),
        outputs.call("b", {}, call_id="1"),
        outputs.result("1", "a's"),
        outputs.result("1", "b's"),
    )
    assert [message.result for message in messages] == ["a's", "b's"]


def test_calls_without_results_do_not_pile_up() -> None:
    gathering = a_gathering()
    for _ in range(MAX_CALLS):
        (begun,) = gathering.add(outputs.call("a", {}))
        assert not begun.final
    given_up, begun = gathering.add(outputs.call("a", {}))
    assert (given_up.final, begun.final) == (True, False)
    assert len(gathering.close()) == MAX_CALLS


# ---- the rest ----------------------------------------------------------------------------------------


def test_pictures_and_files_are_whole_at_once() -> None:
    image, file = build_messages(
        outputs.image(PNG, alt="a dot"), outputs.code_file("a.py", "python")
    )
    assert (image.final, image.data, image.media_type) == (True, PNG, "image/png")
    assert (file.final, file.path) == (True, "a.py")


def test_a_confirmation_waits_for_its_choice() -> None:
    gathering = a_gathering()
    said = gathering.add("Well. ")
    ended, asked = gathering.add(outputs.confirmation("Sure?"))
    assert (ended.id, ended.final, asked.final) == (said[0].id, True, False)
    with pytest.raises(CommandError, match="choose Yes, No"):
        gathering.end_confirmation(asked.id, "Maybe")
    chosen = gathering.end_confirmation(asked.id, "No")
    assert (chosen.content, chosen.chosen, chosen.final) == ("Sure?", "No", True)
    with pytest.raises(CommandError, match="no longer waits"):
        gathering.end_confirmation(asked.id, "No")
    assert gathering.close() == []


def test_a_confirmation_may_be_withdrawn() -> None:
    gathering = a_gathering()
    (asked,) = gathering.add(outputs.confirmation("Sure?"))
    withdrawn = gathering.end_confirmation(asked.id, None)
    assert (withdrawn.final, withdrawn.chosen) == (True, None)
    (asked,) = gathering.add(outputs.confirmation("Really?"))
    assert [message.id for message in gathering.close()] == [asked.id]


def test_an_edited_answer_takes_the_place_of_what_was_said() -> None:
    first, last = build_messages("Helo ", TextReplacement("Hello."))
    assert (first.id, last.content, last.final) == (last.id, "Hello.", True)
    assert brief(whole("a", TextReplacement("b"), "c")) == [("MESSAGE", "b"), ("MESSAGE", "c")]
    assert brief(whole(TextReplacement("all of it"))) == [("MESSAGE", "all of it")]
    assert build_messages(TextReplacement("")) == []
    assert brief(whole("a", TextReplacement(""))) == [("MESSAGE", "")]


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (AgentOutput(type="MESAGE", content="a"), "MESAGE"),
        (outputs.confirmation("Sure?", ()), "choices"),
        (outputs.image(b"<svg>"), "the bytes are"),
        (AgentOutput(type="FUNCTION", arguments={}), "name"),
        (outputs.result("c", object()), "JSON"),
        (7, "of type int"),
        (None, "of type NoneType"),
    ],
)
def test_what_cannot_be_said_is_refused_and_changes_nothing(item: Any, why: str) -> None:
    gathering = a_gathering()
    gathering.add(outputs.call("f", {}, call_id="c"))
    gathering.add("a")
    with expect_refusal("invalid_message", why):
        gathering.add(item)
    gathering.add("b")
    call, said = gathering.close()
    assert (call.name, said.content) == ("f", "ab")


def test_a_stream_keeps_the_newest() -> None:
    gathered = MessageCollector(max_messages=2)
    for text in ("a", outputs.console("b"), "c", "d"):
        gathered.add(text)
    assert [(m.content, m.final) for m in gathered.messages] == [("b", True), ("cd", False)]
    gathered.add(3)
    gathered.close()
    assert [(m.content, m.final) for m in gathered.messages] == [("b", True), ("cd", True)]
    assert MessageCollector().messages == ()
