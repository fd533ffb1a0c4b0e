"""Roles of agents: those there are, and those that are added."""

from __future__ import annotations

import logging
import threading
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from agentstepper_nb import entry_point_loader as packages
from agentstepper_nb.chat import extension_registry, roles
from agentstepper_nb.chat.roles import RoleSpec, add_role, find_role, list_role_names
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.chat import AgentName

CRITIC = RoleSpec("CRITIC", instructions="Find what is wrong.")


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds goes with it, and nothing was loaded yet."""
    monkeypatch.setattr(roles.role_registry, "_entries", dict(roles.role_registry._entries))
    monkeypatch.setattr(extension_registry, "_extensions", extension_registry._Extensions())


def installed(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, Any]) -> None:
    """Let there be packages that bring words."""

    class Point(EntryPoint):
        def load(self) -> Any:
            return dict(points)[self.name]

    found = [Point(name, "a:b", extension_registry.ENTRY_POINT_GROUP) for name, _ in points]
    monkeypatch.setattr(
        packages,
        "_find_points",
        lambda group: found if group == extension_registry.ENTRY_POINT_GROUP else [],
    )


@pytest.mark.parametrize("name", list(AgentName))
def test_inv_agent_001_each_built_in_role_is_defined(name: AgentName) -> None:
    """Every role says what it is there for, to people and to models."""
    found = find_role(name)
    assert found.name == name.value
    assert found.summary
    assert len(found.instructions) > 40


@pytest.mark.parametrize("word", ["agent_executor", "EXECUTOR", "", "OTHERS", "SUPERVISOR "])
def test_inv_agent_001_an_agent_has_a_defined_role(word: str) -> None:
    """An unknown role is refused by a text that names those there are; none is taken for OTHER."""
    with pytest.raises(ProtocolError, match="there are: AGENT_EXECUTOR, LLM_PLANNER") as caught:
        find_role(word)
    assert (caught.value.code, caught.value.field) == ("invalid_message", "role")


def test_a_word_that_is_huge_is_not_repeated_whole() -> None:
    with pytest.raises(ProtocolError) as caught:
        find_role("x" * 10_000)
    assert len(str(caught.value)) < 300


def test_who_may_hand_on() -> None:
    assert [name for name in list_role_names() if find_role(name).can_hand_off] == [
        "SUPERVISOR",
        "CREW",
    ]


def test_a_role_is_added() -> None:
    add_role(CRITIC)
    assert find_role("CRITIC") is CRITIC
    assert list_role_names()[-1] == "CRITIC"
    again = RoleSpec("CRITIC", can_hand_off=True)
    add_role(again)  # the cell ran twice
    assert find_role("CRITIC") is again


@pytest.mark.parametrize("name", ["", "critic", "CRI TIC", "1ST", "KRÍTIC", "A" * 101, "A\n"])
def test_a_role_is_a_word(name: str) -> None:
    with pytest.raises(ValueError, match="capitals, digits and underscores"):
        add_role(RoleSpec(name))


def test_a_built_in_role_stays() -> None:
    with pytest.raises(ValueError, match="OTHER is built in"):
        add_role(RoleSpec("OTHER", can_hand_off=True))
    assert not find_role("OTHER").can_hand_off


def test_an_installed_package_brings_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def bring() -> None:
        calls.append("bring")
        assert find_role("OTHER")
        with pytest.raises(ProtocolError):
            find_role("CRITIC")  # asks while it is being loaded
        add_role(CRITIC)

    installed(monkeypatch, ("review", bring))
    assert find_role("CRITIC") is CRITIC
    assert list_role_names()[-1] == "CRITIC"
    assert calls == ["bring"]


def test_a_package_that_fails_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("broken on purpose")

    installed(monkeypatch, ("bad", fail), ("good", lambda: add_role(CRITIC)))
    with caplog.at_level(logging.ERROR, "agentstepper_nb.chat"):
        assert find_role("CRITIC") is CRITIC
    assert "The chat extension bad can't be used" in caplog.text


def test_whoever_asks_meanwhile_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread that asks while a package adds its words has them too."""
    begun, go_on = threading.Event(), threading.Event()
    found: list[RoleSpec] = []

    def bring() -> None:
        begun.set()
        assert go_on.wait(60)
        add_role(CRITIC)

    installed(monkeypatch, ("slow", bring))
    threads = [threading.Thread(target=lambda: found.append(find_role("CRITIC"))) for _ in range(3)]
    threads[0].start()
    assert begun.wait(60)
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert found == [CRITIC] * 3
