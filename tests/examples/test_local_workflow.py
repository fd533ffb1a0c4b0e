"""The local workflow, with a script in the place of its model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentstepper_nb.models.scripted import Script, ScriptedServer, ScriptRule, always, say
from examples.local_workflow import EXAMPLES, SYSTEM, work

ANSWER = '{"tool": "write_file", "arguments": {"path": "a/hello.py", "content": "print(1)\\n"}}'


def test_the_program_chooses_and_the_model_fills_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer(Script("local", [ScriptRule(always, say(ANSWER))])) as server:
        monkeypatch.setenv("AGENTSTEPPER_LOCAL_URL", server.base_url)
        result = asyncio.run(work("Create hello.py.", tmp_path))
        (exchange,) = server.exchanges  # the end is the program's as well
    assert (result.reason, result.error) == ("done", None)
    assert (tmp_path / "a" / "hello.py").read_text() == "print(1)\n"
    asked = exchange.json
    assert asked["messages"][0]["content"].startswith(SYSTEM)
    assert len(asked["messages"]) == 2 + 2 * len(
        EXAMPLES
    )  # each example's result joins what follows
    (allowed,) = asked["response_format"]["json_schema"]["schema"]["anyOf"]
    assert allowed["properties"]["tool"] == {"const": "write_file"}


@pytest.mark.slow
def test_a_model_that_isnt_there_is_the_runs_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer(Script("local", [])) as server:
        monkeypatch.setenv("AGENTSTEPPER_LOCAL_URL", server.base_url)
    result = asyncio.run(work("Create hello.py.", tmp_path))
    assert result.reason == "error"
    assert result.error is not None and "AGENTSTEPPER_LOCAL_URL" in result.error
