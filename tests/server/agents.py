"""Agents over HTTP: a client of the endpoints, and a worker's hand that does what a test says."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from msgspec.structs import replace
from tornado.httpclient import HTTPClientError, HTTPResponse

from agentstepper_nb.hub.runtime import Runtime
from agentstepper_nb.protocol.runtime import (
    Action,
    ActionStatus,
    AgentState,
    AgentStep,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionCompletion,
    ClaimAction,
    SessionWrite,
)


class Refusal(NamedTuple):
    """A refusal: its status, its code, and the field that it names."""

    status: int
    code: str
    field: str | None = None


class RuntimeApi:
    """Calls the endpoints.

    Args:
        fetch: Calls the server: a path behind its address, and tornado's arguments.
        base_url: The server's.
        headers: A login.
    """

    def __init__(self, fetch: Any, base_url: str, headers: dict[str, str]) -> None:
        self._fetch = fetch
        self._base_url = base_url
        self._headers = headers

    async def fetch(self, method: str, *path: str, body: Any = None, **query: Any) -> HTTPResponse:
        """Call; a body that is text or bytes is sent as it is."""
        address = self._base_url + "/".join(
            quote(part, safe="") for part in ("agentstepper", "api", *path)
        )
        if query:
            address += "?" + urlencode(query, doseq=True)
        sent: dict[str, Any] = {}
        if method in ("POST", "PATCH", "PUT"):
            sent["body"] = body if isinstance(body, (str, bytes)) else json.dumps(body)
        response: HTTPResponse = await self._fetch(
            address, method=method, headers=dict(self._headers), **sent
        )
        return response

    async def __call__(self, method: str, *path: str, **sent: Any) -> Any:
        """What is answered."""
        response = await self.fetch(method, *path, **sent)
        assert response.headers["Content-Type"].startswith("application/json")
        return json.loads(response.body)

    async def expect_refusal(self, method: str, *path: str, **sent: Any) -> Refusal:
        """How it is refused, with a text that says something."""
        try:
            response = await self.fetch(method, *path, **sent)
        except HTTPClientError as error:
            assert error.response is not None
            answer = json.loads(error.response.body)
            assert answer.keys() - {"field"} == {"code", "message"}
            assert answer["message"]
            return Refusal(error.code, answer["code"], answer.get("field"))
        raise AssertionError(f"{response.code}: it was not refused")

    async def create(self, agent: str, session: str, **payload: Any) -> Any:
        """Create a session of a moniker `m`."""
        action = {
            "kind": "agent_create",
            "agent_id": agent,
            "session_id": session,
            "payload": {"moniker": "m", **payload},
        }
        return await self("POST", "actions", body=action)


class ManualSessions:
    """A worker's hand: it claims one action after the other, and writes what a test says.

    Args:
        runtime: Where it works.
        now: The time that it works at, in POSIX seconds.
    """

    def __init__(self, runtime: Runtime, now: float) -> None:
        self._runtime = runtime
        self.now = now

    async def begin(self, session: str) -> AgentState:
        """Claim what is ready, which has to be the session's creation, and have it run."""
        claim = ClaimAction(owner="hand", now=self.now, lease_until=self.now + 1e6)
        claimed = await self._runtime.claim(claim)
        assert claimed.action is not None
        assert claimed.state is not None
        assert claimed.state.session_id == session
        return await self.write(
            replace(claimed.state, status=SessionStatus.RUNNING), finished=claimed.action
        )

    async def fail(self, session: str) -> None:
        """Claim what is ready, which has to be an action of the session, and fail."""
        claim = ClaimAction(owner="hand", now=self.now, lease_until=self.now + 1e6)
        claimed = await self._runtime.claim(claim)
        assert claimed.action is not None
        assert claimed.state is not None
        assert claimed.state.session_id == session
        failed = ActionCompletion(
            id=claimed.action.id,
            owner="hand",
            status=ActionStatus.FAILED,
            error="it broke",
            processed_at=self.now,
        )
        await self._runtime.write(
            SessionWrite(
                session_id=session, epoch=claimed.state.epoch, owner="hand", finished=(failed,)
            )
        )

    async def write(
        self, state: AgentState, *steps: AgentStep, finished: Action | None = None
    ) -> AgentState:
        """Write a snapshot, steps, and the end of an action."""
        ended = ()
        if finished is not None:
            done = ActionStatus.DONE
            ended = (
                ActionCompletion(id=finished.id, owner="hand", status=done, processed_at=self.now),
            )
        state = replace(state, owner=None, lease_until=None)
        await self._runtime.write(
            SessionWrite(
                session_id=state.session_id,
                epoch=state.epoch,
                owner="hand",
                state=state,
                steps=steps,
                finished=ended,
            )
        )
        return state


def step(state: AgentState, iteration: int, /, **fields: Any) -> AgentStep:
    """A step of a session."""
    fields = {"created_at": 1000.0 + iteration, "status": "running", **fields}
    return AgentStep(
        id=f"{state.session_id}:{iteration}",
        agent_id=state.agent_id,
        session_id=state.session_id,
        iteration=iteration,
        step_token=f"s{iteration}",
        next_step_token=f"s{iteration + 1}",
        **fields,
    )
