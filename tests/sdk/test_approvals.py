"""`dbg.tool(…, approval=…)`: what waits for a yes, and whoever says it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepperCore, Approval, NotJSONError, ToolDeniedError
from agentstepper_nb.protocol import values
from agentstepper_nb.protocol.agent import (
    Answer,
    BreakpointReached,
    Decide,
    Deny,
    Lease,
    Resume,
    Withdraw,
)
from agentstepper_nb.protocol.values import (
    AnswerKind,
    Ending,
    Mode,
    Outcome,
    Risk,
    RunState,
    Side,
)
from agentstepper_nb.sdk.approvals import NOBODY
from tests.sdk.doors import both, run
from tests.sdk.person import Person
from tests.sdk.scripted_core import PATIENCE, Peer, ScriptedCore, only_the_start, waiting

SECRET = "sk-live-0123456789"


async def call(dbg: Any, approval: Approval, args: Any = "rm -r build") -> Any:
    async with dbg.tool("shell", args, approval=approval) as t:
        t.result = t.args
    return t.result


def approves(text: str | None = None, *, always: bool = False) -> Resume:
    if text is None:
        return Resume(approved=True, always=always)
    return Resume(approved=True, always=always, data=Raw(text.encode()))


class Answers:
    """Answers what asks for an approval, and steps at all else."""

    def __init__(self, answer: Answer | None) -> None:
        self._answer = answer

    def __call__(self, peer: Peer, point: BreakpointReached) -> Answer | None:
        return self._answer if point.approval is not None else Resume()


class Arbiter:
    """A Core that takes the agent's own decision for an answer."""

    def __init__(self, core: ScriptedCore) -> None:
        core.policy = Answers(None)
        self._core = core

    def decided(self, peer: Peer) -> Decide:
        """Wait for a decision, and answer as it says."""
        said = peer.next(Decide)
        edit = said.data if isinstance(said.data, Raw) else None
        text = None if edit is None else bytes(edit).decode()
        yes = approves(text, always=said.always)
        peer.answer(said.breakpoint, yes if said.approved else Deny(reason=said.reason))
        return said


# ---- a person in the debugger -----------------------------------------------------------------------


@both
def test_it_waits_however_the_run_continues(door: str, core: ScriptedCore) -> None:
    core.policy = Answers(approves('{"Tool": "shell", "Argument": "ls"}', always=True))
    core.lease = Lease(epoch=1, mode=Mode.CONTINUE)
    approval = Approval("It deletes files.", "high", "rm -r *")

    async def scenario(dbg: Any) -> Any:
        before = approval.always
        return before, await call(dbg, approval), approval.always

    assert run(door, core, scenario) == (False, "ls", True)
    (asked,) = [point for point in core.peer().points if point.approval is not None]
    assert (asked.waits, asked.side) == (True, Side.BEGIN)
    assert asked.approval == values.Approval(
        risk=Risk.HIGH, why="It deletes files.", rule="rm -r *"
    )


@both
def test_a_denial_is_raised_with_its_reason(door: str, core: ScriptedCore) -> None:
    core.policy = Answers(Deny(reason="Not today."))

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError, match=r"^Not today\.$"):
            await call(dbg, Approval("It deletes files."))

    run(door, core, scenario)
    ended = core.peer().points[-1]
    assert (ended.waits, ended.outcome) == (False, Outcome.ERROR)


@both
def test_a_denial_without_a_reason_says_at_least_that(door: str, core: ScriptedCore) -> None:
    core.policy = Answers(Deny(reason=""))

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError, match="The person denied this call"):
            await call(dbg, Approval("It deletes files."))

    run(door, core, scenario)


@both
def test_who_goes_on_without_a_yes_is_denied(door: str, core: ScriptedCore) -> None:
    """A Core that doesn't know of approvals, or lost this one."""
    core.policy = Answers(Resume())

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError, match=NOBODY):
            await call(dbg, Approval("It deletes files."))

    run(door, core, scenario)


@both
def test_how_a_run_begins_is_said_in_its_hello(door: str, core: ScriptedCore) -> None:
    async def nothing(dbg: Any) -> None:
        """End at once."""

    for mode in Mode:
        run(door, core, nothing, mode=mode.value)
        hello = core.peer().hello
        assert hello is not None
        assert hello.mode is mode
    with pytest.raises(ValueError, match="mode='run' is none of 'step', 'continue'"):
        run(door, core, nothing, mode="run")


# ---- somebody else ----------------------------------------------------------------------------------


@both
def test_somebody_elsewhere_is_asked_once_it_waits(door: str, core: ScriptedCore) -> None:
    arbiter = Arbiter(core)
    asked = threading.Event()
    approval = Approval("It deletes files.", on_waiting=asked.set)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, door, core, lambda dbg: call(dbg, approval))
        assert asked.wait(PATIENCE)
        approval.approve("ls", always=True)
        approval.deny("Too late.")
        said = arbiter.decided(peer := core.peer())
        assert working.result(PATIENCE) == "ls"
    (point,) = [point for point in peer.points if point.approval is not None]
    assert (said.breakpoint, said.approved, said.always) == (point.id, True, True)
    assert isinstance(said.data, Raw)
    assert json.loads(bytes(said.data)) == {"Tool": "shell", "Argument": "ls"}
    assert len([message for message in peer.sent if isinstance(message, Decide)]) == 1
    assert approval.always


@both
@pytest.mark.parametrize("how", ["approve", "deny"])
def test_what_was_decided_before_follows_at_once(door: str, how: str, core: ScriptedCore) -> None:
    arbiter, asked = Arbiter(core), threading.Event()
    approval = Approval("It deletes files.", on_waiting=asked.set)
    if how == "approve":
        approval.approve()
    else:
        approval.deny("Not today.")
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, door, core, lambda dbg: call(dbg, approval))
        peer = core.peer()
        arbiter.decided(peer)
        if how == "approve":
            assert working.result(PATIENCE) == "rm -r build"
        else:
            with pytest.raises(ToolDeniedError, match="Not today"):
                working.result(PATIENCE)
    names = [type(message).__name__ for message in peer.sent]
    assert names[names.index("Decide") - 1] == "BreakpointReached"
    assert not asked.is_set()


@both
def test_the_debuggers_answer_holds_where_both_decide(door: str, core: ScriptedCore) -> None:
    core.policy = Answers(None)
    with ThreadPoolExecutor(1) as pool:
        approval = Approval("It deletes files.")
        working = pool.submit(run, door, core, lambda dbg: call(dbg, approval))
        peer = core.peer()
        asked = waiting(peer)
        approval.approve("ls")
        peer.next(Decide)
        peer.answer(asked.id, Deny(reason="I was first."))
        with pytest.raises(ToolDeniedError, match="I was first"):
            working.result(PATIENCE)


@both
def test_a_decision_after_the_answer_is_not_sent(door: str, core: ScriptedCore) -> None:
    core.policy = Answers(approves())

    async def scenario(dbg: Any) -> Any:
        approval = Approval("It deletes files.")
        async with dbg.tool("shell", "ls", approval=approval) as t:
            approval.deny("Too late.")
            t.result = "made"
        return t.result

    assert run(door, core, scenario) == "made"
    peer = core.peer()
    peer.ends()
    assert not any(isinstance(message, Decide) for message in peer.sent)


@both
def test_an_interrupted_wait_is_withdrawn_and_not_decided(door: str, core: ScriptedCore) -> None:
    core.policy = Answers(None)

    def interrupt() -> None:
        raise KeyboardInterrupt

    approval = Approval("It deletes files.", on_waiting=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(door, core, lambda dbg: call(dbg, approval))
    approval.approve()
    peer = core.peer()
    peer.ends()
    (asked,) = [point for point in peer.points if point.approval is not None]
    assert [m.breakpoint for m in peer.sent if isinstance(m, Withdraw)] == [asked.id]
    assert not any(isinstance(message, Decide) for message in peer.sent)


# ---- what can't be ----------------------------------------------------------------------------------


@both
def test_one_approval_is_for_one_call(door: str, core: ScriptedCore) -> None:
    core.policy = Answers(approves())

    async def scenario(dbg: Any) -> None:
        approval = Approval("It deletes files.")
        await call(dbg, approval)
        with pytest.raises(RuntimeError, match="make one for each call"):
            await call(dbg, approval)

    run(door, core, scenario)
    peer = core.peer()
    peer.ends()
    assert len(peer.events) == 2  # the program's start, and one call


def test_there_are_three_risks() -> None:
    with pytest.raises(ValueError, match="huge"):
        Approval("It deletes files.", "huge")  # type: ignore[arg-type]


@both
def test_arguments_that_are_no_json_are_refused_where_they_are_given(
    door: str, core: ScriptedCore
) -> None:
    core.policy = Answers(approves())
    refused: list[str] = []
    approval = Approval("It deletes files.")

    def ask() -> None:
        with pytest.raises(NotJSONError):
            approval.approve({1: object()})
        refused.append("while it waits")

    approval.on_waiting = ask
    assert run(door, core, lambda dbg: call(dbg, approval)) == "rm -r build"
    assert refused
    early = Approval("It deletes files.")
    early.approve(object())
    with pytest.raises(NotJSONError):
        run(door, core, lambda dbg: call(dbg, early))
    core.peer()
    peer = core.peer()
    peer.ends()
    assert len(peer.events) == 1, "nothing of the call was sent"


# ---- what leaves the process -----------------------------------------------------------------------


@both
def test_secrets_stay_here_and_come_back(
    door: str, core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    arbiter = Arbiter(core)
    with ThreadPoolExecutor(1) as pool:
        approval = Approval(f"It sends {SECRET}." + "x" * 2000, rule=f"curl {SECRET}")
        approval.approve(f"curl -H {SECRET} other")
        working = pool.submit(run, door, core, lambda dbg: call(dbg, approval))
        peer = core.peer()
        said = arbiter.decided(peer)
        assert working.result(PATIENCE) == f"curl -H {SECRET} other"
    (asked,) = [point for point in peer.points if point.approval is not None]
    assert asked.approval is not None
    assert asked.approval.why.startswith("It sends [masked MY_API_KEY].xx")
    assert len(asked.approval.why) == 1000
    assert asked.approval.rule == "curl [masked MY_API_KEY]"
    assert isinstance(said.data, Raw)
    assert json.loads(bytes(said.data))["Argument"] == "curl -H [masked MY_API_KEY] other"


@both
def test_redact_sees_what_is_asked_and_why_it_is_denied(door: str, core: ScriptedCore) -> None:
    seen: list[Any] = []

    def redact(word: str, value: Any) -> Any:
        if word == "approval":
            seen.append(value)
            return dict.fromkeys(value, "hidden")
        return value

    arbiter = Arbiter(core)
    approval = Approval("It deletes files.")
    approval.deny("It would delete mine.")
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, door, core, lambda dbg: call(dbg, approval), redact=redact)
        assert arbiter.decided(core.peer()).reason == "hidden"
        with pytest.raises(ToolDeniedError, match="hidden"):
            working.result(PATIENCE)
    assert {"why": "It deletes files."} in seen
    assert {"reason": "It would delete mine."} in seen


# ---- no Core that could ask --------------------------------------------------------------------------


def deciding(decide: Callable[[Approval], None]) -> Approval:
    """An approval that is decided elsewhere as soon as it waits."""
    approval = Approval("It deletes files.")
    approval.on_waiting = lambda: decide(approval)
    return approval


@both
def test_version_1_has_no_word_for_it(door: str) -> None:
    async def scenario(dbg: Any) -> Any:
        with pytest.raises(ToolDeniedError, match=NOBODY):
            await call(dbg, Approval("It deletes files."))
        with pytest.raises(ToolDeniedError, match="Not here"):
            await call(dbg, deciding(lambda approval: approval.deny("Not here.")))
        return await call(dbg, deciding(lambda approval: approval.approve("ls")))

    with ScriptedCore(version=1) as core:
        assert run(door, core, scenario) == "ls"


@both
def test_without_its_core_only_who_is_elsewhere_decides(door: str) -> None:
    made = threading.Event()

    async def scenario(dbg: Any) -> Any:
        with pytest.raises(ToolDeniedError, match=NOBODY):
            await call(dbg, Approval("It deletes files."))
        result = await call(dbg, deciding(lambda approval: approval.approve("ls", always=True)))
        made.set()
        return result

    with ScriptedCore(only_the_start) as core, ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, door, core, scenario, on_disconnect="continue")
        asked = waiting(core.peer())
        core.stop()
        assert made.wait(PATIENCE)
        core.start()
        assert working.result(PATIENCE) == "ls"
        (kept,) = core.kept.values()
    points = [m for m in kept if isinstance(m, BreakpointReached) and m.approval is not None]
    assert [point.waits for point in points] == [True, False]
    assert [m.breakpoint for m in kept if isinstance(m, Withdraw)] == [asked.id]


@both
def test_who_waits_for_its_core_is_answered_when_it_is_back(door: str) -> None:
    with ScriptedCore(only_the_start) as core, ThreadPoolExecutor(1) as pool:
        approval = Approval("It deletes files.")
        working = pool.submit(run, door, core, lambda dbg: call(dbg, approval))
        asked = waiting(core.peer())
        core.stop()
        approval.approve("ls")
        core.start()
        back = core.peer()
        assert back.hello is not None
        assert back.hello.waiting == (asked.id,)
        assert back.next(Decide).breakpoint == asked.id
        back.answer(asked.id, Deny(reason="I was first."))
        with pytest.raises(ToolDeniedError, match="I was first"):
            working.result(PATIENCE)


# ---- a real Core -------------------------------------------------------------------------------------


@both
def test_a_person_approves_an_edit_for_always(
    door: str, live: AgentStepperCore, person: Person
) -> None:
    approval = Approval("It deletes files.", "high", "rm -r *")
    where: Any = SimpleNamespace(port=live.client_port)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, door, where, lambda dbg: call(dbg, approval), mode="continue")
        halted = person.until(lambda run: run.state is RunState.HALTED)
        assert halted.mode is Mode.CONTINUE
        person.go_on()
        assert person.run.pending == halted.pending, "to continue approves nothing"
        person.approve({"Tool": "shell", "Argument": "ls"}, always=True)
        assert working.result(PATIENCE) == "ls"
    person.over()
    assert approval.always
    (asked,) = [row for row in person.rows() if row.approval]
    assert (asked.edited, asked.answer, asked.summary) == (True, AnswerKind.RESUME, "shell(ls)")


@both
def test_a_person_denies(door: str, live: AgentStepperCore, person: Person) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError, match="Not today"):
            await call(dbg, Approval("It deletes files."))
        with pytest.raises(ToolDeniedError, match="Nor any other"):
            async with dbg.llm("p"):
                raise AssertionError("unreachable")

    where: Any = SimpleNamespace(port=live.client_port)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, door, where, scenario, mode="continue")
        person.halted()
        person.halt()
        person.deny("Not today.")
        person.deny("Nor any other day.")
        working.result(PATIENCE)
    assert person.over().ending is Ending.FINISHED
    denied = [row.reason for row in person.rows() if row.reason]
    assert denied == ["Not today.", "Nor any other day."]


@both
def test_whoever_is_first_the_agent_does_what_is_recorded(
    door: str, live: AgentStepperCore, person: Person
) -> None:
    rounds = 20
    waits, decided = Queue[Approval](), Queue[str]()

    async def scenario(dbg: Any) -> None:
        for _ in range(rounds):
            approval = Approval("It deletes files.")
            approval.on_waiting = partial(waits.put, approval)
            try:
                decided.put(await call(dbg, approval, "as it was"))
            except ToolDeniedError as error:
                decided.put(str(error))

    def elsewhere(approval: Approval, turn: int, together: threading.Barrier) -> None:
        together.wait(PATIENCE)
        if turn % 2:
            approval.approve("edited there")
        else:
            approval.deny("denied there")

    where: Any = SimpleNamespace(port=live.client_port)
    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(run, door, where, scenario, mode="continue")
        acted = []
        for turn in range(rounds):
            together = threading.Barrier(2)
            other = pool.submit(elsewhere, waits.get(timeout=PATIENCE), turn, together)
            person.halted()
            together.wait(PATIENCE)
            first = person.tries(*((person.deny, "denied here") if turn % 3 else (person.approve,)))
            other.result(PATIENCE)
            acted.append(decided.get(timeout=PATIENCE))
            assert (acted[-1] in ("denied here", "as it was")) == first
            person.until(lambda run: not run.pending)
        working.result(PATIENCE)
    person.over()
    asked = [row for row in person.rows() if row.approval]
    recorded = [row.reason or ("edited there" if row.edited else "as it was") for row in asked]
    assert recorded == acted
