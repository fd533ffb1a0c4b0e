"""Conversations: who is in them, what was said in which order, and how far each has read."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ....protocol.runtime import ConversationStatus, Cursor, Delivery, ParticipantKind, Role
from ....protocol.runtime_asks import (
    ConversationQuery,
    CursorQuery,
    Leave,
    MessageQuery,
    ParticipantQuery,
    Post,
    Written,
)
from ..base import RuntimeStore
from .suite import (
    BEGIN,
    Suite,
    action,
    begin,
    claimed,
    conversation,
    message,
    participant,
    queued,
    refused,
)


async def say(store: RuntimeStore, *ids: str, to: str = "c") -> None:
    """Post some messages, one after the other."""
    for number, each in enumerate(ids):
        await store.post(Post(message=message(each, number, conversation_id=to)))


async def heard(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of messages."""
    ask = replace(MessageQuery(conversation_id="c"), **query)
    return [each.message_id for each in (await store.messages(ask)).messages]


async def found(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of conversations."""
    answer = await store.conversations(ConversationQuery(**query))
    return [each.conversation_id for each in answer.conversations]


async def there(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of participants."""
    ask = replace(ParticipantQuery(conversation_id="c"), **query)
    return [each.participant_id for each in (await store.participants(ask)).participants]


class Talking(Suite):
    """Conversations, participants, messages, cursors."""

    async def test_a_conversation_is_kept_and_changed(self) -> None:
        async with self.opened() as store:
            first = conversation(title="jokes", tags=("a", "b"))
            assert await store.save_conversation(first) == first
            closed = replace(first, status=ConversationStatus.CLOSED, tags=())
            assert await store.save_conversation(closed) == closed
            kept = await store.conversations(ConversationQuery())
            assert kept.conversations == (closed,)

    async def test_conversations_by_what_they_are(self) -> None:
        async with self.opened() as store:
            shut = ConversationStatus.CLOSED
            for at, (name, tags, status) in enumerate(
                (
                    ("a", ("red", "blue"), ConversationStatus.OPEN),
                    ("b", ("re",), shut),
                    ("c", ("red",), shut),
                )
            ):
                await store.save_conversation(
                    conversation(name, tags=tags, status=status, created_at=BEGIN + at)
                )
            assert await found(store) == ["c", "b", "a"]
            assert await found(store, tag="red") == ["c", "a"]
            assert await found(store, tag="re") == ["b"]
            assert await found(store, tag="re%") == []
            assert await found(store, status=shut) == ["c", "b"]
            assert await found(store, status=shut, tag="red") == ["c"]
            assert await found(store, conversation_id="b") == ["b"]
            assert await found(store, limit=1, offset=1) == ["b"]

    async def test_who_joins_is_there_once(self) -> None:
        async with self.opened() as store:
            await refused("unknown_conversation", store.join(participant("p")))
            await store.save_conversation(conversation())
            first = participant("p", user_id="ann", role=Role.OWNER)
            assert await store.join(first) == first
            assert await store.join(participant("q", user_id="ann")) == first
            assert await store.join(replace(first, role=Role.OBSERVER)) == first
            assert await there(store) == ["p"]

    async def test_sessions_and_users_are_told_apart(self) -> None:
        async with self.opened() as store:
            await store.save_conversation(conversation())
            session = participant(
                "s",
                kind=ParticipantKind.SESSION,
                user_id=None,
                agent_id="agent",
                session_id="ann",
                delivery=Delivery.PULL,
            )
            await store.join(participant("u", user_id="ann"))
            assert await store.join(session) == session
            await store.join(replace(session, participant_id="t", session_id="bob"))
            assert await there(store) == ["u", "s", "t"]
            assert await there(store, session_id="ann") == ["s"]

    async def test_who_leaves_stays_known_and_may_come_back(self) -> None:
        async with self.opened() as store:
            await store.save_conversation(conversation())
            await refused(
                "unknown_participant", store.leave(Leave(participant_id="p", at=BEGIN + 1))
            )
            first = participant("p", user_id="ann")
            await store.join(first)
            left = await store.leave(Leave(participant_id="p", at=BEGIN + 1))
            assert left == replace(first, left_at=BEGIN + 1)
            assert await store.leave(Leave(participant_id="p", at=BEGIN + 2)) == left
            assert await there(store, here=True) == []
            back = participant("q", user_id="ann", joined_at=BEGIN + 3)
            assert await store.join(back) == back
            assert await there(store) == ["p", "q"]
            assert await there(store, here=True) == ["q"]

    async def test_a_post_is_heard_and_enqueues(self) -> None:
        async with self.opened() as store:
            await store.save_conversation(conversation())
            await begin(store)
            ask = Post(message=message("m"), actions=(action("a"), action("b")))
            new = await store.post(ask)
            assert new == Written(messages=(message("m"),), actions=ask.actions)
            assert await store.post(ask) == Written()
            assert await heard(store) == ["m"]
            assert await queued(store, session_id="s") == ["create s", "a", "b"]
            assert await claimed(store) == "a"

    async def test_a_post_is_kept_whole_or_not_at_all(self) -> None:
        async with self.opened() as store:
            await refused("unknown_conversation", store.post(Post(message=message("m"))))
            await store.save_conversation(conversation())
            await begin(store)
            actions = (action("a"), action("b", "nobody"))
            ask = Post(message=message("m"), actions=actions)
            await refused("unknown_session", store.post(ask))
            assert await heard(store) == []
            assert await queued(store, session_id="s") == ["create s"]

    async def test_messages_are_read_from_either_end(self) -> None:
        async with self.opened() as store:
            for name in ("c", "other"):
                await store.save_conversation(conversation(name))
            await say(store, "z", "y", "x", "w")
            await say(store, "elsewhere", to="other")
            assert await heard(store) == ["z", "y", "x", "w"]
            assert await heard(store, limit=2) == ["z", "y"]
            assert await heard(store, last=True, limit=2) == ["x", "w"]
            assert await heard(store, after="y") == ["x", "w"]
            assert await heard(store, after="z", limit=1) == ["y"]
            assert await heard(store, after="z", last=True, limit=1) == ["w"]
            assert await heard(store, after="w") == []
            assert await heard(store, conversation_id="other") == ["elsewhere"]
            assert await heard(store, conversation_id="nowhere") == []
            for after in ("unheard of", "elsewhere"):
                ask = MessageQuery(conversation_id="c", after=after)
                await refused("unknown_message_id", store.messages(ask))

    async def test_messages_of_one_moment_stay_in_their_order(self) -> None:
        async with self.opened() as store:
            await store.save_conversation(conversation())
            for each in ("b", "a", "c"):
                await store.post(Post(message=message(each)))
            assert await heard(store) == ["b", "a", "c"]
            assert await heard(store, after="b") == ["a", "c"]

    async def test_a_cursor_never_goes_back(self) -> None:
        async with self.opened() as store:
            await store.save_conversation(conversation())
            await say(store, "z", "y", "x")
            where = CursorQuery(session_id="s", conversation_id="c")
            assert (await store.cursor(where)).cursor is None
            reached = []
            for each in ("y", "z", "x", "y"):
                at = Cursor(session_id="s", conversation_id="c", last_message_id=each)
                reached.append((await store.advance(at)).last_message_id)
                assert (await store.cursor(where)).cursor == replace(
                    at, last_message_id=reached[-1]
                )
            assert reached == ["y", "y", "x", "x"]
            assert (await store.cursor(replace(where, session_id="t"))).cursor is None
