"""A hub in this thread, with agents and UIs of version 2 that are scripted, and no sockets."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from agentstepper_nb.hub import AccessRights, Hub
from agentstepper_nb.hub.agent_liveness import AgentLiveness, FindProcess
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
        self._spoke = asyncio.Event()

    def send(self, text: str) -> None:
        self.sent.append(json.loads(text))
        self._spoke.set()

    def close(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)

    async def expect(self, type: str, **fields: Json) -> Json:
        """Wait for a message whose body has these fields; it and those before it are taken."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                for at, message in enumerate(self.sent):
                    body = message["body"]
                    if message["type"] == type and fields.items() <= body.items():
                        del self.sent[: at + 1]
                        return body
                self._spoke.clear()
                await self._spoke.wait()

    def take(self, type: str) -> list[Json]:
        """The bodies of all that came of one kind; the rest is dropped."""
        sent, self.sent = self.sent, []
        return [message["body"] for message in sent if message["type"] == type]


class Agent:
    """A program that keeps what it sent, and can connect again.

    Args:
        run: Its run.
        pid: Its process on `MACHINE`.
    """

    def __init__(self, run: str = "r", pid: int = 7, **hello: Json) -> None:
        self.run = run
        self.hello = {"version": 2, "sdk": "t", "program": "P", "run": run, "secret": "s"}
        self.hello |= {"pid": pid, "host": MACHINE[0], "boot": MACHINE[1]} | hello
        self.said: list[str] = []  # message 2 comes first: hello is number 1
        self.acknowledged = 0

    async def connect(self, hub: Hub, **fields: Json) -> Json:
        """Open a connection and say hello: the answer."""
        self.line = FakeConnection()
        self.session = hub.connect_agent(self.line, 2)
        if self.said:
            fields = {"sent": 1 + len(self.said), "acknowledged": self.acknowledged} | fields
        hello = {"n": 1, "type": "hello", "body": self.hello | fields}
        self.session.receive(json.dumps(hello))
        answer = await self.line.expect(await self._answered())
        return answer

    async def _answered(self) -> str:
        async with asyncio.timeout(TIMEOUT_S):
            while not self.line.sent:
                self.line._spoke.clear()
                await self.line._spoke.wait()
        return str(self.line.sent[0]["type"])

    def say(self, type: str, _id: str | None = None, **body: Json) -> None:
        n = 2 + len(self.said)
        named = {} if _id is None else {"id": _id}
        self.said.append(json.dumps({"n": n, "type": type, "body": body} | named))
        self.session.receive(self.said[-1])

    def again(self, after: int) -> None:
        """Send again all that follows a number."""
        for text in self.said[max(0, after - 1) :]:
            self.session.receive(text)

    def begin(self, id: str, kind: str = "llm_query", **fields: Json) -> None:
        self.say("event", **{"id": id, "kind": kind, "at": 1.0, "clock": 1.0} | fields)

    def reach(self, id: str, data: Json = "hi", event: str | None = None, **fields: Json) -> None:
        """Reach the begin of an event, which waits; the event begins with it unless it is named."""
        if event is None:
            self.begin(event := f"e-{id}")
        point = {"id": id, "event": event, "side": "begin", "waits": True, "at": 1.0}
        self.say("breakpoint", **point | {"clock": 1.0, "data": data} | fields)

    def bye(self, ending: str = "finished", **fields: Json) -> None:
        self.say("bye", ending=ending, **fields)

    def hang_up(self) -> None:
        self.session.on_closed()


class Person:
    """A UI that has said hello."""

    def __init__(self, hub: Hub, control: bool = True) -> None:
        self.line = FakeConnection()
        self.session = hub.connect_view(self.line, 2, AccessRights(control))
        self._sent = 0
        self.give("hello", version=2, client="t")

    def give(self, type: str, **body: Json) -> str:
        self._sent += 1
        id = f"c{self._sent}"
        command = {"n": self._sent, "type": type, "id": id, "body": body}
        self.session.receive(json.dumps(command))
        return id

    async def command(self, type: str, **body: Json) -> Json:
        """Give a command: the whole answer. What was told before it stays in the line."""
        return await self.answer(self.give(type, **body))

    async def answer(self, id: str) -> Json:
        """The whole answer to a command that was given."""
        async with asyncio.timeout(TIMEOUT_S):
            while not (found := [each for each in self.line.sent if each.get("id") == id]):
                self.line._spoke.clear()
                await self.line._spoke.wait()
        self.line.sent.remove(found[0])
        return found[0]


class Machine:
    """The processes of this machine, as a test wants them, and a clock that only moves when told."""

    def __init__(self) -> None:
        self.processes: dict[int, ProcessInfo] = {7: ProcessInfo(started_at=900.0)}
        self.now = 1000.0

    def clock(self) -> float:
        return self.now

    def look(self, pid: int) -> ProcessInfo | None:
        return self.processes.get(pid)


async def open_hub(store: Store | None = None, machine: Machine | None = None) -> Hub:
    """A hub that has started, whose processes are the machine's."""
    machine = machine or Machine()
    hub = Hub(store or MemoryStore(), clock=machine.clock, extensions=())
    look: FindProcess = machine.look
    hub.agent_liveness = AgentLiveness(hub, MACHINE, look)
    await hub.start()
    return hub


async def a_run(hub: Hub, run: str = "r", text: str = "hello") -> Agent:
    """A run with a query that is pending, a debug message and a commit."""
    agent = Agent(run=run)
    await agent.connect(hub)
    agent.begin("said", kind="debug_message", data="look here")
    agent.reach("b", text)
    body = {"diff": "d", "content": "c", "previous_content": "p"}
    change = {"path": "a.py", "kind": "added", "added": 1, "body": body}
    agent.say("commit", id="k", at=1.0, title="Change a", ruled=True, changes=[change])
    await hub.wait_recorded()
    return agent
