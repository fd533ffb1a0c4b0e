"""The widget, as far as it is Python: what travels, and what stands where it can't be shown."""

from __future__ import annotations

from gzip import compress
from pathlib import Path

import pytest
import traitlets

from agentstepper_nb.static_files import NotBuiltError, find_built_file
from agentstepper_nb.widgets import DebuggerWidget, display_view


def test_fallback_says_what_it_is_and_what_to_do() -> None:
    bundle, _ = DebuggerWidget(run="r-1")._repr_mimebundle_() or ({}, {})
    text = bundle["text/plain"]
    assert "the view of run r-1" in text
    assert "agentstepper step" in text
    assert text == repr(DebuggerWidget(run="r-1"))
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_only_what_the_view_needs_to_begin_travels() -> None:
    ours = {"run", "follow", "base_url", "height", "_esm"}
    state = DebuggerWidget(run="r-1", base_url="/b/", height=300).get_state()
    assert {key: state[key] for key in ("run", "base_url", "height")} == {
        "run": "r-1",
        "base_url": "/b/",
        "height": 300,
    }
    inherited = {"layout", "tabbable", "tooltip"}
    assert {key for key in state if not key.startswith("_")} - inherited == ours - {"_esm"}
    assert len(compress(state["_esm"].encode())) <= 4096  # it is sent again with every view


@pytest.mark.parametrize("height", [239, 1201])
def test_height_has_bounds(height: int) -> None:
    with pytest.raises(traitlets.TraitError):
        DebuggerWidget(height=height)


def test_show_displays_once(capsys: pytest.CaptureFixture[str]) -> None:
    display_view("r-2")
    assert capsys.readouterr().out.count("the view of run r-2") == 1


@pytest.mark.parametrize("manifest", [None, "", "[]", "{}", '{"app": null}', '{"app": "gone.js"}'])
def test_not_built(tmp_path: Path, manifest: str | None) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(NotBuiltError, match="make js"):
        find_built_file("app", tmp_path)


def test_built(tmp_path: Path) -> None:
    (tmp_path / "app.1.js").touch()
    (tmp_path / "manifest.json").write_text('{"app": "app.1.js"}')
    assert find_built_file("app", tmp_path) == "app.1.js"
