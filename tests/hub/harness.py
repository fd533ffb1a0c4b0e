"""A hub in this thread, with agents and UIs of version 2 that are scripted, and no sockets."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from agentstepper_nb.hub import AccessRights, Hub
from agentstepper_nb.hub.agent_liveness import AgentLiveness, FindProcess
from agentstepper_nb.hub.connection import NO_CONTROL
from agentstepper_nb.hub.limits import DEFAULT_HUB_LIMITS, HubLimits
from agentstepper_nb.hub.process_info import ProcessInfo
from agentstepper_nb.store import MemoryStore, Store

#: Seconds after which a test that waits for what never comes fails.
TIMEOUT_S: Final = 30
MACHINE: Final = ("box", "boot")

Json = Any


class FakeConnection:
    """A connection that keeps what was sent, and tells when something is."""

    def __init__(self) -> None:
        self.sent: list[Json] = []
        self.closed_with: tuple[int, str] | None = None
        self._was_sent = asyncio.Event()

    def send(self, text: str) -> None:
        self.sent.append(json.loads(text))
        self._was_sent.set()

    def close(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)

    async def receive(self, type: str, **fields: Json) -> Json:
        """Wait for a message whose body has these fields; it and those before it are taken."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                for at, message in enumerate(self.sent):
                    body = message["body"]
                    if message["type"] == type and fields.items() <= body.items():
                        del self.sent[: at + 1]
                        return body
                self._was_sent.clear()
                await self._was_sent.wait()

    def take_bodies(self, type: str) -> list[Json]:
        """The bodies of all that came of one kind; the rest is dropped."""
        sent, self.sent = self.sent, []
        return [message["body"] for message in sent if message["type"] == type]


class ScriptedAgent:
    """A program that keeps what it sent, and can connect again.

    Args:
        run: Its run.
        pid: Its process on `MACHINE`.
        rights: What its connection may.
    """

    def __init__(
        self, run: str = "r", pid: int = 7, rights: AccessRights = NO_CONTROL, **hello: Json
    ) -> None:
        self.run, self.rights = run, rights
        self.hello = {"version": 2, "sdk": "t", "program": "P", "run": run, "secret": "s"}
        self.hello |= {"pid": pid, "host": MACHINE[0], "boot": MACHINE[1]} | hello
        self.sent_texts: list[str] = []  # message 2 comes first: hello is number 1
        self.acknowledged = 0

    async def connect(self, hub: Hub, **fields: Json) -> Json:
        """Open a connection and say hello: the answer."""
        self.connection = FakeConnection()
        self.session = hub.connect_agent(self.connection, 2, self.rights)
        if self.sent_texts:
            fields = {"sent": 1 + len(self.sent_texts), "acknowledged": self.acknowledged} | fields
        hello = {"n": 1, "type": "hello", "body": self.hello | fields}
        self.session.receive(json.dumps(hello))
        answer = await self.connection.receive(await self._wait_for_first_message())
        return answer

    async def _wait_for_first_message(self) -> str:
        async with asyncio.timeout(TIMEOUT_S):
            while not self.connection.sent:
                self.connection._was_sent.clear()
                await self.connection._was_sent.wait()
        return str(self.connection.sent[0]["type"])

    def send(self, type: str, _id: str | None = None, **body: Json) -> None:
        n = 2 + len(self.sent_texts)
        named = {} if _id is None else {"id": _id}
        self.sent_texts.append(json.dumps({"n": n, "type": type, "body": body} | named))
        self.session.receive(self.sent_texts[-1])

    def resend_after(self, after: int) -> None:
        """Send again all that follows a number."""
        for text in self.sent_texts[max(0, after - 1) :]:
            self.session.receive(text)

    def begin(self, id: str, kind: str = "llm_query", **fields: Json) -> None:
        self.send("event", **{"id": id, "kind": kind, "at": 1.0, "clock": 1.0} | fields)

    def reach(self, id: str, data: Json = "hi", event: str | None = None, **fields: Json) -> None:
        """Reach the begin of an event, which waits; the event begins with it unless it is named."""
        if event is None:
            self.begin(event := f"e-{id}")
        point = {"id": id, "event": event, "side": "begin", "waits": True, "at": 1.0}
        self.send("breakpoint", **point | {"clock": 1.0, "data": data} | fields)

    def send_bye(self, ending: str = "finished", **fields: Json) -> None:
        self.send("bye", ending=ending, **fields)

    def disconnect(self) -> None:
        self.session.on_closed()


class ScriptedView:
    """A UI that has said hello."""

    def __init__(self, hub: Hub, control: bool = True) -> None:
        self.connection = FakeConnection()
        self.session = hub.connect_view(self.connection, 2, AccessRights(control))
        self._sent = 0
        self.send_command("hello", version=2, client="t")

    def send_command(self, type: str, /, **body: Json) -> str:
        self._sent += 1
        id = f"c{self._sent}"
        command = {"n": self._sent, "type": type, "id": id, "body": body}
        self.session.receive(json.dumps(command))
        return id

    async def request(self, type: str, /, **body: Json) -> Json:
        """Give a command: the whole answer. What was told before it stays in the line."""
        return await self.wait_for_answer(self.send_command(type, **body))

    async def wait_for_answer(self, id: str) -> Json:
        """The whole answer to a command that was given."""
        async with asyncio.timeout(TIMEOUT_S):
            while not (found := [each for each in self.connection.sent if each.get("id") == id]):
                self.connection._was_sent.clear()
                await self.connection._was_sent.wait()
        self.connection.sent.remove(found[0])
        return found[0]


class FakeMachine:
    """The processes of this machine, as a test wants them, and a clock that only moves when told."""

    def __init__(self) -> None:
        self.processes: dict[int, ProcessInfo] = {7: ProcessInfo(started_at=900.0)}
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    def find_process(self, pid: int) -> ProcessInfo | None:
        return self.processes.get(pid)


async def open_hub(
    store: Store | None = None,
    machine: FakeMachine | None = None,
    limits: HubLimits = DEFAULT_HUB_LIMITS,
) -> Hub:
    """A hub that has started, whose processes are the machine's."""
    machine = machine or FakeMachine()
    hub = Hub(store or MemoryStore(), clock=machine.clock, extensions=(), limits=limits)
    look: FindProcess = machine.find_process
    hub.agent_liveness = AgentLiveness(hub, MACHINE, look)
    await hub.start()
    return hub


async def start_run(hub: Hub, run: str = "r", text: str = "hello") -> ScriptedAgent:
    """A run with a query that is pending, a debug message and a commit."""
    agent = ScriptedAgent(run=run)
    await agent.connect(hub)
    agent.begin("said", kind="debug_message", data="look here")
    agent.reach("b", text)
    body = {"diff": "d", "content": "c", "previous_content": "p"}
    change = {"path": "a.py", "kind": "added", "added": 1, "body": body}
    agent.send("commit", id="k", at=1.0, title="Change a", ruled=True, changes=[change])
    await hub.wait_recorded()
    return agent
