"""The registry, tools of other packages, and the page that says how to write one."""

from __future__ import annotations

import asyncio
import json
import logging
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct

from agentstepper_nb import entry_point_loader as packages
from agentstepper_nb.coding.tool import Risk, StructTool, ToolContext, ToolPolicy, ToolResult
from agentstepper_nb.coding.tools import ToolRegistry, make_default_tools
from tests.coding.tool_workspace import ToolWorkspace
from tests.docs.pages import GUIDE, blocks, files

PAGE = GUIDE / "tools.md"
NAMES = ("list_files", "read_file", "search", "edit_file", "write_file", "apply_patch")
NAMES += ("run_command", "git_status", "git_diff", "git_commit")


class NoArgs(Struct):
    pass


class HelloTool(StructTool[NoArgs]):
    name = "hello"
    description = "Says hello."
    arguments = NoArgs

    async def run(self, args: NoArgs, ctx: ToolContext) -> ToolResult:
        return ToolResult.success("hello")


def test_the_tools_there_are() -> None:
    tools = make_default_tools()
    assert tuple(tool.name for tool in tools) == NAMES and len(tools) == len(NAMES)
    assert tools.get("no_such_tool") is None
    read_only = {tool.name for tool in tools if tool.policy.read_only}
    assert read_only == {"list_files", "read_file", "search", "git_status", "git_diff"}
    assert not any(tool.policy.requires_approval for tool in tools)
    command = tools.get("run_command")
    assert command is not None and command.policy.risk is Risk.MEDIUM


def test_specs_are_json_and_bring_all_that_a_model_needs() -> None:
    specs = make_default_tools().specs()
    assert tuple(spec.name for spec in specs) == NAMES
    for spec in specs:
        json.dumps(spec.input_schema)
        assert spec.description.endswith(".")
        assert "$ref" not in json.dumps(spec.input_schema)


@pytest.mark.parametrize("name", ["", "1x", "a b", "a-b", "x" * 65, "ä"])
def test_a_tools_name_is_a_word(name: str) -> None:
    tool = HelloTool()
    tool.name = name
    with pytest.raises(ValueError, match="isn't a valid tool name"):
        ToolRegistry().register(tool)


def test_a_name_is_given_once() -> None:
    tools = ToolRegistry()
    tools.register(HelloTool())
    with pytest.raises(ValueError, match="called hello already exists"):
        tools.register(HelloTool())


def test_what_is_no_tool_is_refused() -> None:
    with pytest.raises(TypeError, match="has no description"):
        ToolRegistry().register(SimpleNamespace(name="x"))  # type: ignore[arg-type]


def test_tools_of_other_packages(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def points(group: str) -> EntryPoints:
        assert group == "agentstepper_nb.tools"
        here = __name__
        named = {"good": f"{here}:Hello", "gone": "no_such_module:x", "again": f"{here}:Hello"}
        return EntryPoints(EntryPoint(name, value, group) for name, value in named.items())

    monkeypatch.setattr(packages, "_find_points", points)
    monkeypatch.setitem(__import__("sys").modules, __name__, SimpleNamespace(Hello=HelloTool))
    with caplog.at_level(logging.ERROR):
        tools = make_default_tools()
    assert tools.get("hello") is not None and len(tools) == len(NAMES) + 1
    said = [record.getMessage() for record in caplog.records]
    assert said == [f"The tool {name} can't be used and is left out." for name in ("gone", "again")]


# ---- the page --------------------------------------------------------------------------------------


def test_the_tool_of_the_page_runs_as_it_is_printed(tmp_path: Path) -> None:
    block = next(block for block in blocks(PAGE) if block.name == "count_lines.py")
    assert len(block.lines) <= 15
    names: dict[str, Any] = {"__name__": "count_lines"}
    exec(compile(block.text, "count_lines.py", "exec"), names)
    tool = names["CountLines"]()
    tool_workspace = ToolWorkspace(tmp_path)
    tool_workspace.tools.register(tool)
    assert tool_workspace.call("count_lines", path="a.txt") == ToolResult.success(3)
    assert "leads out" in (tool_workspace.call("count_lines", path="out/a.txt").error or "")
    assert "Wrong arguments" in (tool_workspace.call("count_lines", paths=1).error or "")
    assert tool.policy == ToolPolicy(read_only=True)
    assert asyncio.run(tool.execute(None, tool_workspace.ctx)).ok is False


def test_the_page_names_each_tool() -> None:
    text = PAGE.read_text()
    assert all(f"`{name}`" in text for name in NAMES)
    assert "agentstepper_nb.tools" in files(PAGE)["pyproject.toml"]
