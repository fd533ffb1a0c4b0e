"""Queries and bodies as structs."""

from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.protocol.runtime_requests import NewAction, NewMessage
from agentstepper_nb.protocol.runtime_store_messages import MAX_LIMIT, StateQuery, StepQuery
from agentstepper_nb.server_ext.json_errors import JsonHTTPError
from agentstepper_nb.server_ext.request_fields import NoParameters, decode_body, decode_query


def test_a_query() -> None:
    query = {
        "session_id": ["sé/1"],
        "min_iteration": ["3"],
        "since": ["12.5"],
        "latest": ["true"],
        "limit": [str(MAX_LIMIT)],
    }
    expected = StepQuery(
        session_id="sé/1", min_iteration=3, since=12.5, latest=True, limit=MAX_LIMIT
    )
    assert decode_query(query, StepQuery, {}) == expected


def test_no_text_means_none() -> None:
    """Else a filter that was forgotten would list everything."""
    assert decode_query({"session_id": ["null"]}, StepQuery, {}).session_id == "null"
    with pytest.raises(JsonHTTPError):
        decode_query({"min_iteration": ["null"]}, StepQuery, {})


def test_what_takes_several_is_repeated() -> None:
    query = decode_query({"status": ["running", "paused"]}, StateQuery, {})
    assert query == StateQuery(status=("running", "paused"))  # type: ignore[arg-type]


def test_jupyters_own_parameters_are_left_to_it() -> None:
    """A login, its guard, and the time that JupyterLab adds against caches."""
    query = {"token": ["secret"], "_xsrf": ["2|x"], "1700000000000": [""]}
    assert decode_query(query, NoParameters, {}) == NoParameters()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"session": ["s1"]}, "session"),
        ({"session_id": ["a", "b"]}, "session_id"),
        ({"session_id": [""]}, "session_id"),
        ({"session_id": ["x" * 201]}, "session_id"),
        ({"limit": ["0"]}, "limit"),
        ({"limit": ["1001"]}, "limit"),
        ({"limit": ["ten"]}, "limit"),
        ({"limit": [""]}, "limit"),
        ({"offset": ["-1"]}, "offset"),
        ({"offset": [str(2**53)]}, "offset"),
        ({"min_iteration": ["1.5"]}, "min_iteration"),
        ({"since": ["nan"]}, "since"),
        ({"since": ["inf"]}, "since"),
        ({"since": ["-1"]}, "since"),
        ({"since": ["yesterday"]}, "since"),
        ({"latest": ["perhaps"]}, "latest"),
        ({"agent_id": ["a"]}, "agent_id"),  # it stands in the path
    ],
)
def test_a_query_of_another_form_names_its_parameter(query: Any, field: str) -> None:
    with pytest.raises(JsonHTTPError) as caught:
        decode_query(query, StepQuery, {"agent_id": "a"})
    refusal = caught.value
    assert (refusal.status_code, refusal.code, refusal.field) == (400, "invalid_message", field)
    assert field in refusal.message


def test_a_body() -> None:
    body = '{"text": "Grüße", "data": {"a": [1, null]}}'.encode()
    expected = NewMessage(conversation_id="c1", text="Grüße", data={"a": [1, None]})
    assert decode_body(body, NewMessage, {"conversation_id": "c1"}) == expected


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        (b"", "malformed", None),
        (b"{", "malformed", None),
        (b"\xff", "malformed", None),
        (b'{"x": ' + b"[" * 100_000, "malformed", None),
        (b'{"kind": "\\ud800"}', "malformed", None),
        (b"[]", "invalid_message", None),
        (b"null", "invalid_message", None),
        (b"{}", "invalid_message", "kind"),
        (b'{"kind": "agent_fly"}', "invalid_message", "kind"),
        (b'{"kind": "agent_pause", "urgency": "high"}', "invalid_message", "urgency"),
        (b'{"kind": "agent_pause", "urgency": 4294967296}', "invalid_message", "urgency"),
        (b'{"kind": "agent_pause", "agent_id": ""}', "invalid_message", "agent_id"),
        (b'{"kind": "agent_pause", "session": "s1"}', "invalid_message", "session"),
        (b'{"kind": "agent_pause", "session_id": "s2"}', "invalid_message", "session_id"),
    ],
)
def test_a_body_of_another_form_names_its_field(body: bytes, code: str, field: str | None) -> None:
    with pytest.raises(JsonHTTPError) as caught:
        decode_body(body, NewAction, {"session_id": "s1"})
    refusal = caught.value
    assert (refusal.status_code, refusal.code, refusal.field) == (400, code, field)
