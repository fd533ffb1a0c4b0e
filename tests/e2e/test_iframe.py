"""The page `/agentstepper/app` in a frame under a cell, as the guide shows it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import NewLab
from .jupyter import BASE_URL
from .lab import DebuggerView, Lab
from .test_several_agents import choose

FRAME = f"""\
%load_ext agentstepper_nb
from IPython.display import IFrame

IFrame("{BASE_URL}agentstepper/app", "100%", 520)"""

# On the kernel's main thread: while it is halted the kernel handles nothing.
AGENT = """\
%%step framed --main
with dbg.tool("look", {"at": "boats"}) as tool:
    tool.result = "three boats"
print(tool.result)"""


def framed(lab: Lab) -> DebuggerView:
    """The debugger in the frame."""
    return DebuggerView(lab.outputs(0).frame_locator("iframe").locator(".as-Root"))


@pytest.mark.soak  # what is in the frame is test_page's
def test_a_frame_steps_and_is_back_after_a_reload(own_tab: NewLab) -> None:
    lab = own_tab([FRAME, AGENT])
    lab.run(0)
    view = framed(lab)
    expect(view.state).to_be_visible()
    lab.run(1)
    lab.view(1).expect_state("Halted before tool call")
    choose(view, "framed")
    view.expect_state("Halted before tool call")
    view.press("Step")
    view.expect_state("Halted after tool call")
    lab.save()
    lab.reload()
    view = framed(lab)
    view.expect_state("Halted after tool call")
    view.press("Continue")
    view.expect_state("Finished")
    assert lab.errors == []
