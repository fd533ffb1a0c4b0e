"""The one description of a coding session's settings: its bounds, and who takes them from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from agentstepper_nb.coding.moniker import CodingConfig
from agentstepper_nb.coding.options import CodingLimits, CodingOptions
from agentstepper_nb.coding.sandbox import ResourceLimits, SandboxChoice, SandboxMode
from agentstepper_nb.protocol import coding_settings
from agentstepper_nb.protocol.coding_api import CreateCodingSession
from agentstepper_nb.protocol.coding_settings import (
    DEFAULTS,
    FIELDS,
    SANDBOX_MODES,
    WIRE_NAMES,
    CodingSettings,
    read_settings,
    select_given_settings,
)

HOW = {"workspacePath": "/ws", "provider": "p", "model": "m"}


def test_python_takes_every_setting() -> None:
    assert set(FIELDS) <= set(get_type_hints(CodingOptions))
    assert set(get_type_hints(coding_settings.SettingsDict)) == set(FIELDS) - {"policy"}


def test_each_setting_has_a_description_and_may_be_left_out() -> None:
    schema: Any = msgspec.json.schema(CodingSettings)["$defs"]["CodingSettings"]
    assert [name for name, each in schema["properties"].items() if not each["description"]] == []
    assert select_given_settings(CodingSettings()) == {}
    assert schema["required"] == []


def test_the_wire_has_them_in_camel_case() -> None:
    body = {
        **HOW,
        "maxIterations": 3,
        "commandTimeout": 1,
        "approvalTimeout": 2.5,
        "outputLimit": 2000,
        "toolChoice": "none",
        "sandboxMode": "read-only",
        "readable": ["/data"],
        "memoryBytes": 1 << 30,
        "autoApprove": True,
        "network": None,
    }
    how = msgspec.json.decode(msgspec.json.encode(body), type=CreateCodingSession)
    assert select_given_settings(how) == {
        "max_iterations": 3,
        "command_timeout": 1.0,
        "approval_timeout": 2.5,
        "output_limit": 2000,
        "tool_choice": "none",
        "sandbox_mode": "read-only",
        "readable": ("/data",),
        "memory_bytes": 1 << 30,
        "auto_approve": True,
    }
    sent = msgspec.json.encode(how)
    assert msgspec.json.decode(sent, type=CreateCodingSession) == how
    assert {name for name in msgspec.json.decode(sent) if "_" in name} == set()


OUT_OF_BOUNDS = [
    ("max_iterations", 0),
    ("max_iterations", 10_001),
    ("command_timeout", 0),
    ("command_timeout", 86_401),
    ("tool_timeout", -1),
    ("model_timeout", "300"),
    ("approval_timeout", 10_000_000),
    ("output_limit", 1),
    ("shell", "yes"),
    ("auto_approve", 1),
    ("policy", ""),
    ("temperature", 2.1),
    ("temperature", -0.1),
    ("tool_choice", "x" * 1001),
    ("sandbox_mode", "everything"),
    ("sandbox", "docker"),
    ("network", "true"),
    ("readable", "/data"),
    ("readable", ["/x"] * 101),
    ("writable", [""]),
    ("memory_bytes", 1024),
    ("processes", 0),
]


@pytest.mark.parametrize(("name", "value"), OUT_OF_BOUNDS)
def test_what_is_out_of_bounds_is_refused(name: str, value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        read_settings({name: value, "workspace": "not looked at"})
    with pytest.raises(msgspec.ValidationError):
        config = {"workspace": "/ws", "prompt": "x", "provider": "p", "model": "m", name: value}
        msgspec.convert(config, CodingConfig)
    first, *rest = name.split("_")
    camel = first + "".join(each.title() for each in rest)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**HOW, camel: value}, CreateCodingSession)


def test_every_setting_has_something_out_of_bounds() -> None:
    assert {name for name, _ in OUT_OF_BOUNDS} == set(FIELDS)


def test_a_setting_that_is_misspelt_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="sandboxmode"):
        msgspec.convert({**HOW, "sandboxmode": "read-only"}, CreateCodingSession)


def test_the_guide_has_each_under_all_of_its_names() -> None:
    guide = Path(__file__).parents[3] / "docs" / "guide" / "coding.md"
    rows = [line for line in guide.read_text().splitlines() if line.startswith("| `--")]
    for name, wire in WIRE_NAMES.items():
        flag = "--yes" if name == "auto_approve" else "--" + name.replace("_", "-")
        (row,) = [row for row in rows if row.startswith(f"| `{flag}") and f" | `{name}` | " in row]
        assert f" | `{name}` | `{wire}` | " in row


def test_the_words_are_those_of_the_sandbox() -> None:
    assert tuple(mode.value for mode in SandboxMode) == SANDBOX_MODES
    kinds = get_type_hints(coding_settings.SettingsDict)
    assert set(get_args(get_args(kinds["sandbox"])[0])) == set(get_args(SandboxChoice))


def test_the_defaults_are_those_that_hold() -> None:
    limits, resources = CodingLimits(), ResourceLimits()
    assert DEFAULTS.max_iterations == limits.max_iterations
    assert DEFAULTS.command_timeout == limits.command_timeout_s
    assert DEFAULTS.tool_timeout == limits.tool_timeout_s
    assert DEFAULTS.model_timeout == limits.idle_timeout_s
    assert DEFAULTS.approval_timeout == limits.approval_timeout_s
    assert DEFAULTS.output_limit == limits.output_limit_bytes
    assert DEFAULTS.sandbox_mode == SandboxMode.WORKSPACE_WRITE
    assert DEFAULTS.memory_bytes == resources.memory_bytes
    assert DEFAULTS.processes == resources.processes
