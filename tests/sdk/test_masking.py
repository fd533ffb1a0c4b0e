from __future__ import annotations

import json
import os
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb.protocol.data_model import ChangeKind, Commit, FileBody, FileChange
from agentstepper_nb.sdk.json_text import map_strings
from agentstepper_nb.sdk.payload import PayloadEncoder, SecretMask, make_restorer
from agentstepper_nb.sdk.record_payloads import pack_commit
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import ResumeAnswer, ScriptedCore, make_edit_answer

SECRET = "sk-live-0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    monkeypatch.setenv("OTHER_TOKEN", 'quo"ted\\token')
    monkeypatch.setenv("SHORT_KEY", "1234567")
    monkeypatch.setenv("DIGITS_SECRET", "12345678")
    monkeypatch.setenv("HARMLESS", "not-a-secret")


def masked(value: Any) -> Any:
    return json.loads(SecretMask().json(json.dumps(value)))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"use {SECRET}!", "use [masked MY_API_KEY]!"),
        ({"a": [SECRET]}, {"a": ["[masked MY_API_KEY]"]}),
        ({SECRET: 1}, {"[masked MY_API_KEY]": 1}),
        ('quo"ted\\token', "[masked OTHER_TOKEN]"),
        ("1234567 not-a-secret", "1234567 not-a-secret"),
        ({"Authorization": "Bearer abc"}, {"Authorization": "[masked Authorization]"}),
        ({"x-api-key": "abc", "Api_Key": ""}, {"x-api-key": "[masked x-api-key]", "Api_Key": ""}),
        ([["X-Goog-Api-Key", "abc"]], [["X-Goog-Api-Key", "[masked X-Goog-Api-Key]"]]),
        (
            "curl -H 'Authorization: Bearer abcdefgh' -H 'x-api-key: ijklmnop' url",
            "curl -H 'Authorization: Bearer [masked Authorization]' "
            "-H 'x-api-key: [masked x-api-key]' url",
        ),
        (
            '{"Authorization": "Bearer abcdefgh"}',
            '{"Authorization": "Bearer [masked Authorization]"}',
        ),
        ("authorization: required", "authorization: required"),
        ("What is an api-key?", "What is an api-key?"),
        ("api_key = get_the_key()", "api_key = get_the_key()"),
        ({"n": 12345678, "s": "12345678"}, {"n": 12345678, "s": "[masked DIGITS_SECRET]"}),
        (
            {"authorization": "a", "h": {"authorization": "b", "i": {"authorization": "a"}}},
            {
                "authorization": "[masked authorization]",
                "h": {
                    "authorization": "[masked authorization 2]",
                    "i": {"authorization": "[masked authorization]"},
                },
            },
        ),
    ],
)
def test_what_is_masked(value: Any, shown: Any) -> None:
    assert masked(value) == shown


def test_nothing_to_mask_is_the_same_text() -> None:
    text = '{"n": 98765432109876543210, "x": 1.0}'
    assert SecretMask().json(text) is text


def test_an_edit_gets_the_secret_back() -> None:
    mask = SecretMask()
    shown = json.loads(mask.json(json.dumps({"cmd": f"curl {SECRET}", "authorization": "xyz"})))
    shown["cmd"] += " --fast"
    assert map_strings(shown, make_restorer(mask.originals)) == {
        "cmd": f"curl {SECRET} --fast",
        "authorization": "xyz",
    }


def test_a_text_that_looks_like_a_mask_is_not_made_a_secret() -> None:
    value = {"key": SECRET, "seen": "[masked MY_API_KEY]", "headers": {"authorization": "xyz"}}
    packed = PayloadEncoder().encode_for_display("prompt", value)
    shown = json.loads(bytes(packed.raw))
    assert shown == value | {
        "key": "[masked MY_API_KEY 2]",
        "headers": {"authorization": "[masked authorization]"},
    }
    edited = Raw(json.dumps(shown | {"more": 1}).encode())
    assert packed.restore_secrets(edited) == value | {"more": 1}
    assert masked(shown) == shown  # masked again, it stays


def test_a_secret_in_a_deep_value_is_masked_though_not_all_is_shown() -> None:
    deep: Any = "the end"
    for _ in range(450):
        deep = {"in": deep}
    packed = PayloadEncoder().encode_for_display("prompt", {"key": SECRET, "deep": deep})
    assert SECRET.encode() not in bytes(packed.raw)
    assert json.loads(bytes(packed.raw))["key"] == "[masked MY_API_KEY]"


def test_the_longest_secret_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", SECRET + "-and-more")
    assert masked(SECRET + "-and-more") == "[masked A_KEY]"


@both
def test_masked_and_unedited_is_the_same_object(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        prompt = {"key": SECRET}
        assert await dbg.begin_llm_query_breakpoint(prompt) is prompt
        await dbg.post_debug_message(SECRET)
        with pytest.raises(RuntimeError):
            async with dbg.tool("t", {}):
                raise RuntimeError(SECRET)

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert SECRET not in repr([m for m in peer.received if not hasattr(m, "data")])
    assert bytes(peer.halt_points[1].data) == b'{"key":"[masked MY_API_KEY]"}'
    assert bytes(peer.events[2].data) == b'"[masked MY_API_KEY]"'
    assert peer.halt_points[3].failure is not None
    assert peer.halt_points[3].failure.message == "[masked MY_API_KEY]"


@both
def test_masked_and_edited_keeps_its_secret(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        return await dbg.begin_llm_query_breakpoint({"key": SECRET})

    answers = [ResumeAnswer(), make_edit_answer('{"key":"[masked MY_API_KEY]","more":1}')]
    core.policy = lambda peer, point: answers.pop(0)
    assert run(stepper_kind, core, scenario) == {"key": SECRET, "more": 1}


# ---- the agent's own hook ---------------------------------------------------------------------------


@both
def test_redact_sees_everything_before_it_leaves(stepper_kind: str, core: ScriptedCore) -> None:
    seen: list[tuple[str, Any]] = []

    def redact(word: str, value: Any) -> Any:
        seen.append((word, value))
        return {"type": "E", "message": "hidden"} if word == "error" else "hidden"

    async def scenario(dbg: Any) -> None:
        prompt = {"private": 1}
        assert await dbg.begin_llm_query_breakpoint(prompt) is prompt
        assert await dbg.end_llm_query_breakpoint("r") == "r"
        await dbg.post_debug_message("m")
        with pytest.raises(ValueError, match="x"):
            async with dbg.tool("t", 1):
                raise ValueError("x")

    run(stepper_kind, core, scenario, redact=redact)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert seen == [
        ("program", "Tester"),
        ("prompt", {"private": 1}),
        ("response", "r"),
        ("debug_message", "m"),
        ("tool_call", {"Tool": "t", "Argument": 1}),
        ("error", {"type": "ValueError", "message": "x"}),
        ("traceback", seen[-1][1]),
    ]
    assert seen[-1][1].endswith('raise ValueError("x")')
    shown = [bytes(point.data) for point in peer.halt_points]
    assert shown == [b'"hidden"', b'"hidden"', b'"hidden"', b'"hidden"', b"null"]
    assert peer.halt_points[-1].failure is not None
    assert peer.halt_points[-1].failure.message == "hidden"
    assert peer.halt_points[-1].traceback == "hidden"


@both
def test_an_error_of_redact_keeps_the_value_here(stepper_kind: str, core: ScriptedCore) -> None:
    def redact(word: str, value: Any) -> Any:
        if word == "prompt":
            raise LookupError("a bug in redact")
        return value

    async def scenario(dbg: Any) -> None:
        with pytest.raises(LookupError):
            await dbg.begin_llm_query_breakpoint("secret")
        await dbg.post_debug_message("still here")

    run(stepper_kind, core, scenario, redact=redact)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [bytes(e.data) for e in peer.events if e.data] == [b'"Tester"', b'"still here"']


def test_a_failing_redact_does_not_keep_the_run_from_ending(core: ScriptedCore) -> None:
    def redact(word: str, value: Any) -> Any:
        if word == "error":
            raise LookupError
        return value

    async def scenario(dbg: Any) -> None:
        raise ValueError("private")

    with pytest.raises(ValueError, match="private"):
        run("sync", core, scenario, redact=redact)
    bye = core.wait_for_peer().wait_until_gone()
    assert bye is not None
    assert bye.failure is not None
    assert (bye.failure.type, bye.failure.message) == ("ValueError", "")


# ---- commits ----------------------------------------------------------------------------------------


def commit(*contents: str) -> Commit:
    changes = tuple(
        FileChange(path=f"{n}.txt", kind=ChangeKind.ADDED, body=FileBody(content=text))
        for n, text in enumerate(contents)
    )
    return Commit(id="a" * 40, at=1.0, title=f"Add {SECRET}", changes=changes)


def test_a_commit_is_masked() -> None:
    packed = pack_commit(PayloadEncoder(), commit(f"key = {SECRET}\n"))
    assert packed.title == "Add [masked MY_API_KEY]"
    assert packed.changes[0].body == FileBody(content="key = [masked MY_API_KEY]\n")
    assert packed.id == "a" * 40


def test_a_commit_is_redacted() -> None:
    def redact(word: str, value: Any) -> Any:
        assert word == "commit"
        value["changes"] = [c for c in value["changes"] if c["path"] != "0.txt"]
        return value

    packed = pack_commit(PayloadEncoder(redact), commit("private", "public"))
    assert [change.path for change in packed.changes] == ["1.txt"]


@pytest.mark.slow
def test_a_commit_that_is_too_large_loses_its_largest_contents() -> None:
    packed = pack_commit(PayloadEncoder(), commit("small", "x" * (65 * 1024 * 1024), "small too"))
    bodies = [change.body.content if change.body else None for change in packed.changes]
    assert bodies == ["small", None, "small too"]
    assert packed.changes[1].size == 65 * 1024 * 1024


# ---- what UTF-8 can't carry -------------------------------------------------------------------------


@both
def test_lone_surrogates_are_shown_as_escapes_and_come_back(
    stepper_kind: str, core: ScriptedCore
) -> None:
    odd = "caf\udce9.txt"

    async def scenario(dbg: Any) -> Any:
        value = [odd]
        assert await dbg.begin_llm_query_breakpoint(value) is value
        await dbg.end_llm_query_breakpoint(None)
        await dbg.post_debug_message(odd)
        with pytest.raises(OSError):
            async with dbg.tool(odd, {}):
                raise OSError(odd)
        return await dbg.begin_llm_query_breakpoint([odd])

    answers = [ResumeAnswer()] * 5 + [make_edit_answer('["caf\\\\udce9.txt","é"]')]
    core.policy = lambda peer, point: answers.pop(0)
    assert run(stepper_kind, core, scenario) == [odd, "é"]
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert bytes(peer.halt_points[1].data) == b'["caf\\\\udce9.txt"]'


def test_a_change_of_the_environment_is_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert masked("new-secret other-secret") == "new-secret other-secret"
    monkeypatch.setenv("NEW_SECRET", "new-secret")
    assert masked("new-secret other-secret") == "[masked NEW_SECRET] other-secret"
    monkeypatch.setenv("NEW_SECRET", "other-secret")
    assert masked("new-secret other-secret") == "new-secret [masked NEW_SECRET]"
    monkeypatch.delenv("NEW_SECRET")
    assert masked("new-secret other-secret") == "new-secret other-secret"


def test_an_environment_that_somebody_put_in_its_place_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {"A_TOKEN": "a-secret-token"})
    assert masked("a-secret-token") == "[masked A_TOKEN]"
