"""Long outputs: what the model is given of them, and how it reads the rest."""

from __future__ import annotations

import asyncio
import re
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstepper_nb.coding.tool import ToolContext, ToolResult
from agentstepper_nb.coding.tool_results import OutputStore, measure_json_bytes, shorten_result
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.coding.tool_workspace import ToolWorkspace


def context(folder: Path, limit: int = 2000, outputs: bool = True) -> ToolContext:
    return ToolContext(
        workspace=LocalWorkspace(folder),
        cancellation=asyncio.Event(),
        output_limit_bytes=limit,
        outputs=OutputStore(folder / "outputs") if outputs else None,
    )


def shortened_in(result: ToolResult, ctx: ToolContext) -> ToolResult:
    return shorten_result(result, ctx.output_limit_bytes, ctx.outputs)


def test_what_is_short_stays_as_it_is(tmp_path: Path) -> None:
    result = ToolResult.success({"text": "x" * 1000})
    assert shortened_in(result, context(tmp_path)) is result
    assert not (tmp_path / "outputs").exists()


def test_of_what_is_long_there_are_head_and_tail_and_where_the_rest_is(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(2000))
    ctx = context(tmp_path)
    short = shortened_in(ToolResult.success({"exit_code": 0, "output": text}), ctx)
    cut = short.data["output"]
    assert short.data["exit_code"] == 0
    assert cut.startswith("line 0\nline 1\n") and cut.endswith("line 1998\nline 1999\n")
    assert (
        '[… 18,890 characters in all, the middle is left out; read_file with path "output:1"' in cut
    )
    assert 1900 < measure_json_bytes(short) <= 2000
    assert shortened_in(short, ctx) is short  # asked twice, it is not cut twice
    assert ctx.outputs is not None
    with ctx.outputs.open("output:1") as file:
        assert file.read().decode() == text


def test_without_a_store_the_middle_is_lost(tmp_path: Path) -> None:
    short = shortened_in(ToolResult.success("x" * 5000), context(tmp_path, outputs=False))
    assert "ask for less at a time" in short.data


def test_a_store_that_cannot_write_loses_the_middle(tmp_path: Path) -> None:
    (tmp_path / "outputs").touch()
    assert (
        "ask for less at a time"
        in shortened_in(ToolResult.success("x" * 5000), context(tmp_path)).data
    )


def test_each_long_text_has_its_share(tmp_path: Path) -> None:
    data = {"small": "s" * 100, "one": "a" * 5000, "two": "b" * 5000, "number": 7}
    short = shortened_in(ToolResult.success(data), context(tmp_path)).data
    assert list(short) == list(data)
    assert (short["small"], short["number"]) == (data["small"], 7)
    assert abs(len(short["one"]) - len(short["two"])) < 10
    assert "output:1" in short["one"] and "output:2" in short["two"]


@pytest.mark.parametrize(
    "data",
    [
        list(range(5000)),
        {"many": [{"path": "x" * 50, "line": number} for number in range(200)]},
        {f"key {number}": "v" * 20 for number in range(500)},
        {f"key {number}": "v" * 3000 for number in range(50)},
        {"k" * 5000: 1},
        "\x1b\0" * 3000,
        "\N{GRINNING FACE}" * 3000,
    ],
    ids=["list", "nested", "many keys", "many texts", "long key", "escapes", "emoji"],
)
def test_whatever_is_long_is_cut(tmp_path: Path, data: Any) -> None:
    short = shortened_in(ToolResult.success(data), context(tmp_path))
    assert measure_json_bytes(short) <= 2000
    assert "output:" in msgspec.json.encode(short).decode()


def test_errors_and_diagnostics_are_cut_as_well(tmp_path: Path) -> None:
    result = ToolResult(ok=False, error="e" * 9000, data="d" * 9000, diagnostics={"x": "y" * 9000})
    short = shortened_in(result, context(tmp_path))
    assert measure_json_bytes(short) <= 2000 and not short.ok
    assert short.error is not None and "output:" in short.error and "output:" in short.data


def test_what_is_no_json_is_a_failure(tmp_path: Path) -> None:
    for data in (object(), {"x": "\ud800"}, {1.5: 2, (1, 2): 3}):
        short = shortened_in(ToolResult.success(data), context(tmp_path))
        assert not short.ok and "no JSON" in (short.error or "")


VALUES = st.recursive(
    st.integers() | st.text(max_size=400) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=30), inner, max_size=6)
    ),
    max_leaves=40,
)


@settings(max_examples=10)
@given(data=VALUES, error=st.none() | st.text(max_size=3000), limit=st.integers(0, 3000))
def test_a_result_is_never_longer_than_its_limit(
    tmp_path_factory: pytest.TempPathFactory, data: Any, error: str | None, limit: int
) -> None:
    ctx = context(tmp_path_factory.getbasetemp(), limit)
    short = shortened_in(ToolResult(ok=error is None, data=data, error=error), ctx)
    assert measure_json_bytes(short) <= max(limit, 1024)
    assert shortened_in(short, ctx) is short


# ---- the store -------------------------------------------------------------------------------------


def test_a_store_keeps_the_newest(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "outputs"
    store = OutputStore(folder, max_outputs=2)
    assert [store.save(text) for text in "abc"] == ["output:1", "output:2", "output:3"]
    with pytest.raises(FileNotFoundError, match="kept no longer"):
        store.open("output:1")
    assert OutputStore(folder, max_outputs=2).save("d") == "output:4"  # a session that goes on
    assert sorted(path.name for path in folder.iterdir()) == ["3.txt", "4.txt"]


def test_a_store_is_for_nobody_else(tmp_path: Path) -> None:
    OutputStore(tmp_path / "outputs").save("secret")
    modes = [
        stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "outputs", tmp_path / "outputs/1.txt")
    ]
    assert modes == [0o700, 0o600]


def test_a_store_keeps_so_much_of_one(tmp_path: Path) -> None:
    store = OutputStore(tmp_path, max_bytes=10)
    with store.open(store.save("é" * 100)) as file:
        assert file.read() == "é".encode() * 5


@pytest.mark.parametrize(
    "name", ["output:", "output:x", "output:../1", "output:-1", "output:1/../../a", "1", "output:٣"]
)
def test_other_names_are_none(tmp_path: Path, name: str) -> None:
    store = OutputStore(tmp_path)
    store.save("x")
    with pytest.raises(FileNotFoundError):
        store.open(name)


def test_the_model_reads_the_rest_by_pages(tmp_path: Path) -> None:
    tool_workspace = ToolWorkspace(tmp_path)
    text = "".join(f"{number}\n" for number in range(20_000))
    short = shortened_in(ToolResult.success(text), tool_workspace.ctx).data
    name = re.search(r"output:\d+", short)
    assert name
    page = tool_workspace.call("read_file", path=name[0], start=10_001, lines=1)
    assert page.data["text"] == "10001\t10000\n"
    assert "kept no longer" in (tool_workspace.call("read_file", path="output:99").error or "")
