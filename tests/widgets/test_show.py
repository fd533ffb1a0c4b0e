"""`show()`: one output that every front end reads the richest part of, and its renewal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from agentstepper_nb.widgets import display_view

VIEW = "application/vnd.agentstepper.view+json"


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
    shown = display_view("r-1", follow=True)
    assert shown.run == "r-1"
    (output,) = published
    data = output["data"]
    assert set(data) == {
        VIEW,
        "text/html",
        "text/plain",
    }  # and no widget, whose state would be saved
    assert data[VIEW] == {"run": "r-1", "follow": True, "height": 520}
    assert data["text/html"].startswith("<p>AgentStepper: the view of run r-1. JupyterLab 4")
    assert data["text/plain"].startswith("AgentStepper: the view of run r-1.")
    assert not output["update"]


def test_the_newest_run(published: list[dict[str, Any]]) -> None:
    assert display_view().run == ""
    assert published[0]["data"][VIEW] == {"run": "", "follow": False, "height": 520}
    assert "your agents’ runs" in published[0]["data"]["text/html"]


def test_a_hostile_id_is_text(published: list[dict[str, Any]]) -> None:
    display_view("<script>")
    assert "run &lt;script&gt;" in published[0]["data"]["text/html"]


def test_keeping_a_page_renews_nothing_else(published: list[dict[str, Any]]) -> None:
    shown = display_view("r-1")
    shown.set_fallback("<p>first</p>")
    shown.set_fallback("<p>second</p>")
    before, first, second = published
    assert first["update"] and second["update"]
    assert before["transient"] == first["transient"] == second["transient"]
    kept = before["data"] | {VIEW: before["data"][VIEW] | {"kept": True}}
    assert first["data"] == kept | {"text/html": "<p>first</p>"}
    assert second["data"] == kept | {"text/html": "<p>second</p>"}
    assert second["metadata"] == before["metadata"]


def test_a_terminal_is_left_alone(published: list[dict[str, Any]]) -> None:
    shell: Any = InteractiveShell.instance()
    kernel = shell.kernel
    del shell.kernel
    display_view("r-1").set_fallback("<p>page</p>")
    shell.kernel = kernel
    assert len(published) == 1


def test_plain_python_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    display_view("r-2").set_fallback("<p>page</p>")
    assert capsys.readouterr().out.count("the view of run r-2") == 1
