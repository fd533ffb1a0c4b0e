"""`show()`: one output that every front end reads the richest part of, and its renewal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from agentstepper_nb.widgets import DebuggerWidget, debugger, show

VIEW = "application/vnd.agentstepper.view+json"
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def published() -> Iterator[list[dict[str, Any]]]:
    """What IPython's shell publishes, in a kernel."""
    shell = InteractiveShell.instance()
    publisher, shell.display_pub = shell.display_pub, CapturingDisplayPublisher()
    shell.kernel = object()  # what a kernel's shell has
    yield shell.display_pub.outputs
    del shell.kernel
    shell.display_pub = publisher
    InteractiveShell.clear_instance()


def test_every_front_end_finds_its_part(published: list[dict[str, Any]]) -> None:
    shown = show("r-1", follow=True)
    assert shown.run == "r-1"
    (output,) = published
    data = output["data"]
    assert list(data) == [VIEW, "text/plain", WIDGET, "text/html"]
    assert data[VIEW] == {"run": "r-1", "follow": True, "height": 520}
    assert data["text/html"].startswith("<p>AgentStepper: run r-1. The live view")
    assert data["text/plain"].startswith("AgentStepper: the view of run r-1.")
    assert not output["update"]


def test_the_newest_run(published: list[dict[str, Any]]) -> None:
    assert show().run == ""
    assert published[0]["data"][VIEW] == {"run": "", "follow": False, "height": 520}
    assert "your agents’ runs" in published[0]["data"]["text/html"]


def test_a_hostile_id_is_text(published: list[dict[str, Any]]) -> None:
    show("<script>")
    assert "run &lt;script&gt;" in published[0]["data"]["text/html"]


def test_without_a_core_in_the_server_the_view_comes_through_the_kernel(
    published: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Indirect(DebuggerWidget):
        direct: ClassVar[bool] = False

    monkeypatch.setattr(debugger, "_make", lambda run, follow: Indirect(run=run, follow=follow))
    show("r-1")
    assert set(published[0]["data"]) == {"text/plain", WIDGET, "text/html"}


def test_keeping_a_page_renews_nothing_else(published: list[dict[str, Any]]) -> None:
    shown = show("r-1")
    shown.keep("<p>first</p>")
    shown.keep("<p>second</p>")
    before, first, second = published
    assert first["update"] and second["update"]
    assert before["transient"] == first["transient"] == second["transient"]
    assert first["data"] == before["data"] | {"text/html": "<p>first</p>"}
    assert second["data"] == before["data"] | {"text/html": "<p>second</p>"}
    assert second["metadata"] == before["metadata"]


def test_a_terminal_is_left_alone(published: list[dict[str, Any]]) -> None:
    shell: Any = InteractiveShell.instance()
    kernel = shell.kernel
    del shell.kernel
    show("r-1").keep("<p>page</p>")
    shell.kernel = kernel
    assert len(published) == 1


def test_plain_python_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    show("r-2").keep("<p>page</p>")
    assert capsys.readouterr().out.count("the view of run r-2") == 1
