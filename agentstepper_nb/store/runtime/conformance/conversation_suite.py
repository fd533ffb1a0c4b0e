"""Conversations: their participants, the order of their messages, and read cursors."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ....protocol.runtime import (
    ConversationCursor,
    ConversationStatus,
    Delivery,
    ParticipantKind,
    ParticipantRole,
    SessionStatus,
)
from ....protocol.runtime_store_messages import (
    ConversationQuery,
    CursorQuery,
    EndParticipation,
    MessageQuery,
    ParticipantQuery,
    PostMessage,
    SessionWriteResult,
)
from ..base import RuntimeStore
from .base_suite import (
    START_TIME,
    BaseSuite,
    assert_refused,
    begin_session,
    claim_action_id,
    make_action,
    make_conversation,
    make_message,
    make_participant,
    make_state,
    make_step,
    read_action_ids,
    read_snapshot,
    write_session,
)


async def post_messages(store: RuntimeStore, *ids: str, to: str = "c") -> None:
    """Post some messages, one after the other."""
    for number, each in enumerate(ids):
        await store.post(PostMessage(message=make_message(each, number, conversation_id=to)))


async def read_message_ids(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of messages."""
    request = replace(MessageQuery(conversation_id="c"), **query)
    return [each.message_id for each in (await store.messages(request)).messages]


async def read_conversation_ids(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of conversations."""
    answer = await store.conversations(ConversationQuery(**query))
    return [each.conversation_id for each in answer.conversations]


async def read_participant_ids(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of participants."""
    request = replace(ParticipantQuery(conversation_id="c"), **query)
    return [each.participant_id for each in (await store.participants(request)).participants]


class ConversationSuite(BaseSuite):
    """Conversations, participants, messages, cursors."""

    async def test_conversation_is_stored_and_updated(self) -> None:
        async with self.opened_store() as store:
            first = make_conversation(title="jokes", tags=("a", "b"))
            assert await store.save_conversation(first) == first
            closed = replace(first, status=ConversationStatus.CLOSED, tags=())
            assert await store.save_conversation(closed) == closed
            stored = await store.conversations(ConversationQuery())
            assert stored.conversations == (closed,)

    async def test_conversation_filters(self) -> None:
        async with self.opened_store() as store:
            closed_status = ConversationStatus.CLOSED
            for at, (name, tags, status) in enumerate(
                (
                    ("a", ("red", "blue"), ConversationStatus.OPEN),
                    ("b", ("re",), closed_status),
                    ("c", ("red",), closed_status),
                )
            ):
                await store.save_conversation(
                    make_conversation(name, tags=tags, status=status, created_at=START_TIME + at)
                )
            assert await read_conversation_ids(store) == ["c", "b", "a"]
            assert await read_conversation_ids(store, tag="red") == ["c", "a"]
            assert await read_conversation_ids(store, tag="re") == ["b"]
            assert await read_conversation_ids(store, tag="re%") == []
            assert await read_conversation_ids(store, status=closed_status) == ["c", "b"]
            assert await read_conversation_ids(store, status=closed_status, tag="red") == ["c"]
            assert await read_conversation_ids(store, conversation_id="b") == ["b"]
            assert await read_conversation_ids(store, limit=1, offset=1) == ["b"]

    async def test_join_is_idempotent(self) -> None:
        async with self.opened_store() as store:
            await assert_refused("unknown_conversation", store.join(make_participant("p")))
            await store.save_conversation(make_conversation())
            first = make_participant("p", user_id="ann", role=ParticipantRole.OWNER)
            assert await store.join(first) == first
            assert await store.join(make_participant("q", user_id="ann")) == first
            assert await store.join(replace(first, role=ParticipantRole.OBSERVER)) == first
            assert await read_participant_ids(store) == ["p"]

    async def test_session_and_user_participants_are_distinct(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            session = make_participant(
                "s",
                kind=ParticipantKind.SESSION,
                user_id=None,
                agent_id="agent",
                session_id="ann",
                delivery=Delivery.PULL,
            )
            await store.join(make_participant("u", user_id="ann"))
            assert await store.join(session) == session
            await store.join(replace(session, participant_id="t", session_id="bob"))
            assert await read_participant_ids(store) == ["u", "s", "t"]
            assert await read_participant_ids(store, session_id="ann") == ["s"]

    async def test_participant_can_leave_and_rejoin(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            await assert_refused(
                "unknown_participant",
                store.leave(EndParticipation(participant_id="p", at=START_TIME + 1)),
            )
            first = make_participant("p", user_id="ann")
            await store.join(first)
            left = await store.leave(EndParticipation(participant_id="p", at=START_TIME + 1))
            assert left == replace(first, left_at=START_TIME + 1)
            assert (
                await store.leave(EndParticipation(participant_id="p", at=START_TIME + 2)) == left
            )
            assert await read_participant_ids(store, is_present=True) == []
            back = make_participant("q", user_id="ann", joined_at=START_TIME + 3)
            assert await store.join(back) == back
            assert await read_participant_ids(store) == ["p", "q"]
            assert await read_participant_ids(store, is_present=True) == ["q"]

    async def test_post_stores_message_and_enqueues_actions(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            await begin_session(store)
            request = PostMessage(
                message=make_message("m"), actions=(make_action("a"), make_action("b"))
            )
            new = await store.post(request)
            assert new == SessionWriteResult(messages=(make_message("m"),), actions=request.actions)
            assert await store.post(request) == SessionWriteResult()
            assert await read_message_ids(store) == ["m"]
            assert await read_action_ids(store, session_id="s") == ["create s", "a", "b"]
            assert await claim_action_id(store) == "a"

    async def test_post_is_atomic(self) -> None:
        async with self.opened_store() as store:
            await assert_refused(
                "unknown_conversation", store.post(PostMessage(message=make_message("m")))
            )
            await store.save_conversation(make_conversation())
            await begin_session(store)
            actions = (make_action("a"), make_action("b", "nobody"))
            request = PostMessage(message=make_message("m"), actions=actions)
            await assert_refused("unknown_session", store.post(request))
            assert await read_message_ids(store) == []
            assert await read_action_ids(store, session_id="s") == ["create s"]

    async def test_messages_are_read_from_either_end(self) -> None:
        async with self.opened_store() as store:
            for name in ("c", "other"):
                await store.save_conversation(make_conversation(name))
            await post_messages(store, "z", "y", "x", "w")
            await post_messages(store, "elsewhere", to="other")
            assert await read_message_ids(store) == ["z", "y", "x", "w"]
            assert await read_message_ids(store, limit=2) == ["z", "y"]
            assert await read_message_ids(store, last=True, limit=2) == ["x", "w"]
            assert await read_message_ids(store, after="y") == ["x", "w"]
            assert await read_message_ids(store, after="z", limit=1) == ["y"]
            assert await read_message_ids(store, after="z", last=True, limit=1) == ["w"]
            assert await read_message_ids(store, after="w") == []
            assert await read_message_ids(store, conversation_id="other") == ["elsewhere"]
            assert await read_message_ids(store, conversation_id="nowhere") == []
            for after in ("unheard of", "elsewhere"):
                request = MessageQuery(conversation_id="c", after=after)
                await assert_refused("unknown_message_id", store.messages(request))

    async def test_messages_of_one_moment_stay_in_their_order(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            for each in ("b", "a", "c"):
                await store.post(PostMessage(message=make_message(each)))
            assert await read_message_ids(store) == ["b", "a", "c"]
            assert await read_message_ids(store, after="b") == ["a", "c"]

    async def test_cursors_move_with_the_step_that_read(self) -> None:
        """A write is stored as a whole; a cursor whose message is deleted doesn't fail the write."""
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            await post_messages(store, "z", "y")
            await begin_session(store)
            query = CursorQuery(session_id="s", conversation_id="c")
            read = ConversationCursor(session_id="s", conversation_id="c", last_message_id="z")
            step, state = make_step(), make_state(status=SessionStatus.RUNNING, iteration=1)
            kept: dict[str, Any] = {"state": state, "steps": (step,), "cursors": (read,)}
            await assert_refused("stale_epoch", write_session(store, **kept, epoch=7))
            assert (await store.cursor(query)).cursor is None
            for _ in range(2):  # an answer that got lost
                await write_session(store, **kept)
            assert (await store.cursor(query)).cursor == read
            gone = replace(read, last_message_id="gone")
            second = make_step(iteration=1)
            after = replace(state, iteration=2)
            await write_session(store, state=after, steps=(second,), cursors=(gone,))
            assert (await store.cursor(query)).cursor == read
            assert (await read_snapshot(store)).iteration == 2

    async def test_a_cursor_never_goes_back(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            await post_messages(store, "z", "y", "x")
            query = CursorQuery(session_id="s", conversation_id="c")
            assert (await store.cursor(query)).cursor is None
            reached = []
            for each in ("y", "z", "x", "y"):
                at = ConversationCursor(session_id="s", conversation_id="c", last_message_id=each)
                reached.append((await store.advance(at)).last_message_id)
                assert (await store.cursor(query)).cursor == replace(
                    at, last_message_id=reached[-1]
                )
            assert reached == ["y", "y", "x", "x"]
            assert (await store.cursor(replace(query, session_id="t"))).cursor is None
