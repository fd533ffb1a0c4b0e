"""The extension's model for summaries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from traitlets.config import Config

from agentstepper_nb.hub.model_summaries import ModelSummaries
from agentstepper_nb.models.scripted import Script, ScriptedServer, ScriptRule, always, say
from agentstepper_nb.server_ext import AgentStepperExtension


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """An endpoint that the server's environment names, for a model that it names, too."""
    with ScriptedServer(Script("labels", [ScriptRule(always, say("It asks."))])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("AGENTSTEPPER_MODEL", "by-environment")
        yield server


@pytest.fixture
def configured() -> str | None:
    """The name in the configuration; tests parametrise it."""
    return None


@pytest.fixture
def jp_server_config(
    jp_server_config: Config, model: ScriptedServer, configured: str | None
) -> Config:
    if configured is not None:
        jp_server_config.AgentStepperExtension.model = configured
    return jp_server_config


@pytest.mark.parametrize(
    ("configured", "chosen"),
    [(None, ["by-environment"]), ("by-trait", ["by-trait"]), ("", [])],
)
def test_a_model_is_chosen_by_its_name(extension: AgentStepperExtension, chosen: list[str]) -> None:
    listeners = [each for each in extension.hub.listeners if isinstance(each, ModelSummaries)]
    assert [each._model.name for each in listeners] == chosen
