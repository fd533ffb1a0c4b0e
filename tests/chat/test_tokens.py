"""Tokens of chat sessions: what they are made for, and which are refused."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest

from agentstepper_nb.chat.remote.key_file import KEYS_FILE
from agentstepper_nb.chat.remote.tokens import AUDIENCE, LEEWAY_S, MAX_EXPIRES_IN_S, ChatTokens
from agentstepper_nb.errors import CommandError, ProtocolError
from tests.chat.harness import HOUR, NONE, signing_key, token_refusal, tokens_at


def encoded(part: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def decoded(token: str, part: int) -> dict[str, Any]:
    text = token.split(".")[part]
    return dict(json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))))


def test_a_token_is_for_one_session(chat_tokens: ChatTokens) -> None:
    token = chat_tokens.issue("s1", ("watch", "talk"), 60)
    grant = chat_tokens.check(token)
    assert (grant.session_id, grant.scope, grant.agent_name) == ("s1", {"watch", "talk"}, None)
    assert grant.expires_at - LEEWAY_S - decoded(token, 1)["nbf"] in (60, 61)
    assert decoded(token, 0)["alg"] == "HS256"
    assert set(decoded(token, 1)) == {"iss", "aud", "sub", "jti", "nbf", "iat", "exp", "scope"}
    assert chat_tokens.check(chat_tokens.issue("s1")).id != grant.id


def test_an_agents_token_names_it(chat_tokens: ChatTokens) -> None:
    grant = chat_tokens.check(chat_tokens.issue("s1", "answer", agent_name="poet"))
    assert (grant.scope, grant.agent_name) == ({"answer"}, "poet")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"session_id": ""}, "session"),
        ({"session_id": "x" * 201}, "session"),
        ({"scope": ()}, "scope"),
        ({"scope": ("talk", "rule")}, "scope"),
        ({"scope": ("answer",)}, "agent_name"),
        ({"scope": ("talk",), "agent_name": "poet"}, "agent_name"),
        ({"scope": ("answer",), "agent_name": ""}, "agent_name"),
        ({"scope": ("answer",), "agent_name": "x" * 101}, "agent_name"),
        ({"expires_in_s": 0}, "expires_in_s"),
        ({"expires_in_s": -1.0}, "expires_in_s"),
        ({"expires_in_s": MAX_EXPIRES_IN_S + 1}, "expires_in_s"),
        ({"expires_in_s": float("nan")}, "expires_in_s"),
    ],
)
def test_what_no_token_is_made_for(
    chat_tokens: ChatTokens, tmp_path: Path, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(ProtocolError) as caught:
        chat_tokens.issue(**{"session_id": "s1", **given})
    assert (caught.value.code, caught.value.field) == ("invalid_message", field)
    assert not (tmp_path / KEYS_FILE).exists()


# ---- INV-SESSION-002: a session is entered by a good token of its own alone --------------------------


@pytest.mark.parametrize(("off", "why"), [(-2 * HOUR, "has expired"), (HOUR, "isn't valid yet")])
def test_inv_session_002_a_token_out_of_its_time_is_refused(
    chat_tokens: ChatTokens, tmp_path: Path, off: float, why: str
) -> None:
    """A session is entered by a good token of its own alone: not after its time, nor before it."""
    assert (
        token_refusal(chat_tokens, tokens_at(tmp_path, off).issue("s1", expires_in_s=HOUR)) == why
    )


def test_inv_session_002_a_foreign_token_is_refused(
    chat_tokens: ChatTokens, tmp_path: Path
) -> None:
    """A session is entered by a good token of its own alone: not by another installation's, nor where
    its key were named as one of ours, or had got hold of our key's name and none of its content.
    """
    mine = chat_tokens.issue("s1")
    foreign = ChatTokens(tmp_path / "elsewhere").issue("s1")
    assert token_refusal(chat_tokens, foreign) == NONE
    renamed = jwt.encode(
        decoded(mine, 1), b"x" * 32, "HS256", headers={"kid": decoded(mine, 0)["kid"]}
    )
    assert token_refusal(chat_tokens, renamed) == NONE
    assert token_refusal(ChatTokens(tmp_path / "without keys"), mine) == NONE


@pytest.mark.parametrize(
    "changed",
    [
        {"sub": "s2"},
        {"scope": "watch talk answer"},
        {"exp": 2**40},
        {"agent": "coder"},
        {"jti": "another"},
    ],
)
def test_inv_session_002_an_altered_token_is_refused(
    chat_tokens: ChatTokens, changed: dict[str, Any]
) -> None:
    """A session is entered by a good token of its own alone: not by one whose bearer wrote in it."""
    head, _, signature = (token := chat_tokens.issue("s1", "watch")).split(".")
    altered = f"{head}.{encoded(decoded(token, 1) | changed)}.{signature}"
    assert token_refusal(chat_tokens, altered) == NONE


def test_inv_session_002_other_ways_of_signing_are_refused(
    chat_tokens: ChatTokens, tmp_path: Path
) -> None:
    """A session is entered by a good token of its own alone: not unsigned, and not signed in a way that
    it chooses itself, were it by the right key.
    """
    token = chat_tokens.issue("s1")
    head, claims = decoded(token, 0), decoded(token, 1)
    for none in ("none", "None", "NONE"):
        assert (
            token_refusal(chat_tokens, f"{encoded(head | {'alg': none})}.{encoded(claims)}.")
            == NONE
        )
    for algorithm in ("HS384", "HS512"):
        with_key = jwt.encode(
            claims, signing_key(tmp_path) * 2, algorithm, headers={"kid": head["kid"]}
        )
        assert token_refusal(chat_tokens, with_key) == NONE
    signature = token.rpartition(".")[2]
    for algorithm in ("RS256", "ES256", "PS256", "HS512", ""):
        said = f"{encoded(head | {'alg': algorithm})}.{encoded(claims)}.{signature}"
        assert token_refusal(chat_tokens, said) == NONE


@pytest.mark.parametrize(
    "wrong",
    [
        *({claim: None} for claim in ("exp", "iat", "nbf", "iss", "aud", "sub", "jti", "scope")),
        {"sub": 7},
        {"scope": ["talk"]},
        {"aud": [AUDIENCE, "x"]},
        {"aud": "something else"},
        {"iss": "x"},
        {"exp": "never"},
        {"exp": 1e400},
        {"agent": ""},
    ],
)
def test_inv_session_002_a_token_says_all_that_is_checked_in_the_right_form(
    chat_tokens: ChatTokens, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    """A session is entered by a good token of its own alone: not by one that leaves something out,
    says nonsense, or is for another service.
    """
    token = chat_tokens.issue("s1")
    claims = decoded(token, 1) | wrong
    said = {name: value for name, value in claims.items() if value is not None}
    kid = {"kid": decoded(token, 0)["kid"]}
    odd = jwt.PyJWS().encode(json.dumps(said).encode(), signing_key(tmp_path), "HS256", headers=kid)
    assert token_refusal(chat_tokens, odd) == NONE


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "🔑.🔑.🔑",
        "\ud800.x.y",
        "x" * 1_000_000,
        "." * 4000,
        encoded({"kid": 7, "alg": "HS256"}) + ".e30.x",
        "[" * 4000,
        None,
        7,
        b"a.b.c",
        ["a"],
    ],
    ids=lambda garbage: repr(garbage)[:12],
)
def test_inv_session_002_garbage_is_refused(chat_tokens: ChatTokens, garbage: Any) -> None:
    """A session is entered by a good token of its own alone: not by anything else."""
    chat_tokens.issue("s1")
    assert token_refusal(chat_tokens, garbage) == NONE


@pytest.mark.parametrize("by", ["token", "id"])
def test_inv_session_002_a_revoked_token_is_refused(
    chat_tokens: ChatTokens, tmp_path: Path, by: str
) -> None:
    """A session is entered by a good token of its own alone: not by a revoked one, in no process."""
    token, other = chat_tokens.issue("s1"), chat_tokens.issue("s1")
    chat_tokens.check(token)
    ChatTokens(tmp_path).revoke(token if by == "token" else chat_tokens.check(token).id)
    assert token_refusal(chat_tokens, token) == "was revoked"
    assert chat_tokens.check(other).session_id == "s1"
    with pytest.raises(CommandError, match="was revoked"):
        chat_tokens.revoke(token)


def test_inv_session_002_a_sessions_tokens_are_revoked_together(tmp_path: Path) -> None:
    """A session is entered by a good token of its own alone: not by one that was issued before all of
    them were revoked; what is issued after that, even within the same tick of a clock, counts.
    """
    now = time.time()
    chat_tokens = ChatTokens(tmp_path, clock=lambda: now)
    refused = []
    for _ in range(3):
        refused.append(chat_tokens.issue("s1"))
        assert chat_tokens.check(refused[-1]).session_id == "s1"
        chat_tokens.revoke_session("s1")
        assert {token_refusal(chat_tokens, each) for each in refused} == {"was revoked"}
    assert chat_tokens.check(chat_tokens.issue("s2")).session_id == "s2"


def test_inv_session_002_after_a_rotation(chat_tokens: ChatTokens, tmp_path: Path) -> None:
    """A session is entered by a good token of its own alone: old keys check until what they signed is
    over, and none longer; all they signed is refused at once where that is wanted.
    """
    old = chat_tokens.issue("s1")
    chat_tokens.rotate()
    new = chat_tokens.issue("s1")
    assert decoded(old, 0)["kid"] != decoded(new, 0)["kid"]
    assert chat_tokens.check(old).session_id == chat_tokens.check(new).session_id == "s1"
    chat_tokens.rotate(drop_old=True)
    assert token_refusal(chat_tokens, old) == token_refusal(chat_tokens, new) == NONE
    assert chat_tokens.check(chat_tokens.issue("s1")).session_id == "s1"
