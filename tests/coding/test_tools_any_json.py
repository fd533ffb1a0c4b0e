"""Whatever a model writes, a tool gives a result: nothing is raised, and nothing outside is touched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentstepper_nb.coding.tools import make_default_tools
from tests.coding.tool_workspace import ToolWorkspace

pytestmark = pytest.mark.slow

NAMES: Final = [tool.name for tool in make_default_tools()]

#: Any JSON.
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
PATHS: Final = st.sampled_from(
    [
        "a.txt",
        "src/b.py",
        "inside/b.py",
        "out/a.txt",
        "../a.txt",
        "new/x.txt",
        ".",
        "loop",
        "output:1",
    ]
)
PATCH: Final = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
#: Text as it may stand in the field of a name.
TEXTS: Final = {
    "path": PATHS | st.text(max_size=20),
    "folder": PATHS | st.text(max_size=20),
    "patch": st.lists(st.sampled_from(PATCH.splitlines(True)) | st.text(max_size=10)).map("".join),
    "pattern": st.text(max_size=12) | st.sampled_from(["o", "(a+)+$", "[", "(?<=o)n", ".*"]),
    "glob": st.text(max_size=12) | st.sampled_from(["*.py", "{a,b}.txt", "!*", "[", "{{{{"]),
    # Nothing that does something.
    "command": st.text(max_size=12).map(lambda text: f"echo {text}")
    | st.sampled_from(["true", "false", "", "'", "a\0b", "A=1 b", "ls | wc", "missing-program"]),
}
#: Values of types that schemas of ours say no more of.
OTHERS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "number": st.floats(min_value=0.01, max_value=5),
    "boolean": st.booleans(),
    "null": st.none(),
}


def fitting(schema: dict[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """Values that a schema of ours allows."""
    if "anyOf" in schema:
        return st.one_of([fitting(each, name) for each in schema["anyOf"]])
    match schema["type"]:
        case "object":
            every = {key: fitting(each, key) for key, each in schema["properties"].items()}
            needed = {key: every.pop(key) for key in schema["required"]}
            return st.fixed_dictionaries(needed, optional=every)
        case "array":
            return st.lists(fitting(schema["items"], name), max_size=2)
        case "string":
            return TEXTS.get(name, st.text(max_size=30) | st.sampled_from(["two", "one\n", "\r\n"]))
        case "integer":
            return st.integers(schema.get("minimum"), schema.get("maximum"))
    return OTHERS[schema["type"]]


@pytest.fixture(scope="module")
def tool_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolWorkspace]:
    tool_workspace = ToolWorkspace(tmp_path_factory.mktemp("desk"), command_timeout_s=20.0)
    assert tool_workspace.ctx.outputs is not None
    tool_workspace.ctx.outputs.save("kept\n")
    yield tool_workspace
    tool_workspace.assert_outside_is_unchanged()


FEW: Final = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])


def has_a_result(tool_workspace: ToolWorkspace, name: str, args: Any) -> None:
    tool_workspace.ctx.cancellation = asyncio.Event()
    result = asyncio.run(tool_workspace.acall(name, args))
    assert result.ok == (result.error is None)
    json.dumps(result.data)


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(args=VALUES)
def test_any_json(tool_workspace: ToolWorkspace, name: str, args: Any) -> None:
    has_a_result(tool_workspace, name, args)


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(data=st.data())
def test_arguments_that_fit(tool_workspace: ToolWorkspace, name: str, data: st.DataObject) -> None:
    has_a_result(tool_workspace, name, data.draw(fitting(tool_workspace.tool(name).input_schema)))


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(data=st.data())
def test_arguments_that_nearly_fit(
    tool_workspace: ToolWorkspace, name: str, data: st.DataObject
) -> None:
    properties = tool_workspace.tool(name).input_schema["properties"]
    keys = st.sampled_from([*properties, "another"])
    has_a_result(tool_workspace, name, data.draw(st.dictionaries(keys, VALUES, max_size=5)))


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_much_json(tool_workspace: ToolWorkspace, name: str) -> None:
    schema = tool_workspace.tool(name).input_schema

    @settings(FEW, max_examples=400)
    @given(args=VALUES | fitting(schema))
    def many(args: Any) -> None:
        has_a_result(tool_workspace, name, args)

    many()


def test_the_schemas_are_of_objects_and_say_what_is_needed() -> None:
    for tool in make_default_tools():
        schema = tool.input_schema
        assert schema["type"] == "object" and isinstance(schema["required"], list)
        assert set(schema["required"]) <= set(schema["properties"])
        assert "title" in schema and "$defs" not in schema


def test_nothing_else_is_raised_by_a_tools_own_fault(tmp_path: Path) -> None:
    tool_workspace = ToolWorkspace(tmp_path)
    tool = tool_workspace.tool("read_file")
    result = asyncio.run(tool.execute({"path": "a.txt"}, object()))  # type: ignore[arg-type]
    assert not result.ok and result.error and result.diagnostics == {"type": "AttributeError"}
