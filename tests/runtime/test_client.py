"""Programs that control agents: what they ask, what they wait for, and what becomes of it."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, Struct

from agentstepper_nb import Agents, AsyncAgents, discover
from agentstepper_nb.errors import CommandError, ConnectionLostError, DiscoveryError
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.hub.runtime import MethodRight, RuntimeService
from agentstepper_nb.protocol.runtime import (
    ActionKind,
    ActionStatus,
    Delivery,
    ParticipantRole,
    SenderType,
    SessionStatus,
)
from agentstepper_nb.rpc.session import RpcService
from tests.helpers.core_announcement import announce_core
from tests.hub.runtime.harness import open_harness
from tests.runtime.manual_worker import ManualWorker
from tests.worker.cores import WorkerPortCore


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is found."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    for name in ("URL", "TOKEN", "CONTROL_TOKEN"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
    return tmp_path


@pytest.fixture
def core(home: Path) -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", 0, None, data=home / "data") as core:
        yield core


@pytest.fixture
def manual_worker(core: AgentStepperCore) -> ManualWorker:
    return ManualWorker(core)


@pytest.fixture
def agents(core: AgentStepperCore) -> Iterator[Agents]:
    with Agents.connect(core.url(core.client_port)) as agents:
        yield agents


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    """For what waits meanwhile."""
    with ThreadPoolExecutor(4) as pool:
        yield pool


def refused(code: str) -> Any:
    return pytest.raises(CommandError, check=lambda error: error.code == code)


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "agentstepper-agents"]


# ---- asking -----------------------------------------------------------------------------------------


def test_creating_and_steering(agents: Agents, manual_worker: ManualWorker) -> None:
    session = agents.create_agent(
        "a1", "joke", {"subject": "loops"}, max_steps=9, retries=2, urgency=3, step=True
    )
    state = agents.state(session)
    assert (state.agent_id, state.moniker, state.config) == ("a1", "joke", {"subject": "loops"})
    assert (state.limits.max_steps, state.limits.retries, state.step) == (9, 2, True)
    assert manual_worker.finish_next_action().session_id == session
    asked = [
        agents.pause(session_id=session),
        agents.resume(agent_id="a1"),
        agents.interrupt("Shorter.", session_id=session, urgency=7),
        agents.send_input("Hello.", agent_id="a1"),
        agents.destroy(session_id=session, timeout_s=2),
    ]
    kinds = [action.kind for action in asked]
    assert kinds == [*ActionKind][1:3] + [*ActionKind][3:5] + [ActionKind.DESTROY]
    assert {action.session_id for action in asked} == {session}
    assert [action.payload for action in asked[2:]] == [
        {"guidance": "Shorter."},
        {"text": "Hello.", "message_id": None},
        {"timeout_s": 2.0},
    ]
    assert asked[2].urgency == 7
    (created,) = agents.actions(kind="agent_create", status="done")
    assert created.status is ActionStatus.DONE
    assert len(agents.actions(session_id=session)) == 6
    assert agents.actions(id=asked[0].id) == asked[:1]
    assert agents.actions(limit=1, offset=1) == asked[:1]


def test_limits_of_a_session_are_stored(agents: Agents) -> None:
    session = agents.create_agent("ann", "joke", max_runtime_s=60, step_timeout_s=2.5)
    limits = agents.state(session).limits
    assert (limits.max_runtime_s, limits.step_timeout_s) == (60, 2.5)
    assert agents.state(agents.create_agent("bob", "joke")).limits.step_timeout_s is None
    with refused("invalid_message"):
        agents.create_agent("cid", "joke", step_timeout_s=0)


def test_a_session_is_created_once(agents: Agents) -> None:
    assert agents.create_agent("a1", "joke", session_id="mine") == "mine"
    assert agents.create_agent("a1", "joke", session_id="mine") == "mine"
    assert [state.session_id for state in agents.states(agent_id="a1")] == ["mine"]
    assert len(agents.actions()) == 1


def test_reading_steps(agents: Agents, manual_worker: ManualWorker) -> None:
    session = agents.create_agent("a1", "joke", session_id="s1")
    manual_worker.finish_next_action()
    for number in range(4):
        manual_worker.step(session, f"step {number}")

    def texts(steps: Any) -> list[str | None]:
        return [step.text for step in steps]

    assert texts(agents.list_agent_steps(session)) == [f"step {n}" for n in range(4)]
    between = agents.list_agent_steps(agent_id="a1", min_iteration=1, max_iteration=2)
    assert texts(between) == ["step 1", "step 2"]
    assert texts(agents.list_agent_steps(session, limit=1, offset=3)) == ["step 3"]
    assert agents.list_agent_steps(session, status="error") == []
    assert agents.list_agent_steps(session, since_created_at=between[0].created_at)[0] == between[0]
    assert texts(agents.list_agent_steps_since_iteration(session, 2)) == ["step 3"]
    assert texts(agents.list_agent_steps_latest(agent_id="a1")) == ["step 3"]
    (listed,) = agents.list_sessions_for_agent("a1")
    assert (listed.session_id, listed.iteration) == (session, 4)
    assert [state.session_id for state in agents.states(status=["running", "paused"])] == ["s1"]
    assert agents.states(status="done") == []


def test_talking(agents: Agents) -> None:
    talk = agents.create_conversation("Plans", created_by="ada", tags=["x"])
    assert agents.create_conversation(conversation_id=talk.conversation_id) == talk
    session = agents.create_agent("a1", "joke", conversation_id=talk.conversation_id)
    joined = agents.join(talk.conversation_id, user_id="bob", role="observer", delivery="pull")
    assert (joined.role, joined.delivery) == (ParticipantRole.OBSERVER, Delivery.PULL)
    said = agents.post(talk.conversation_id, "Hello.", "ada", {"x": 1})
    assert (said.sender_type, said.text, said.data) == (SenderType.USER, "Hello.", {"x": 1})
    (told,) = agents.actions(kind="agent_input")
    assert (told.session_id, told.payload["text"]) == (session, "Hello.")
    messages = agents.messages(talk.conversation_id)
    assert messages[-1] == said
    assert agents.messages(talk.conversation_id, after=said.message_id) == []
    assert agents.leave(talk.conversation_id, joined.participant_id).left_at is not None
    everybody = agents.participants(talk.conversation_id)
    here = agents.participants(talk.conversation_id, present_only=True)
    assert len(everybody) == len(here) + 1
    closed = agents.set_conversation(talk.conversation_id, status="closed", title="Old", tags=[])
    assert (closed.title, closed.tags) == ("Old", ())
    assert agents.conversations(status="closed") == [closed]
    assert agents.conversations(tag="x") == []
    with refused("conversation_closed"):
        agents.post(talk.conversation_id, "Anybody?")


def test_a_session_that_pulls_is_given_what_it_hasnt_read(agents: Agents) -> None:
    talk = agents.create_conversation("Plans").conversation_id
    session = agents.create_agent("a1", "joke", conversation_id=talk, delivery="pull")
    first, second = (agents.post(talk, text) for text in ("one", "two"))
    assert agents.actions(kind="agent_input") == []
    assert agents.unread(session, talk, limit=1) == [first]  # and not that it has joined
    assert agents.unread(session, talk) == [first, second]
    agents.mark_read(session, talk, first.message_id)
    assert agents.unread(session, talk) == [second]
    agents.mark_read(session, talk, second.message_id)
    agents.mark_read(session, talk, first.message_id)
    assert agents.unread(session, talk) == []
    with refused("unknown_message_id"):
        agents.mark_read(session, talk, "nobody's")
    with refused("unknown_session"):
        agents.mark_read("nobody", talk, first.message_id)


def test_what_is_refused_is_said(agents: Agents) -> None:
    with refused("unknown_session") as caught:
        agents.state("never")
    assert "'never'" in caught.value.message
    with refused("unknown_agent"):
        agents.pause(agent_id="never")
    with refused("invalid_message") as caught:
        agents.create_agent("a1", "joke", max_steps=0)
    assert "max_steps" in caught.value.message
    with pytest.raises(ValueError, match="'loud' isn't a Delivery: choose one of push, pull"):
        agents.create_agent("a1", "joke", delivery="loud")
    with refused("unknown_topic"):
        next(iter(agents.watch("weather")))


# ---- watching ---------------------------------------------------------------------------------------


def test_watching(agents: Agents, manual_worker: ManualWorker) -> None:
    session = agents.create_agent("a1", "joke")
    notices = agents.watch(f"session:{session}")
    first = next(notices)
    assert (first.event, [state.session_id for state in first.states]) == ("begin", [session])
    manual_worker.finish_next_action()
    manual_worker.step(session, "told")
    for notice in notices:
        if notice.event == "step":
            assert [step.text for step in notice.steps] == ["told"]
            break
    assert notice.n > first.n
    notices.close()  # type: ignore[attr-defined]
    assert agents.state(session).iteration == 1


def test_waiting_for_a_session(
    agents: Agents, manual_worker: ManualWorker, aside: ThreadPoolExecutor
) -> None:
    session = agents.create_agent("a1", "joke")
    wait = agents.wait_for
    waiting = [
        aside.submit(wait, session, iteration=2),
        aside.submit(wait, session, status="paused"),
        aside.submit(wait, session, lambda state: state.iteration == 1),
        aside.submit(wait, session, status=["running", "done"], iteration=1),
    ]
    watching = [agents.watch(f"session:{session}") for _ in range(1)]
    assert next(watching[0]).event == "begin"
    manual_worker.finish_next_action()
    manual_worker.step(session)
    assert waiting[2].result().iteration == 1
    assert waiting[3].result().status is SessionStatus.RUNNING
    manual_worker.step(session)
    assert waiting[0].result().iteration == 2
    manual_worker.set_status(session, SessionStatus.PAUSED)
    assert waiting[1].result().status is SessionStatus.PAUSED
    assert wait(session, status="paused").iteration == 2  # at once


def test_waiting_in_vain(agents: Agents, manual_worker: ManualWorker) -> None:
    session = agents.create_agent("a1", "joke")
    with pytest.raises(TimeoutError, match="Timed out after 0 s"):
        agents.wait_for(session, status="done", timeout=0)
    manual_worker.finish_next_action()
    manual_worker.set_status(session, SessionStatus.ERROR, "It broke.")
    with refused("session_over") as caught:
        agents.wait_for(session, status="done")
    assert caught.value.message.endswith(
        "is error after 0 steps, so that the wait can't succeed. It broke."
    )
    with refused("unknown_session"):
        agents.wait_for("never", status="done")


# ---- the connection ---------------------------------------------------------------------------------


def test_it_is_found(core: AgentStepperCore) -> None:
    with pytest.raises(DiscoveryError, match="Start `agentstepper serve`, or JupyterLab"):
        Agents.connect()
    url = core.url(core.client_port)
    file = announce_core(core)
    with Agents.connect() as agents:
        assert agents.url == f"{url}/runtime"
        assert agents.states() == []
    discover.remove_core_info(file)


def test_where_there_is_none_or_it_asks_for_a_token(core: AgentStepperCore) -> None:
    url = core.url(core.client_port)
    core.stop()
    with pytest.raises(ConnectionLostError, match="can't be reached: "):
        Agents.connect(url)
    with AgentStepperCore("127.0.0.1", 0, None, control_token="secret") as guarded:
        with pytest.raises(
            ConnectionLostError, match=r"\(401\): unauthorized: send the control token"
        ):
            Agents.connect(guarded.url(guarded.client_port), "wrong")
        with Agents.connect(guarded.url(guarded.client_port), "secret") as agents:
            assert agents.states() == []
    assert threads() == []


def test_a_call_waits_for_a_core_that_starts_again(
    core: AgentStepperCore, agents: Agents, aside: ThreadPoolExecutor
) -> None:
    session = agents.create_agent("a1", "joke")
    notices = agents.watch("sessions")
    assert next(notices).event == "begin"
    core.stop()
    asked = aside.submit(agents.state, session)
    core.start()
    assert asked.result().session_id == session
    again = next(notices)
    assert (again.event, [state.session_id for state in again.states]) == ("begin", [session])


def test_a_core_that_stays_away(core: AgentStepperCore) -> None:
    with Agents.connect(core.url(core.client_port), timeout_s=0.05) as agents:
        core.stop()
        with pytest.raises(ConnectionLostError, match=r"is away: .* Start the Core again"):
            for _ in range(3):  # the first may break off before it knows
                agents.states()
        assert threads()
    assert threads() == []


async def test_what_was_said_as_the_connection_broke_is_said_once() -> None:
    """The post is kept, and its answer gets lost."""

    async with open_harness() as table:
        await table.conversation()
        lossy = LostFirstAnswer(RuntimeService(table.runtime, MethodRight.CONTROL), "say")
        async with WorkerPortCore({"runtime": lossy}) as core:
            async with AsyncAgents.connect(core.endpoint.url) as agents:
                post = asyncio.create_task(agents.post("c", "Once."))
                await lossy.done.wait()
                core.sessions[-1].connection.close(1001, "The Core is stopping.")
                said = await post
                assert [said] == await agents.messages("c")
                await agents.post("c", "Once.")  # another time is another one
                assert len(await agents.messages("c")) == 2
            with pytest.raises(ConnectionLostError, match="Connect again"):
                await agents.states()


class LostFirstAnswer:
    """A service whose first answer to a method never comes, though it was done.

    Attributes:
        done: Set once it was.
    """

    def __init__(self, service: RpcService, method: str) -> None:
        self.done = asyncio.Event()
        self._service = service
        self._method = method

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

    async def call(self, method: str, params: Raw) -> Struct | None:
        answer = await self._service.call(method, params)
        if method == self._method and not self.done.is_set():
            self.done.set()
            await asyncio.Event().wait()
        return answer


# ---- the thread -------------------------------------------------------------------------------------


def test_in_a_notebook_where_a_loop_runs(core: AgentStepperCore) -> None:
    async def cell() -> None:
        with Agents.connect(core.url(core.client_port)) as agents:
            assert agents.states() == []
        agents = await AsyncAgents.connect(core.url(core.client_port))
        async with agents:
            assert await agents.states() == []

    asyncio.run(cell())
    assert threads() == []


@pytest.mark.slow
def test_it_ends_with_close_and_with_the_last_reference(core: AgentStepperCore) -> None:
    connect: Callable[[], Agents] = lambda: Agents.connect(core.url(core.client_port))  # noqa: E731
    agents = connect()
    notices = agents.watch("sessions")
    next(notices)
    agents.close()
    agents.close()
    with pytest.raises(RuntimeError, match="Connect again"):
        next(notices)
    with pytest.raises(RuntimeError, match="Connect again"):
        agents.states()
    gone = weakref.ref(agents)
    del agents, notices
    gc.collect()
    assert gone() is None
    unclosed = connect()
    assert threads()
    del unclosed
    gc.collect()
    assert threads() == []


FORKED = """
import os, sys
from agentstepper_nb import Agents

agents = Agents.connect(sys.argv[1])
child = os.fork()
if child == 0:
    try:
        agents.states()
    except RuntimeError as error:
        assert "fork" in str(error)
        with Agents.connect(sys.argv[1]) as own:
            assert own.states() == []
        sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
assert agents.states() == []
"""


@pytest.mark.slow
def test_a_fork_leaves_it_behind_and_a_process_ends_without_close(core: AgentStepperCore) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED, core.url(core.client_port)]
    file = announce_core(core)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    discover.remove_core_info(file)
    assert (done.returncode, done.stderr) == (0, "")
