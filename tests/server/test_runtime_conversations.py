"""`/agentstepper/api/conversations…` over HTTP."""

from __future__ import annotations

from typing import Any

from tests.server.agents import ManualSessions, Refusal, RuntimeApi

NOT_THERE = "nowhere"
ODD = "ä/ö %2F?&=+#.."


async def begun(agents: RuntimeApi, id: str = "c1", **fields: Any) -> Any:
    return await agents("POST", "conversations", body={"conversation_id": id, **fields})


# ---- conversations ---------------------------------------------------------------------------------


async def test_a_conversation_is_begun(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    new = {"title": "Bücher 📚", "created_by": "zoë", "tags": ["x", "y"]}
    response = await agents.fetch("POST", "conversations", body=new)
    assert response.code == 201
    (one,) = (await agents("GET", "conversations"))["conversations"]
    assert one.keys() == {"conversation_id", "status", "created_at", *new}
    assert {name: one[name] for name in new} == new
    assert one["status"] == "open"
    assert await agents("GET", "conversations", one["conversation_id"]) == one


async def test_beginning_again_changes_nothing(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    first = await begun(agents, ODD, title="first")
    assert await begun(agents, ODD, title="second") == first
    assert await agents("GET", "conversations", ODD) == first


async def test_conversations_are_found(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    await begun(agents, "c1", tags=["x"])
    await begun(agents, "c2", tags=["x", "ÿ y"])
    await begun(agents, "c3")
    await agents("PATCH", "conversations", "c1", body={"status": "closed"})

    async def found(**query: Any) -> list[str]:
        answer = await agents("GET", "conversations", **query)
        return [each["conversation_id"] for each in answer["conversations"]]

    assert await found() == ["c3", "c2", "c1"]
    assert await found(tag="x") == ["c2", "c1"]
    assert await found(tag="ÿ y") == ["c2"]
    assert await found(status="closed") == ["c1"]
    assert await found(status="open", tag="x") == ["c2"]
    assert await found(limit=1, offset=2) == ["c1"]


async def test_a_conversation_is_changed(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    before = await begun(agents, title="a", tags=["x"])
    changed = await agents("PATCH", "conversations", "c1", body={"title": "b", "tags": []})
    assert changed == {**before, "title": "b", "tags": []}
    closed = await agents("PATCH", "conversations", "c1", body={"status": "closed"})
    assert closed == {**changed, "status": "closed"}
    post = ("POST", "conversations", "c1", "messages")
    refused = Refusal(409, "conversation_closed", "conversation_id")
    assert await agents.expect_refusal(*post, body={"text": "?"}) == refused
    await agents("PATCH", "conversations", "c1", body={"status": "open"})
    await agents(*post, body={"text": "!"})


# ---- who takes part --------------------------------------------------------------------------------


async def test_who_takes_part(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    await begun(agents)
    await agents.create("a1", "s1")
    path = ("conversations", "c1", "participants")
    user = {"kind": "user", "user_id": "zoë", "role": "owner"}
    response = await agents.fetch("POST", *path, body=user)
    assert response.code == 201
    session = {"kind": "session", "session_id": "s1", "delivery": "pull"}
    joined = await agents("POST", *path, body=session)
    assert joined["agent_id"] == "a1"
    zoe, agent = (await agents("GET", *path))["participants"]
    assert agent == joined
    assert user.items() <= zoe.items()
    assert zoe.keys() == {
        *("participant_id", "conversation_id", "kind", "user_id", "agent_id", "session_id"),
        *("role", "delivery", "hears", "joined_at", "left_at"),
    }
    assert await agents("POST", *path, body=session) == joined  # it is there already

    left = await agents("DELETE", *path, joined["participant_id"])
    assert left == {**joined, "left_at": left["left_at"]}
    assert left["left_at"] is not None
    assert await agents("DELETE", *path, joined["participant_id"]) == left
    assert (await agents("GET", *path))["participants"] == [zoe, left]
    assert (await agents("GET", *path, here="true"))["participants"] == [zoe]
    assert (await agents("GET", *path, session_id="s1"))["participants"] == [left]


async def test_a_session_that_is_created_into_a_conversation_takes_part(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await begun(agents)
    await agents.create("a1", "s1", conversation_id="c1")
    (one,) = (await agents("GET", "conversations", "c1", "participants"))["participants"]
    assert (one["kind"], one["session_id"], one["role"]) == ("session", "s1", "member")


# ---- what is said ----------------------------------------------------------------------------------


async def test_a_post_reaches_those_who_are_told(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await begun(agents)
    for number, delivery in ((1, "push"), (2, "pull"), (3, "push"), (4, "push")):
        await agents.create(f"a{number}", f"s{number}", conversation_id="c1", delivery=delivery)
    path = ("conversations", "c1", "participants")
    left = (await agents("GET", *path, session_id="s3"))["participants"][0]
    await agents("DELETE", *path, left["participant_id"])

    post = {"user_id": "zoë", "text": "Grüße", "data": {"n": [1]}}
    response = await agents.fetch("POST", "conversations", "c1", "messages", body=post)
    assert response.code == 201
    inputs = (await agents("GET", "actions", kind="agent_input"))["actions"]
    assert {each["session_id"] for each in inputs} == {"s1", "s4"}
    assert {each["payload"]["text"] for each in inputs} == {"Grüße"}
    said = (await agents("GET", "conversations", "c1", "messages"))["messages"]
    message = said[-1]
    assert {each["payload"]["message_id"] for each in inputs} == {message["message_id"]}
    assert post.items() <= message.items()
    assert message.keys() == {
        *("message_id", "conversation_id", "created_at", "sender_type", "user_id", "agent_id"),
        *("session_id", "text", "data", "status", "event_type", "iteration", "step_token"),
        *("next_step_token", "notes"),
    }
    assert (message["sender_type"], message["event_type"]) == ("user", "message")


async def test_a_post_that_is_sent_again_is_said_once(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await begun(agents)
    path = ("conversations", "c1", "messages")
    first, again = [
        await agents("POST", *path, body={"text": "Hello.", "idem_key": "k"}) for _ in range(2)
    ]
    assert again == first
    one = await agents("GET", *path, message_id=first["message_id"])
    assert one["messages"] == [first]
    refused = Refusal(404, "unknown_message_id", "message_id")
    assert await agents.expect_refusal("GET", *path, message_id=NOT_THERE) == refused


async def test_pages_of_messages_are_the_whole(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await begun(agents)
    path = ("conversations", "c1", "messages")
    ids = [
        (await agents("POST", *path, body={"text": str(number)}))["message_id"]
        for number in range(5)
    ]

    async def found(**query: Any) -> list[str]:
        return [each["message_id"] for each in (await agents("GET", *path, **query))["messages"]]

    assert await found() == ids
    assert await found(limit=2) == ids[:2]
    assert await found(after=ids[1], limit=2) == ids[2:4]
    assert await found(after=ids[4]) == []
    assert await found(last="true", limit=2) == ids[3:]


# ---- what is refused -------------------------------------------------------------------------------


READS: list[tuple[list[str], Any, Refusal]] = [
    ([], {"title": "x"}, Refusal(400, "invalid_message", "title")),
    ([], {"status": "ajar"}, Refusal(400, "invalid_message", "status")),
    ([], {"limit": 0}, Refusal(400, "invalid_message", "limit")),
    ([NOT_THERE], {}, Refusal(404, "unknown_conversation", "conversation_id")),
    (["c1"], {"status": "open"}, Refusal(400, "invalid_message", "status")),
    ([NOT_THERE, "participants"], {}, Refusal(404, "unknown_conversation", "conversation_id")),
    (["c1", "participants"], {"here": "?"}, Refusal(400, "invalid_message", "here")),
    (["c1", "participants"], {"role": "owner"}, Refusal(400, "invalid_message", "role")),
    ([NOT_THERE, "messages"], {}, Refusal(404, "unknown_conversation", "conversation_id")),
    (["c1", "messages"], {"after": NOT_THERE}, Refusal(404, "unknown_message_id", "after")),
    (["c1", "messages"], {"limit": "all"}, Refusal(400, "invalid_message", "limit")),
    (["c1", "messages"], {"since": 1}, Refusal(400, "invalid_message", "since")),
    (
        ["c1", "messages"],
        {"conversation_id": "c2"},
        Refusal(400, "invalid_message", "conversation_id"),
    ),
]


CHANGES: list[tuple[str, list[str], Any, Refusal]] = [
    ("POST", [], b"{", Refusal(400, "malformed")),
    ("POST", [], {"tags": "x"}, Refusal(400, "invalid_message", "tags")),
    ("POST", [], {"status": "closed"}, Refusal(400, "invalid_message", "status")),
    ("POST", [], {"conversation_id": ""}, Refusal(400, "invalid_message", "conversation_id")),
    ("PATCH", ["c1"], {}, Refusal(400, "invalid_message")),
    ("PATCH", ["c1"], {"status": "ajar"}, Refusal(400, "invalid_message", "status")),
    (
        "PATCH",
        ["c1"],
        {"conversation_id": "c2"},
        Refusal(400, "invalid_message", "conversation_id"),
    ),
    (
        "PATCH",
        [NOT_THERE],
        {"title": "x"},
        Refusal(404, "unknown_conversation", "conversation_id"),
    ),
    ("POST", ["c1", "participants"], {}, Refusal(400, "invalid_message", "kind")),
    (
        "POST",
        ["c1", "participants"],
        {"kind": "user"},
        Refusal(400, "invalid_message", "user_id"),
    ),
    (
        "POST",
        ["c1", "participants"],
        {"kind": "session"},
        Refusal(400, "invalid_message", "session_id"),
    ),
    (
        "POST",
        ["c1", "participants"],
        {"kind": "session", "session_id": NOT_THERE},
        Refusal(404, "unknown_session", "session_id"),
    ),
    (
        "POST",
        ["c1", "participants"],
        {"kind": "user", "user_id": "u", "role": "boss"},
        Refusal(400, "invalid_message", "role"),
    ),
    (
        "POST",
        [NOT_THERE, "participants"],
        {"kind": "user", "user_id": "u"},
        Refusal(404, "unknown_conversation", "conversation_id"),
    ),
    (
        "DELETE",
        ["c1", "participants", NOT_THERE],
        None,
        Refusal(404, "unknown_participant", "participant_id"),
    ),
    (
        "DELETE",
        [NOT_THERE, "participants", "p"],
        None,
        Refusal(404, "unknown_conversation", "conversation_id"),
    ),
    ("POST", ["c1", "messages"], {"text": 1}, Refusal(400, "invalid_message", "text")),
    ("POST", ["c1", "messages"], {}, Refusal(400, "invalid_message", "text")),
    (
        "POST",
        ["c1", "messages"],
        {"sender_type": "agent"},
        Refusal(400, "invalid_message", "sender_type"),
    ),
    (
        "POST",
        ["c1", "messages"],
        {"user_id": "eve", "text": "x"},
        Refusal(403, "may_not_post", "user_id"),
    ),
    (
        "POST",
        [NOT_THERE, "messages"],
        {"text": "x"},
        Refusal(404, "unknown_conversation", "conversation_id"),
    ),
]


async def everything(agents: RuntimeApi) -> list[Any]:
    """What there is of the only conversation."""
    of_it = ("conversations", "c1")
    paths = [("conversations",), of_it, (*of_it, "participants"), (*of_it, "messages")]
    return [await agents("GET", *path) for path in paths]


async def test_reading_what_is_not_there(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await begun(agents)
    for path, query, refusal in READS:
        assert await agents.expect_refusal("GET", "conversations", *path, **query) == refusal, (
            path,
            query,
        )


async def test_changes_that_are_refused_change_nothing(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await begun(agents)
    eve = {"kind": "user", "user_id": "eve", "role": "observer"}
    await agents("POST", "conversations", "c1", "participants", body=eve)
    before = await everything(agents)
    for method, path, body, refusal in CHANGES:
        refused = await agents.expect_refusal(method, "conversations", *path, body=body)
        assert refused == refusal, (method, path, body)
    assert await everything(agents) == before


async def test_a_participant_of_another_conversation_is_unknown(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await begun(agents, "c1")
    await begun(agents, "c2")
    user = {"kind": "user", "user_id": "u"}
    joined = await agents("POST", "conversations", "c1", "participants", body=user)
    path = ("conversations", "c2", "participants", joined["participant_id"])
    refusal = Refusal(404, "unknown_participant", "participant_id")
    assert await agents.expect_refusal("DELETE", *path) == refusal


# ---- reading by a cursor ---------------------------------------------------------------------------


async def test_session_that_pulls_reads_by_its_cursor(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await begun(agents)
    await agents.create("a1", "s1", conversation_id="c1", delivery="pull")
    path = ("conversations", "c1", "cursor")
    assert await agents("GET", *path, session_id="s1") == {"cursor": None}
    said = [
        await agents("POST", "conversations", "c1", "messages", body={"text": text})
        for text in ("one", "two")
    ]
    cursor = {"session_id": "s1", "last_message_id": said[0]["message_id"]}
    advanced = await agents("PUT", *path, body=cursor)
    assert advanced == {**cursor, "conversation_id": "c1"}
    assert await agents("GET", *path, session_id="s1") == {"cursor": advanced}
    rest = await agents("GET", "conversations", "c1", "messages", after=advanced["last_message_id"])
    assert [each["text"] for each in rest["messages"]] == ["two"]
    unknown = {"session_id": "s1", "last_message_id": "none"}
    refused = await agents.expect_refusal("PUT", *path, body=unknown)
    assert refused == Refusal(404, "unknown_message_id", "last_message_id")
