"""Providers by their name."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType

import pytest

from agentstepper_nb import entry_point_loader
from agentstepper_nb.errors import ModelError
from agentstepper_nb.models import registry
from agentstepper_nb.models.anthropic import AnthropicProvider
from agentstepper_nb.models.openai import OpenAIProvider
from agentstepper_nb.models.scripted.provider import ScriptedProvider

OURS = ["openai", "openai-responses", "anthropic", "scripted", "local"]


class EchoProvider:
    """Another package's."""

    name = "echo"

    def __init__(self, model: str) -> None:
        self.model = model


def picky(model: str) -> EchoProvider:
    raise ModelError("invalid", "No key.") if model == "keyless" else KeyError(model)


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other packages bring, in place of what happens to be installed here."""
    module = ModuleType("other_package")
    vars(module).update(Echo=EchoProvider, Picky=picky)
    monkeypatch.setitem(sys.modules, "other_package", module)
    points = EntryPoints(
        EntryPoint(name, value, registry.ENTRY_POINT_GROUP)
        for name, value in (
            ("echo", "other_package:Echo"),
            ("openai", "other_package:Echo"),
            ("broken", "other_package:Nothing"),
            ("picky", "other_package:Picky"),
        )
    )
    monkeypatch.setattr(
        entry_point_loader, "_find_points", lambda group: points.select(group=group)
    )
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")


@pytest.mark.usefixtures("brought")
def test_names() -> None:
    assert registry.list_provider_names() == [*OURS, "broken", "echo", "picky"]


@pytest.mark.usefixtures("brought")
def test_ours() -> None:
    made = {
        name: registry.create_provider(name, "m")
        for name in ("openai", "openai-responses", "anthropic")
    }
    assert [provider.name for provider in made.values()] == [*made]
    assert isinstance(made["openai"], OpenAIProvider), "another package's can't take its place"
    assert isinstance(made["anthropic"], AnthropicProvider)
    assert isinstance(registry.create_provider("scripted", "fix_tests"), ScriptedProvider)


@pytest.mark.usefixtures("brought")
def test_another_packages() -> None:
    provider = registry.create_provider("echo", "m")
    assert isinstance(provider, EchoProvider)
    assert provider.model == "m"


@pytest.mark.usefixtures("brought")
@pytest.mark.parametrize(("name", "why"), [("broken", "AttributeError"), ("picky", "KeyError")])
def test_one_that_cannot_be_used(name: str, why: str) -> None:
    with pytest.raises(ModelError, match=f"'{name}'.* can't be used: .*{why}"):
        registry.create_provider(name, "m")


@pytest.mark.usefixtures("brought")
def test_one_that_says_itself_what_it_lacks() -> None:
    with pytest.raises(ModelError, match=r"^No key\.$"):
        registry.create_provider("picky", "keyless")


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(
        ModelError, match="There is no provider 'opneai'; there are: openai, openai-"
    ):
        registry.create_provider("opneai", "m")


def test_anthropics_client_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agentstepper_nb.models.anthropic")
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(ModelError, match="pip install 'agentstepper_nb\\[anthropic\\]'"):
        registry.create_provider("anthropic", "m")


def test_an_import_of_ours_that_fails_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agentstepper_nb.models.anthropic")
    monkeypatch.setitem(sys.modules, "agentstepper_nb.models.http_provider", None)
    with pytest.raises(ModuleNotFoundError, match="http_provider"):
        registry.create_provider("anthropic", "m")
