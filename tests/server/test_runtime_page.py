"""What `docs/guide/background-agents.md` says of HTTP."""

from __future__ import annotations

import re

import msgspec

from agentstepper_nb.protocol.error_codes import CODES
from agentstepper_nb.protocol.runtime_requests import (
    AgentSearch,
    NewAction,
    NewConversation,
    NewMessage,
    NewParticipant,
    SetConversation,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionQuery,
    ConversationQuery,
    MessageQuery,
    ParticipantQuery,
    StateQuery,
    StepQuery,
)
from agentstepper_nb.server_ext import runtime_handlers
from tests.docs.pages import GUIDE, blocks
from tests.server.agents import ManualSessions, RuntimeApi

PAGE = GUIDE / "background-agents.md"
TEXT = PAGE.read_text()
#: What a request takes, by its row.
FORMS = {
    "POST actions": NewAction,
    "GET actions": ActionQuery,
    "GET agent-state": StateQuery,
    "GET agent-steps": StepQuery,
    "GET agent-search": AgentSearch,
    "POST conversations": NewConversation,
    "GET conversations": ConversationQuery,
    "PATCH conversations/ID": SetConversation,
    "POST conversations/ID/participants": NewParticipant,
    "GET conversations/ID/participants": ParticipantQuery,
    "POST conversations/ID/messages": NewMessage,
    "GET conversations/ID/messages": MessageQuery,
}
#: Said of all lists together.
ELSEWHERE = {"limit", "offset"}


def rows() -> dict[str, str]:
    """The table of requests: what each takes."""
    found = re.findall(
        r"^\| `(GET|POST|PUT|PATCH|DELETE|GET`, `PATCH) ([^`]+)` \| (.*?) \|", TEXT, re.M
    )
    return {f"{method.split()[-1].strip('`')} {path}": takes for method, path, takes in found}


def test_every_path_is_on_the_page() -> None:
    told = {
        re.sub(r"/(ID|PID|AGENT|SESSION)\b", "/([^/]+)", request.partition(" ")[2])
        for request in rows()
    }
    paths = {
        path.removeprefix("/agentstepper/api/")
        for path, _, _ in runtime_handlers.make_runtime_routes({})
    }
    assert told == paths


def test_every_field_is_on_the_page() -> None:
    for request, form in FORMS.items():
        takes = rows()[request]
        for field in msgspec.structs.fields(form):
            if field.name in ELSEWHERE or (field.name == "conversation_id" and "/ID" in request):
                continue
            name = field.encode_name
            assert re.search(rf"\b{name}\b", takes), (request, name)


def test_every_code_is_known() -> None:
    section = TEXT.partition("## Over HTTP")[2].partition("\n## ")[0]
    codes = re.findall(r"`([a-z]+_[a-z_]+)`", section.partition("Refusals are")[2])
    assert len(codes) > 10
    assert set(codes) <= set(CODES)


async def test_the_example(agents: RuntimeApi, manual_sessions: ManualSessions) -> None:
    (block,) = [block for block in blocks(PAGE) if "curl" in block.text]
    body = re.search(r"-d '(.*?)'", block.text, re.DOTALL)
    query = re.search(r"api/agent-steps\?(\S+)\"", block.text)
    assert body is not None
    assert query is not None
    response = await agents.fetch("POST", "actions", body=body[1])
    assert response.code == 201
    asked = dict(pair.split("=") for pair in query[1].split("&"))
    assert await agents("GET", "agent-steps", **asked) == {"steps": [], "more": False}
