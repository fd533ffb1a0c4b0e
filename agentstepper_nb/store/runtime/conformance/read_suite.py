"""Reads: filters, order, limits, rows after a restart, and unchanged values."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from ....errors import AgentStepperError
from ....protocol.runtime import (
    ActionKind,
    ActionStatus,
    AgentLimits,
    ConversationCursor,
    SessionStatus,
)
from ....protocol.runtime_store_messages import (
    ActionCompletion,
    ActionQuery,
    AgentSessionQuery,
    ConversationQuery,
    CreateAgentSession,
    CursorQuery,
    MessageQuery,
    ParticipantQuery,
    StateQuery,
    StepQuery,
)
from ..base import RuntimeStore
from .base_suite import (
    LEASE_S,
    START_TIME,
    BaseSuite,
    begin_session,
    claim_action,
    claim_action_id,
    create_session,
    enqueue_actions,
    finish_action,
    make_action,
    make_conversation,
    make_message,
    make_participant,
    make_state,
    make_step,
    read_action,
    read_action_ids,
    read_snapshot,
    write_session,
)


async def read_step_ids(store: RuntimeStore, **query: Any) -> list[str]:
    """The ids of steps."""
    return [each.id for each in (await store.steps(StepQuery(**query))).steps]


async def read_state_ids(store: RuntimeStore, **query: Any) -> list[str]:
    """The sessions of snapshots."""
    return [each.session_id for each in (await store.states(StateQuery(**query))).states]


async def add_three_sessions(store: RuntimeStore) -> None:
    """Three sessions of two agents, the last two made later, with some steps each."""
    for number, (session, agent) in enumerate((("a", "x"), ("b", "y"), ("c", "x"))):
        creation = make_action(f"create {session}", session, ActionKind.CREATE, agent_id=agent)
        first = make_state(session, agent_id=agent, created_at=START_TIME + number)
        await store.create(CreateAgentSession(state=first, action=creation))
        await claim_action(store)
        rows = tuple(make_step(session, each, agent_id=agent) for each in range(number + 1))
        await write_session(
            store,
            session,
            steps=rows,
            finished=(
                ActionCompletion(
                    id=creation.id,
                    owner="one",
                    status=ActionStatus.DONE,
                    processed_at=START_TIME + 1,
                ),
            ),
        )


class ReadSuite(BaseSuite):
    """Queries."""

    async def test_action_filters(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "a")
            await create_session(store, "b")
            await enqueue_actions(
                store, make_action("1", "a", idem_key="key"), make_action("2", "b", agent_id="z")
            )
            await enqueue_actions(store, make_action("3", "a", ActionKind.PAUSE))
            everything = ["create a", "create b", "1", "2", "3"]
            assert await read_action_ids(store) == everything
            assert await read_action_ids(store, id="2") == ["2"]
            assert await read_action_ids(store, idem_key="key") == ["1"]
            assert await read_action_ids(store, session_id="a") == ["create a", "1", "3"]
            assert await read_action_ids(store, agent_id="z") == ["2"]
            assert await read_action_ids(store, kind=ActionKind.CREATE) == ["create a", "create b"]
            assert await read_action_ids(store, status=ActionStatus.DONE) == ["create a"]
            assert await read_action_ids(store, status=ActionStatus.QUEUED, session_id="a") == [
                "1",
                "3",
            ]
            assert await read_action_ids(store, status=ActionStatus.FAILED) == []
            assert await read_action_ids(store, limit=2) == everything[:2]
            assert await read_action_ids(store, limit=2, offset=3) == everything[3:]
            assert await read_action_ids(store, session_id="a", status=ActionStatus.CLAIMED) == []

    async def test_state_filters(self) -> None:
        async with self.opened_store() as store:
            await add_three_sessions(store)
            state = await read_snapshot(store, "b")
            await write_session(store, "b", state=replace(state, status=SessionStatus.PAUSED))
            assert await read_state_ids(store) == ["c", "b", "a"]
            assert await read_state_ids(store, agent_id="x") == ["c", "a"]
            assert await read_state_ids(store, session_id="a") == ["a"]
            assert await read_state_ids(store, session_id="nobody") == []
            assert await read_state_ids(store, status=(SessionStatus.PAUSED,)) == ["b"]
            either = (SessionStatus.PAUSED, SessionStatus.CREATED)
            assert await read_state_ids(store, status=either) == ["c", "b", "a"]
            assert await read_state_ids(store, status=either, agent_id="y") == ["b"]
            assert await read_state_ids(store, limit=1) == ["c"]
            assert await read_state_ids(store, limit=5, offset=1) == ["b", "a"]

    async def test_step_filters(self) -> None:
        async with self.opened_store() as store:
            await add_three_sessions(store)
            part = make_step("c", 1, id="part", event_seq=1, agent_id="x", status="error")
            await write_session(store, "c", steps=(part,))
            everything = ["a/0", "b/0", "b/1", "c/0", "c/1", "part", "c/2"]
            assert await read_step_ids(store) == everything
            assert await read_step_ids(store, session_id="b") == ["b/0", "b/1"]
            assert await read_step_ids(store, agent_id="x") == ["a/0", "c/0", "c/1", "part", "c/2"]
            assert await read_step_ids(store, agent_id="x", session_id="b") == []
            assert await read_step_ids(store, min_iteration=1) == ["b/1", "c/1", "part", "c/2"]
            assert await read_step_ids(store, session_id="c", min_iteration=1, max_iteration=1) == [
                "c/1",
                "part",
            ]
            assert await read_step_ids(store, max_iteration=0) == ["a/0", "b/0", "c/0"]
            assert await read_step_ids(store, session_id="c", after_iteration=1) == ["c/2"]
            assert await read_step_ids(store, session_id="c", after_iteration=0, limit=1) == ["c/1"]
            assert await read_step_ids(store, since=START_TIME + 1) == ["b/1", "c/1", "part", "c/2"]
            assert await read_step_ids(store, status="error") == ["part"]
            assert await read_step_ids(store, limit=3, offset=2) == everything[2:5]
            assert await read_step_ids(store, session_id="nobody") == []

    async def test_the_latest_step_of_each_session(self) -> None:
        async with self.opened_store() as store:
            await add_three_sessions(store)
            part = make_step("b", 1, id="part", event_seq=1, agent_id="y", status="error")
            await write_session(store, "b", steps=(part,))
            assert await read_step_ids(store, latest=True) == ["a/0", "part", "c/2"]
            assert await read_step_ids(store, latest=True, session_id="c") == ["c/2"]
            assert await read_step_ids(store, latest=True, agent_id="x") == ["a/0", "c/2"]
            assert await read_step_ids(store, latest=True, status="running") == [
                "a/0",
                "b/1",
                "c/2",
            ]
            assert await read_step_ids(store, latest=True, max_iteration=1) == [
                "a/0",
                "part",
                "c/1",
            ]
            assert await read_step_ids(store, latest=True, limit=1, offset=1) == ["part"]
            assert await read_step_ids(store, latest=True, agent_id="nobody") == []

    async def test_sessions_of_an_agent(self) -> None:
        async with self.opened_store() as store:
            await add_three_sessions(store)
            found = (await store.sessions(AgentSessionQuery(agent_id="x"))).sessions
            assert [each.session_id for each in found] == ["c", "a"]
            for each in found:
                assert each.state == await read_snapshot(store, each.session_id)
                assert (each.status, each.iteration) == ("created", 0)
                assert (each.first_at, each.last_at) == (each.state.created_at, START_TIME)
            limited = await store.sessions(AgentSessionQuery(agent_id="x", limit=1))
            assert limited.sessions == found[:1]
            assert (await store.sessions(AgentSessionQuery(agent_id="nobody"))).sessions == ()

    async def test_sessions_without_state_are_listed_by_their_steps(self) -> None:
        async with self.opened_store() as store:
            await add_three_sessions(store)
            await self.delete_snapshot(store, "c")
            stored, forgotten = (await store.sessions(AgentSessionQuery(agent_id="x"))).sessions[
                ::-1
            ]
            if stored.session_id != "a":
                stored, forgotten = forgotten, stored
            assert (stored.session_id, forgotten.session_id) == ("a", "c")
            assert stored.state is not None
            assert forgotten.state is None
            assert (forgotten.agent_id, forgotten.status) == ("x", "running")
            assert forgotten.iteration == 3  # of the next step, as a snapshot's
            assert (forgotten.first_at, forgotten.last_at) == (START_TIME, START_TIME + 2)
            assert await read_step_ids(store, latest=True, session_id="c") == ["c/2"]

    async def test_all_rows_survive_a_restart(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            await store.join(make_participant("p"))
            await begin_session(store, conversation_id="c")
            await enqueue_actions(store, make_action("a"), make_action("b", urgency=1))
            assert await claim_action_id(store) == "b"
            await write_session(store, steps=(make_step(),), messages=(make_message("m"),))
            await store.advance(
                ConversationCursor(session_id="s", conversation_id="c", last_message_id="m")
            )
            before = await _all(store)
            store = await self.reopen(store)
            try:
                assert await _all(store) == before
                assert await claim_action_id(store, "two") is None  # leases last on
                assert await claim_action_id(store, running_action_ids=()) == "b"
                await finish_action(store, "b")
                assert await claim_action_id(store, running_action_ids=()) == "a"
                assert await claim_action_id(store, "two", LEASE_S + 1) == "a"
            finally:
                await store.close()


async def _all(store: RuntimeStore) -> list[object]:
    return [
        await store.actions(ActionQuery()),
        await store.states(StateQuery()),
        await store.steps(StepQuery()),
        await store.conversations(ConversationQuery()),
        await store.participants(ParticipantQuery(conversation_id="c")),
        await store.messages(MessageQuery(conversation_id="c")),
        await store.cursor(CursorQuery(session_id="s", conversation_id="c")),
    ]


#: JSON values that an encoder might mistake for another value.
JSON_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 2**53, -(2**63), 0.1, 1e300, 5e-324),
    *("", "null", "true", "1", "1e400", "not json", '{"a": 1}', '"quoted"', "[1", "\\u0000"),
    *("\x00", "line\nline\r\n", "'; DROP TABLE actions; --", "naïve 🙂 \u2028 אב"),
    *([], {}, [[]], [None], {"": ""}, {"a": {"b": [1, "2", None, 3.5]}}, {"$type": "x", "a.b": 1}),
    "x" * 100_000,
)
#: Texts in the place of JSON, and the values that are read from them.
RAW_STATE_VALUES: Final[dict[str, Any]] = {
    "not json": "not json",
    "": "",
    "{": "{",
    "NaN": "NaN",
    "1e400": "1e400",
    "null": None,
    '"text"': "text",
    ' {"a": 1} ': {"a": 1},
    "[" * 100_000: "[" * 100_000,
}


def make_nested_list(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = "the innermost"
    for _ in range(depth):
        value = [value]
    return value


class ValueSuite(BaseSuite):
    """JSON values, texts, and invalid values."""

    async def test_json_comes_back_as_it_was(self) -> None:
        async with self.opened_store() as store:
            everything = [*JSON_VALUES, make_nested_list(200)]
            await store.save_conversation(make_conversation(tags=("one", "two, three", '"')))
            state = await begin_session(store, config=everything)
            for number, value in enumerate((*JSON_VALUES, make_nested_list(200), everything)):
                left = make_action(f"a{number}", payload=value, metadata=[value])
                await enqueue_actions(store, left)
                assert await read_action(store, left.id) == left
                row = make_step(iteration=number, data=value, state={"v": value}, guidance=value)
                full = replace(
                    state, state=value, result={"v": value}, context=[value], guidance=value
                )
                message = make_message(f"m{number}", number, data=value)
                await write_session(store, state=full, steps=(row,), messages=(message,))
                assert await read_snapshot(store) == full
                query = StepQuery(session_id="s", min_iteration=number)
                assert (await store.steps(query)).steps == (row,)
                last = MessageQuery(conversation_id="c", last=True, limit=1)
                assert (await store.messages(last)).messages == (message,)
            assert (await read_snapshot(store)).config == everything

    async def test_every_field_comes_back(self) -> None:
        async with self.opened_store() as store:
            limits = AgentLimits(
                stop_on_done=False, max_steps=3, max_runtime_s=1.5, retries=2, backoff_s=0.25
            )
            given: dict[str, Any] = {
                "conversation_id": "c",
                "run_id": "run",
                "step": True,
                "limits": limits,
                "last_error": "none yet",
                "step_token": "a",
                "next_step_token": "b",
                "iteration": 7,
                "ran_s": 1.25,
                "config": {"subject": "cats"},
            }
            made = await create_session(store, **given)
            assert await read_snapshot(store) == made.state
            assert {name: getattr(made.state, name) for name in given} == given

    async def test_texts_of_any_kind_come_back(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            texts = [each for each in JSON_VALUES if isinstance(each, str)]
            rows = tuple(
                make_step(
                    iteration=number, text=text, notes=text, error=text, latency_ms=number / 3
                )
                for number, text in enumerate(texts)
            )
            await write_session(store, steps=rows)
            assert (await store.steps(StepQuery(limit=1000))).steps == rows

    async def test_plain_text_where_json_belongs_is_read_as_that_text(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            for text, value in RAW_STATE_VALUES.items():
                await self.write_raw_state(store, "s", text)
                assert (await read_snapshot(store)).state == value, text[:20]

    async def test_unencodable_value_is_refused_and_store_stays_usable(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            for bad in ("\ud800", ["\udfff"], {"\ud800": 1}, object()):
                try:
                    await enqueue_actions(
                        store, make_action("good"), make_action("bad", payload=bad)
                    )
                except AgentStepperError as error:
                    assert str(error)
                else:
                    raise AssertionError(f"{bad!a} was taken")
            assert await enqueue_actions(store, make_action("next")) == (make_action("next"),)
            assert (await store.info()).open == 1
