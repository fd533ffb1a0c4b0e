"""What the service gives to views: pictures, files, pages, and what they know of extensions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import msgspec
import pytest

from agentstepper_nb.chat import message_types, outputs
from agentstepper_nb.chat.allowed_paths import AllowedPaths
from agentstepper_nb.chat.connector import Item, Turn
from agentstepper_nb.chat.event_feed import prepare_message, select_newest
from agentstepper_nb.chat.message_types import MessageTypeSpec, add_message_type
from agentstepper_nb.chat.service import ChatRight, ChatService
from agentstepper_nb.protocol.chat import (
    AgentOutput,
    ChatImage,
    ChatMessageChanged,
    Message,
    MessageType,
)
from tests.chat.chats import (
    FunctionTestAgent,
    HeldAnswer,
    interpreter,
    is_turn_end,
    list_contents,
    read_until,
    request,
    served,
    watch_session,
)
from tests.chat.harness import PNG, expect_refusal, message

# ---- pictures and files --------------------------------------------------------------------------


async def test_pictures_and_files_are_given_where_somebody_asks(tmp_path: Path) -> None:
    (tmp_path / "plot.png").write_bytes(PNG + b"file")
    (tmp_path / "a.py").write_text("print(1)")

    async def say(asked: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield outputs.image(PNG + b"bytes", alt="a plot")
        yield outputs.image("plot.png")
        yield outputs.image("/etc/hosts")
        yield outputs.code_file("a.py", "python")

    async with served(tmp_path, FunctionTestAgent(say)) as (_, service, session, stream):
        await request(service, "send", session=session, content="Show me")
        events = await read_until(stream, is_turn_end)
        told = [each.event.message for each in events if isinstance(each.event, ChatMessageChanged)]
        assert all(each.data is None for each in told)
        bytes_, file, elsewhere, source = list(dict.fromkeys(each.id for each in told))[-4:]

        async def picture(id: str) -> bytes:
            return bytes((await request(service, "picture", session=session, message=id)).data)

        assert await picture(bytes_) == PNG + b"bytes"
        assert await picture(file) == PNG + b"file"
        with expect_refusal("not_allowed"):
            await picture(elsewhere)
        shown = await request(service, "source", session=session, message=source)
        assert shown.text == "print(1)"
        begin = await anext(watch_session(service, session))
        assert all(each.data is None for each in begin.event.messages)


async def test_a_disk_that_hangs_holds_up_no_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are read beside the loop, also for a view that goes in the middle of a picture."""
    reached, go = threading.Event(), threading.Event()

    def hang(self: AllowedPaths, path: str) -> ChatImage:
        reached.set()
        go.wait()
        return ChatImage(media_type="image/png", data=PNG)

    async def say(asked: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield outputs.image("plot.png")

    monkeypatch.setattr(AllowedPaths, "read_image", hang)
    async with served(tmp_path, FunctionTestAgent(say)) as (here, service, session, stream):
        await request(service, "send", session=session, content="Show me")
        await read_until(stream, is_turn_end)
        picture = here.messages(session)[1].id
        gone = asyncio.ensure_future(request(service, "picture", session=session, message=picture))
        asking = asyncio.ensure_future(
            request(service, "picture", session=session, message=picture)
        )
        await asyncio.to_thread(reached.wait)
        gone.cancel()
        await request(service, "set", session=session, title="It continues")
        assert not asking.done()
        go.set()
        assert (await asking).data == PNG


async def test_fifty_sessions_are_told_of_at_once(tmp_path: Path) -> None:
    """Each reader hears of its own session alone, and has at last what the session has."""
    async with interpreter(tmp_path) as here:
        service = ChatService(here, ChatRight.TALK)
        sessions = [str(here.create_session()) for _ in range(50)]
        streams = {each: watch_session(service, each) for each in sessions}
        for each in sessions:
            await anext(streams[each])
            await request(service, "send", session=each, content=each)
        for each in sessions:
            told = await read_until(streams[each], is_turn_end)
            assert list_contents(told) == [("user", each), ("assistant", f"You said: {each}")]
            await streams[each].aclose()


async def test_earlier_messages_come_by_pages(tmp_path: Path) -> None:
    async with served(tmp_path) as (here, service, session, _):
        for number in range(3):
            async for _ in here.process_message(session, f"number {number}"):
                pass
        last = here.messages(session)[-1].id
        page = await request(service, "earlier", session=session, before=last, limit=2)
        assert [each.content for each in page.messages] == ["You said: number 1", "number 2"]
        assert page.more
        first = await request(service, "earlier", session=session, before=page.messages[0].id)
        assert len(first.messages) == 3 and not first.more


def test_what_travels_at_once_is_bounded_and_what_is_open_travels() -> None:
    many = [message("x" * 1000, id=str(number), final=number != 3) for number in range(10)]
    assert [each.id for each in select_newest(many, 3000)] == ["3", "8", "9"]
    assert [each.id for each in select_newest(many, 10)] == ["3", "9"]
    assert select_newest([], 10) == ()


# ---- types of extensions -------------------------------------------------------------------------


@pytest.fixture
def shout() -> Iterator[str]:
    """A type whose messages are shown as text in capitals."""

    def shown(given: Message) -> Message:
        loud = given.content.upper()
        return msgspec.structs.replace(given, type=MessageType.MESSAGE.value, content=loud)

    before = message_types.type_registry._entries
    add_message_type(
        MessageTypeSpec(
            name="SHOUT",
            check=lambda given: None,
            to_displayed=shown,
            as_text=lambda given: given.content,
        )
    )
    yield "SHOUT"
    message_types.type_registry._entries = before


async def test_an_extensions_message_is_told_as_one_that_views_know(
    tmp_path: Path, shout: str
) -> None:
    held = HeldAnswer(AgentOutput(type=shout, content="ab"), AgentOutput(type=shout, content="cd"))
    async with served(tmp_path, FunctionTestAgent(held)) as (here, service, session, stream):
        await request(service, "send", session=session, content="Hello")
        await held.reached.wait()
        half = await anext(watch_session(service, session))
        assert [each.content for each in half.event.messages] == ["Hello", "ABCD"]
        held.opened.set()
        events = await read_until(stream, is_turn_end)
        told = [each.event.message for each in events if isinstance(each.event, ChatMessageChanged)]
        assert {each.type for each in told} == {MessageType.MESSAGE}
        assert list_contents(events)[1:] == [("assistant", "ABCD"), ("assistant", ", and go.")]
        assert [each.type for each in here.messages(session)][1] == shout


def test_a_kept_message_whose_extension_is_gone_is_told_as_its_text() -> None:
    told = prepare_message(message("hi", type="GONE", details={"a": 1}))
    assert (told.type, told.content, told.details) == (MessageType.MESSAGE, "hi", None)
