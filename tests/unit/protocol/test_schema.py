"""The files that are made from the protocol are current, and describe what is really sent."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from agentstepper_nb.protocol import schema
from agentstepper_nb.protocol.error_codes import CODES, render_error_page
from agentstepper_nb.protocol.runtime import AgentState
from agentstepper_nb.protocol.runtime_requests import TopicEvent
from tests.unit.protocol.golden_to_agent import TO_AGENT
from tests.unit.protocol.golden_to_ui import TO_UI
from tests.unit.protocol.test_golden_agent import FROM_AGENT
from tests.unit.protocol.test_golden_ui import FROM_UI

ROOT = Path(__file__).parents[3]
DOCUMENTS = schema.build_documents()


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_made_file_is_current(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == DOCUMENTS[path]


@pytest.mark.slow
def test_the_tool_tells_what_is_stale_and_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in DOCUMENTS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    assert schema.main(["--check"]) == 1
    assert "docs/errors.md is stale: run python -m" in capsys.readouterr().out
    assert schema.main([]) == 0
    assert schema.main(["--check"]) == 0


def validator(document: dict[str, Any]) -> type[Any]:
    """What validates by a document's dialect."""
    found: type[Any] = jsonschema.validators.validator_for(document)
    return found


@cache
def load_checked(path: str) -> dict[str, Any]:
    """A document that is a schema: to check it takes most of the time."""
    document: dict[str, Any] = json.loads(DOCUMENTS[path])
    validator(document).check_schema(document)
    return document


def fit(body: Any, ref: str, document: dict[str, Any]) -> None:
    """A body fits a place of a document whose schema was checked."""
    validator(document)({"$ref": ref, "$defs": document["$defs"]}).validate(body)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "side", "golden"),
    [
        ("docs/schema/agent.json", "FromAgent", FROM_AGENT),
        ("docs/schema/agent.json", "ToAgent", TO_AGENT),
        ("js/schema/protocol.json", "FromUi", FROM_UI),
        ("js/schema/protocol.json", "ToUi", TO_UI),
    ],
)
def test_the_golden_messages_fit_the_schema(path: str, side: str, golden: dict[str, Any]) -> None:
    document = load_checked(path)
    for text in golden:
        message = json.loads(text)
        place = document["$defs"][side]["properties"][message["type"]]
        fit(message["body"], place["$ref"], document)


@pytest.mark.slow
def test_what_the_runtime_tells_fits_the_schema() -> None:
    """Its view relies on each field's being there."""
    state = AgentState(agent_id="a", session_id="s", moniker="joke", created_at=1, updated_at=1)
    notice = TopicEvent(topic="sessions", n=1, event="begin", states=(state,))
    document = load_checked("js/schema/runtime.json")
    told = document["$defs"]["RuntimeResultTypes"]["properties"]["watch"]
    body = json.loads(msgspec.json.encode(notice))
    fit(body, told["$ref"], document)
    assert document["$defs"]["AgentState"]["required"] == list(body["states"][0])


def test_every_code_says_what_it_means_and_what_to_do() -> None:
    for code, (means, to_do) in CODES.items():
        section = f"\n## `{code}`\n\n{means}\n\n**What to do:** {to_do}\n"
        assert section in render_error_page()
        assert means.endswith(".")
        assert to_do.endswith(".")
