"""Edits at a real Core: a person's are made exactly, or refused while the agent stays halted."""

from __future__ import annotations

import contextvars
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pydantic
import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper, AgentStepperCore, ProtocolError
from agentstepper_nb.protocol.agent import CheckEdit, EditChecked, HaltPointReached
from agentstepper_nb.protocol.data_model import EventKind
from tests.helpers.sampling import select_sample
from tests.sdk.both_steppers import both, run
from tests.sdk.hostile import HOSTILE
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import (
    START,
    STEP,
    TIMEOUT_S,
    ScriptedAnswers,
    ScriptedCore,
    answer_none,
    make_edit_answer,
)
from tests.sdk.test_live_core import started
from tests.sdk.traced_values import FrameworkObject, make_opaque_mark

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


class Order(pydantic.BaseModel):
    customer: str
    amount: int = pydantic.Field(gt=0)
    checked_for: list[str] = pydantic.Field(default_factory=list, exclude=True)

    @pydantic.model_validator(mode="after")
    def note(self) -> Order:
        self.checked_for.append(tenant.get())
        return self


def refused(person: LiveView, edit: Any, revision: int = 1) -> str:
    """Step with an edit that is refused: why."""
    with pytest.raises(AssertionError, match="code='invalid_edit'") as caught:
        person.step(edit, revision)
    return str(caught.value)


@both
def test_a_validator_refuses_an_edit_and_the_agent_stays_halted(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    order = Order(customer="bob", amount=1)

    async def scenario(dbg: Any) -> Any:
        tenant.set("acme")

        @dbg.traced_tool
        def buy(order: Order, thing: FrameworkObject) -> Order:
            return order

        return buy(order, FrameworkObject())

    working = started(pool, stepper_kind, live, scenario)
    person.step()  # the start
    call = {"Tool": "buy", "Argument": {"order": {"customer": "bob", "amount": 1}}}
    call["Argument"]["thing"] = make_opaque_mark("<a thing>", 1)  # type: ignore[index]

    def changed(**fields: Any) -> Any:
        new = json.loads(json.dumps(call))
        new["Argument"]["order"] |= fields
        return new

    waiting = person.wait_until_halted()
    assert "Argument.order: amount: Input should be greater than 0" in refused(
        person, changed(amount=-1)
    )
    assert "Argument.order.price: Order has no such field" in refused(person, changed(price=2))
    assert "Edit the arguments only" in refused(person, changed() | {"Tool": "sell"})
    assert "Argument.thing is read-only" in refused(
        person, {"Tool": "buy", "Argument": {**call["Argument"], "thing": "mine"}}
    )
    assert person.wait_until_halted() == waiting
    assert not person.list_rows()[-1].edited
    person.step(changed(amount=2))
    result = {"customer": "bob", "amount": 2}
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != waiting)
    assert person.get_data(person.list_rows()[-1]) == result
    assert "customer: Input should be a valid string" in refused(person, result | {"customer": 1})
    person.step(result | {"customer": "eve"})
    got = working.result(TIMEOUT_S)
    assert type(got) is Order
    assert (got.customer, got.amount) == ("eve", 2)
    assert set(got.checked_for[1:]) == {"acme"}, "validators run in the agent's own context"
    assert (order.customer, order.amount) == ("bob", 1)


@both
def test_validators_run_once_for_an_edit(
    stepper_kind: str, live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    runs: list[int] = []

    class Counted(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def count(cls, n: int) -> int:
            runs.append(n)
            return n

    async def scenario(dbg: Any) -> Any:
        await dbg.begin_llm_query_breakpoint("p")
        return await dbg.end_llm_query_breakpoint(Counted(n=1))

    working = started(pool, stepper_kind, live, scenario)
    person.step()
    person.step()
    person.edit({"n": 2})
    person.step(revision=2)
    assert working.result(TIMEOUT_S).n == 2
    assert runs == [1, 2]


@pytest.mark.parametrize("stepper_kind", select_sample(["sync", "async"], "sync"))
@pytest.mark.parametrize(
    "name", select_sample(HOSTILE, *HOSTILE.keys() - {"a text of escapes", "a large text"})
)
def test_no_response_crashes_the_agent(stepper_kind: str, core: ScriptedCore, name: str) -> None:
    response = HOSTILE[name]

    async def scenario(dbg: Any) -> Any:
        async with dbg.llm("p") as q:
            q.response = response
        await dbg.begin_llm_query_breakpoint([response])
        return q.response is response, await dbg.end_llm_query_breakpoint(response) is response

    assert run(stepper_kind, core, scenario) == (True, True)


@both
def test_an_older_core_s_edit_that_can_not_be_made_is_told(
    stepper_kind: str, core: ScriptedCore
) -> None:
    order = Order(customer="bob", amount=1)
    core.policy = ScriptedAnswers(START, STEP, make_edit_answer('{"customer":"bob","amount":0}'))

    async def scenario(dbg: Any) -> Any:
        async with dbg.llm("p") as q:
            q.response = order
        return q.response

    assert run(stepper_kind, core, scenario) is order
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    told = [event for event in peer.events if event.kind is EventKind.DEBUG_MESSAGE]
    assert [json.loads(bytes(event.data)) for event in told] == [
        "Your edit was refused, and the agent continues without it: The value: amount: Input should be "
        "greater than 0."
    ]


def test_an_older_core_s_edit_that_can_not_be_made_keeps_a_call_from_being_made(
    core: ScriptedCore,
) -> None:
    called: list[Order] = []
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:

        @dbg.traced_tool
        def buy(order: Order) -> None:
            called.append(order)

        core.policy = ScriptedAnswers(
            make_edit_answer('{"Tool":"buy","Argument":{"order":{"customer":"b","amount":0}}}')
        )
        with pytest.raises(ProtocolError, match="greater than 0"):
            buy(Order(customer="b", amount=1))
    assert called == []


def test_a_secret_in_a_refusal_is_masked(
    live: AgentStepperCore,
    person: LiveView,
    pool: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cret-s3cret")

    class Login(pydantic.BaseModel):
        user: str

        @pydantic.field_validator("user")
        @classmethod
        def check(cls, user: str) -> str:
            if user == "eve":
                raise ValueError("the server said no to s3cret-s3cret")
            return user

    async def scenario(dbg: Any) -> Any:
        return await dbg.begin_llm_query_breakpoint(Login(user="bob"))

    working = started(pool, "sync", live, scenario)
    person.step()
    said = refused(person, {"user": "eve"})
    assert "s3cret" not in said
    assert "the server said no to [masked SHOP_TOKEN]" in said
    person.step()
    assert working.result(TIMEOUT_S).user == "bob"


def test_a_hook_that_fails_for_a_reason_keeps_it_inside(
    live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    def redact(word: str, value: Any) -> Any:
        return "nothing" if word == "error" else value

    async def scenario(dbg: Any) -> Any:
        return await dbg.begin_llm_query_breakpoint(Order(customer="bob", amount=1))

    working = started(pool, "sync", live, scenario, redact=redact)
    person.step()
    said = refused(person, {"customer": "bob", "amount": 0})
    assert "redact= failed on the reason" in said
    person.step()
    assert working.result(TIMEOUT_S).amount == 1


@pytest.mark.parametrize(
    ("value", "edit", "refusal"),
    [
        ("plain", "another", None),  # it takes whatever JSON the Core accepts
        (Order(customer="bob", amount=1), {"customer": "bob", "amount": 2}, None),
        (Order(customer="bob", amount=1), {"customer": "bob", "amount": 0}, "greater than 0"),
    ],
    ids=["plain", "accepted", "refused"],
)
def test_an_edit_is_checked_while_another_thread_decides_a_halt_point(
    value: Any,
    edit: Any,
    refusal: str | None,
    core: ScriptedCore,
    dbg: AgentStepper,
    pool: ThreadPoolExecutor,
) -> None:
    core.policy, peer = answer_none, core.wait_for_peer()
    halted = pool.submit(dbg.begin_llm_query_breakpoint, value)
    point = peer.receive(HaltPointReached)
    if point.summary:  # the start
        point = peer.receive(HaltPointReached)
    link = dbg._current_session().link
    with link._halt_lease._lock:
        data = Raw(json.dumps(edit).encode())
        peer.send(CheckEdit(check="c1", halt_point=point.id, data=data))
        checked = peer.receive(EditChecked)
    peer.answer(point.id)
    assert halted.result(TIMEOUT_S) is value
    assert checked.check == "c1"
    if refusal is None:
        assert checked.refusal is None
    else:
        assert checked.refusal is not None and refusal in checked.refusal
