"""What a request may set of a coding session, under a server's defaults and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.hub.coding_request_policy import CodingRequestPolicy, CodingRoots
from agentstepper_nb.protocol.coding_settings import WIRE_NAMES, CodingSettings, read_settings
from agentstepper_nb.protocol.runtime_requests import CreateAgentPayload


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "repo").mkdir(parents=True)
    return tmp_path / "root"


def bounds(root: Path, defaults: Any = None, limits: Any = None) -> CodingRequestPolicy:
    return CodingRequestPolicy(
        CodingRoots([str(root)]), read_settings(defaults or {}), read_settings(limits or {})
    )


def refusal(bounds: CodingRequestPolicy, **asked: Any) -> tuple[str, str | None]:
    with pytest.raises(CommandError) as caught:
        bounds.allow(read_settings(asked))
    return caught.value.code, caught.value.field


def test_without_a_word_from_the_server_a_request_has_what_it_sets(root: Path) -> None:
    asked = CodingSettings(temperature=0.2, network=True, max_iterations=9000)
    assert bounds(root).allow(asked) == {
        "temperature": 0.2,
        "network": True,
        "max_iterations": 9000,
    }


def test_a_request_wins_over_defaults(root: Path) -> None:
    server = bounds(root, {"temperature": 0, "shell": False})
    assert server.allow(CodingSettings(shell=True)) == {"temperature": 0.0, "shell": True}


LIMITS = {
    "max_iterations": 10,
    "command_timeout": 600,
    "auto_approve": False,
    "network": False,
    "sandbox_mode": "read-only",
    "policy": "ours",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_iterations", 11),
        ("command_timeout", 600.5),
        ("auto_approve", True),
        ("network", True),
        ("sandbox_mode", "workspace-write"),
        ("policy", "theirs"),
    ],
)
def test_beyond_a_limit_is_refused(root: Path, name: str, value: Any) -> None:
    assert refusal(bounds(root, limits=LIMITS), **{name: value}) == (
        "outside_limits",
        WIRE_NAMES[name],
    )


def test_within_the_limits_is_taken_and_what_is_left_out_stays_within_too(root: Path) -> None:
    server = bounds(root, limits=LIMITS)
    # The agent's own 25 iterations are too many, its 120 s for a command are not.
    assert server.allow(CodingSettings()) == {
        "max_iterations": 10,
        "sandbox_mode": "read-only",
        "policy": "ours",
    }
    asked = CodingSettings(max_iterations=10, auto_approve=False, network=False, policy="ours")
    assert server.allow(asked) == {
        "max_iterations": 10,
        "auto_approve": False,
        "network": False,
        "sandbox_mode": "read-only",
        "policy": "ours",
    }


def test_the_servers_own_defaults_are_not_limited(root: Path) -> None:
    server = bounds(root, {"sandbox_mode": "danger-full-access"}, {"sandbox_mode": "read-only"})
    assert server.allow(CodingSettings()) == {"sandbox_mode": "danger-full-access"}


@pytest.mark.parametrize("name", ["readable", "writable"])
def test_folders_lie_in_the_roots(root: Path, tmp_path: Path, name: str) -> None:
    (outside := tmp_path / "outside").mkdir()
    (root / "link").symlink_to(outside)
    server = bounds(root)
    for path in ("/", "/etc", "..", "~", str(outside), str(root / "link"), str(root / ".." / "x")):
        assert refusal(server, **{name: [str(root / "repo"), path]}) == ("outside_roots", name)
    with pytest.raises(ProtocolError):
        server.allow(read_settings({name: [str(root / "none")]}))
    allowed = server.allow(read_settings({name: ["repo", str(root)]}))
    assert allowed == {name: (str(root / "repo"), str(root))}
    wider = bounds(root, limits={name: [str(outside)]})
    assert wider.allow(read_settings({name: [str(outside)]})) == {name: (str(outside),)}
    assert wider.allow(CodingSettings()) == {}


@pytest.mark.parametrize(
    "asked", [{"sandbox_mode": "danger-full-access"}, {"sandbox": "none"}], ids=str
)
def test_no_request_leaves_the_sandbox_without_the_control_token(root: Path, asked: Any) -> None:
    (name,) = asked
    server = bounds(root, limits={"sandbox_mode": "danger-full-access"})
    assert refusal(server, **asked) == ("needs_control_token", WIRE_NAMES[name])
    assert server.allow(read_settings(asked), has_control=True)[name] == asked[name]


# ---- background agents -------------------------------------------------------------------------------


def agent(root: Path, moniker: str = "coding", **config: Any) -> CreateAgentPayload:
    given = {
        "workspace": str(root / "repo"),
        "prompt": "x",
        "provider": "p",
        "model": "m",
        **config,
    }
    return CreateAgentPayload(moniker=moniker, config=given)


def test_a_background_agent_has_the_servers_settings(root: Path) -> None:
    server = bounds(root, {"temperature": 0.5}, {"max_iterations": 5})
    checked: Any = server.check_agent(agent(root, shell=False))
    assert checked.config == {
        "workspace": str(root / "repo"),
        "prompt": "x",
        "provider": "p",
        "model": "m",
        "shell": False,
        "temperature": 0.5,
        "max_iterations": 5,
    }
    other = agent(root, moniker="llm", sandbox="none")
    assert server.check_agent(other) is other


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"sandbox_mode": "danger-full-access"}, "needs_control_token"),
        ({"sandbox": "none"}, "needs_control_token"),
        ({"max_iterations": 6}, "outside_limits"),
        ({"writable": ["/etc"]}, "outside_roots"),
    ],
)
def test_a_background_agent_is_refused_as_a_request_is(root: Path, config: Any, code: str) -> None:
    server = bounds(root, limits={"max_iterations": 5})
    with pytest.raises(CommandError) as caught:
        server.check_agent(agent(root, **config))
    (name,) = config
    assert (caught.value.code, caught.value.field) == (code, f"payload.config.{name}")


def test_a_setting_of_another_type_is_refused_before_a_worker_sees_it(root: Path) -> None:
    with pytest.raises(ProtocolError, match="temperature"):
        bounds(root).check_agent(agent(root, temperature="hot"))
