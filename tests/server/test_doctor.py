"""The doctor beside a live Jupyter server."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from agentstepper_nb import __version__
from agentstepper_nb.doctor.fact_collection import collect_facts
from tests.server.conftest import AGENT_TOKEN, CONTROL_TOKEN


async def test_a_server_is_found_and_asked(
    extension: Any, http_server_client: Any, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await jp_serverapp.extension_manager.start_all_extensions()
    url = os.environ["AGENTSTEPPER_URL"]
    facts = await asyncio.to_thread(collect_facts)
    (core,) = facts.cores
    assert (core.url, core.version, core.problem) == (url, __version__, "")
    assert core.name == f"Jupyter server in {jp_serverapp.root_dir}"
    assert (facts.discovery.url, facts.discovery.problem, facts.discovery.protocol) == (url, "", 2)
    assert extension.hub.runs() == []  # to ask is no run
    assert AGENT_TOKEN not in repr(facts)
    assert CONTROL_TOKEN not in repr(facts)

    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "wrong")
    facts = await asyncio.to_thread(collect_facts)
    assert "the token is missing or wrong" in facts.discovery.problem
    assert facts.cores[0].problem == ""
    await jp_serverapp.extension_manager.stop_all_extensions()


async def test_a_server_without_the_extension_is_no_core(
    http_server_client: Any, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = jp_serverapp.port
    monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{port}/nothing/here")
    problem = (await asyncio.to_thread(collect_facts)).discovery.problem
    assert (
        "instead of a Core" in problem
        and "Check that agentstepper_nb is installed there" in problem
    )
