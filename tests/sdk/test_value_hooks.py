"""The agent's `to_json=` and `from_json=`, at a real Core with a person at the other side."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, NotJSONError
from agentstepper_nb.protocol.data_model import EventKind
from agentstepper_nb.sdk.payload import PayloadEncoder
from agentstepper_nb.sdk.value_hooks import ValueHooks
from tests.sdk.both_steppers import both, run
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import (
    START,
    STEP,
    TIMEOUT_S,
    ScriptedAnswers,
    ScriptedCore,
    make_edit_answer,
)
from tests.sdk.test_exact_edits import refused
from tests.sdk.test_live_core import started
from tests.sdk.traced_values import FrameworkObject, make_opaque_mark


class User:
    """A type of the agent's own, of which nothing but its hooks knows the fields."""

    def __init__(self, name: str, born: date, friends: list[User]) -> None:
        if not name:
            raise ValueError("a user needs a name")
        self.name, self.born, self.friends = name, born, friends


class Admin(User):
    """Another type, which the same hooks make."""


def show_user(value: Any) -> Any:
    if isinstance(value, User):
        return {"name": value.name, "born": value.born, "friends": value.friends}
    raise TypeError


def make_user(edited: Any, original: User) -> User:
    return type(original)(**edited)


def debug_messages(person: LiveView) -> list[Any]:
    return [
        person.get_data(row) for row in person.list_rows() if row.kind is EventKind.DEBUG_MESSAGE
    ]


@both
@pytest.mark.parametrize("error", [LookupError("no such user"), OverflowError("no such user")])
def test_a_to_json_that_raises_is_named_and_shown_and_crashes_nothing(
    stepper_kind: str,
    error: Exception,
    live: AgentStepperCore,
    person: LiveView,
    pool: ThreadPoolExecutor,
) -> None:
    def show_thing(value: Any) -> Any:
        raise error

    thing = FrameworkObject()

    async def scenario(dbg: Any) -> Any:
        got = []
        for _ in range(2):
            async with dbg.tool("look", {"thing": thing, "n": 1}) as t:
                got.append((t.args["thing"], t.args["n"]))
                t.result = thing
        return got, t.result

    working = started(pool, stepper_kind, live, scenario, to_json=show_thing)
    person.step()
    why = f"to_json=show_thing raised {type(error).__name__}: no such user"
    halted = person.wait_until_halted()
    call = person.get_data(person.list_rows()[-1])
    assert call["Argument"] == {"thing": make_opaque_mark("<a thing>", 1, why), "n": 1}
    assert debug_messages(person) == [
        f"A value of the type FrameworkObject is shown by its repr and can't be edited: {why}."
    ]
    call["Argument"]["n"] = 2
    person.step(call)
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != halted)
    assert person.get_data(person.list_rows()[-1]) == make_opaque_mark("<a thing>", 1, why)
    person.resume()
    assert working.result(TIMEOUT_S) == ([(thing, 2), (thing, 1)], thing)
    person.wait_until_ended()
    assert len(debug_messages(person)) == 1, "it is said once"


@both
def test_an_edit_is_made_of_the_agents_own_type(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    eve = Admin("eve", date(2001, 1, 1), [])
    bob = User("bob", date(2000, 1, 1), [eve])

    async def scenario(dbg: Any) -> Any:
        @dbg.traced_tool
        def greet(user: User, others: list[User]) -> User:
            got.append((user, others))
            return user

        return greet(bob, [bob])

    got: list[tuple[User, list[User]]] = []
    hooks = {"to_json": show_user, "from_json": make_user}
    working = started(pool, stepper_kind, live, scenario, **hooks)
    person.step()
    begin = person.wait_until_halted()
    call = person.get_data(person.list_rows()[-1])
    shown = {
        "name": "bob",
        "born": "2000-01-01",
        "friends": [{"name": "eve", "born": "2001-01-01", "friends": []}],
    }
    assert call["Argument"] == {"user": shown, "others": [shown]}
    new = json.loads(json.dumps(call))
    new["Argument"]["user"]["friends"][0]["born"] = "2002-02-02"
    new["Argument"]["others"] = [shown, {"name": "new", "born": "1999-09-09", "friends": []}]
    person.step(new)
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != begin)
    person.step({**new["Argument"]["user"], "name": "rob"})
    result = working.result(TIMEOUT_S)
    (user, others) = got[0]
    assert (type(user), user.name, user.born) == (User, "bob", date(2000, 1, 1))
    assert (type(user.friends[0]), user.friends[0].born) == (Admin, date(2002, 2, 2))
    assert others[0] is bob, "what wasn't edited is the same object"
    assert (type(others[1]), others[1].name, others[1].born) == (User, "new", date(1999, 9, 9))
    assert (type(result), result.name, result.friends) == (User, "rob", user.friends)
    assert (bob.name, eve.born) == ("bob", date(2001, 1, 1))


@both
def test_a_from_json_that_raises_refuses_the_edit_and_is_named(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    bob = User("bob", date(2000, 1, 1), [])

    async def scenario(dbg: Any) -> Any:
        return await dbg.begin_llm_query_breakpoint({"user": bob})

    hooks = {"to_json": show_user, "from_json": make_user}
    working = started(pool, stepper_kind, live, scenario, **hooks)
    person.step()
    waiting = person.wait_until_halted()
    shown = person.get_data(person.list_rows()[-1])["user"]
    for wrong, why in (
        ({**shown, "name": ""}, "ValueError: a user needs a name"),
        ({"name": "bob", "friends": []}, "TypeError: User"),
        ({**shown, "age": 1}, "TypeError: User"),
        ("bob", "TypeError"),
    ):
        said = refused(person, {"user": wrong})
        assert "user: from_json=make_user raised " + why in said
    assert person.wait_until_halted() == waiting
    person.step({"user": {**shown, "name": "rob"}})
    assert working.result(TIMEOUT_S)["user"].name == "rob"


@both
def test_an_older_core_s_edit_that_from_json_refuses_is_told(
    stepper_kind: str, core: ScriptedCore
) -> None:
    bob = User("bob", date(2000, 1, 1), [])
    core.policy = ScriptedAnswers(START, STEP, make_edit_answer('{"name":""}'))

    async def scenario(dbg: Any) -> Any:
        async with dbg.llm("p") as q:
            q.response = bob
        return q.response

    hooks = {"to_json": show_user, "from_json": make_user}
    assert run(stepper_kind, core, scenario, **hooks) is bob
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    (told,) = [event for event in peer.events if event.kind is EventKind.DEBUG_MESSAGE]
    assert "The value: from_json=make_user raised TypeError" in json.loads(bytes(told.data))


def test_without_from_json_the_edited_json_arrives(core: ScriptedCore) -> None:
    core.policy = ScriptedAnswers(START, make_edit_answer('{"name":"rob"}'))
    with AgentStepper("T", "127.0.0.1", core.port, to_json=show_user) as dbg:
        bob = User("bob", date(2000, 1, 1), [])
        assert dbg.begin_llm_query_breakpoint(bob) == {"name": "rob"}


def test_a_value_that_must_be_json_names_the_hook_that_failed() -> None:
    def show_thing(value: Any) -> Any:
        raise LookupError("no such thing")

    encoder = PayloadEncoder(hooks=ValueHooks(show_thing))
    with pytest.raises(NotJSONError, match="to_json=show_thing raised LookupError: no such thing"):
        encoder.encode("tool_call", {"a": FrameworkObject()})


def test_hooks_that_can_not_be_called_are_refused(core: ScriptedCore) -> None:
    with pytest.raises(TypeError, match="to_json must be a function, not str"):
        AgentStepper("T", "127.0.0.1", core.port, to_json="show")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="from_json= was passed without to_json="):
        AgentStepper("T", "127.0.0.1", core.port, from_json=make_user)
    assert core.peers == []
