"""Pictures that the agent shows: of the workspace, of a kind that is shown, and not too large."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentstepper_nb.coding.tools import make_default_tools
from agentstepper_nb.coding.tools.read_file import ShowImage
from agentstepper_nb.protocol.image_types import MAX_IMAGE_BYTES, detect_image_type
from tests.coding.tool_workspace import ToolWorkspace

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    tool_workspace = ToolWorkspace(tmp_path)
    tool_workspace.tools.register(ShowImage())
    return tool_workspace


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_what_its_first_bytes_say_is_shown_whatever_its_name(
    tool_workspace: ToolWorkspace, data: bytes, kind: str
) -> None:
    tool_workspace.write("chart.txt", data)
    result = tool_workspace.call("show_image", path="chart.txt")
    assert result.ok
    assert result.data == {"path": "chart.txt", "media_type": kind, "bytes": len(data)}


@pytest.mark.parametrize(
    "data",
    [
        b"<svg onload='alert(1)'/>",
        b"%PDF-1.7",
        b"RIFF\x10\x00\x00\x00WAVEfmt ",
        b"\x89PNG",
        b"",
    ],
)
def test_anything_else_is_refused_and_said(tool_workspace: ToolWorkspace, data: bytes) -> None:
    tool_workspace.write("chart.png", data)
    assert detect_image_type(data) is None
    result = tool_workspace.call("show_image", path="chart.png")
    assert result.error is not None
    assert result.error.startswith("chart.png doesn't begin as a PNG, JPEG, GIF or WebP does")


def test_a_picture_that_is_too_large(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("chart.png", PNG)
    os.truncate(tool_workspace.root / "chart.png", MAX_IMAGE_BYTES)
    assert tool_workspace.call("show_image", path="chart.png").ok
    os.truncate(tool_workspace.root / "chart.png", MAX_IMAGE_BYTES + 1)
    result = tool_workspace.call("show_image", path="chart.png")
    assert (
        result.error == "chart.png has 10,485,761 bytes; 10,485,760 can be shown: make it smaller."
    )


def test_nothing_outside_and_no_pipe(tool_workspace: ToolWorkspace) -> None:
    (tool_workspace.outside / "chart.png").write_bytes(PNG)
    os.mkfifo(tool_workspace.root / "pipe.png")
    tool_workspace.link("linked.png", tool_workspace.outside / "chart.png")
    for path in (
        "out/chart.png",
        "linked.png",
        "../outside/chart.png",
        "pipe.png",
        "gone.png",
        "src",
    ):
        assert not tool_workspace.call("show_image", path=path).ok
    (tool_workspace.outside / "chart.png").unlink()
    tool_workspace.assert_outside_is_unchanged()


def test_it_is_there_only_where_pictures_can_be_shown() -> None:
    assert make_default_tools().get("show_image") is None
    tool = make_default_tools(images=True).get("show_image")
    assert tool is not None
    assert tool.policy.read_only
