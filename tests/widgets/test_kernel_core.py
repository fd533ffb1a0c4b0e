"""A Core inside a process: what it puts where, and who gets in."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

from agentstepper_nb import AgentStepper, add_breakpoint, list_breakpoints
from agentstepper_nb.discover import (
    AGENT_TOKEN_VARIABLE,
    CONTROL_TOKEN_VARIABLE,
    URL_VARIABLE,
    discover_control_endpoint,
    find_own_core,
)
from agentstepper_nb.errors import ConnectionLostError
from agentstepper_nb.widgets import DebuggerWidget, display_view, kernel_core
from agentstepper_nb.widgets.kernel_core import KernelCore
from agentstepper_nb.widgets.kernel_widget import KernelDebuggerWidget


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[KernelCore]:
    # Set, so that they are put back to what they were: nothing.
    monkeypatch.setenv(URL_VARIABLE, "")
    monkeypatch.setenv(AGENT_TOKEN_VARIABLE, "")
    monkeypatch.setenv(CONTROL_TOKEN_VARIABLE, "another Core's")
    core = kernel_core.start_kernel_core("A test wants it.")
    yield core
    kernel_core.close_kernel_core()


def test_one_a_process(core: KernelCore) -> None:
    assert kernel_core.start_kernel_core("again") is core
    assert kernel_core.get_kernel_core() is core
    assert core.reason == "A test wants it."


def test_it_is_what_is_found(core: KernelCore) -> None:
    assert find_own_core() == core.endpoint
    control = discover_control_endpoint()
    assert control.url == core.endpoint.url
    assert control.token != core.endpoint.token  # which never controls
    assert control.token not in os.environ.values()
    with AgentStepper("found", stop_on_entry=False):
        pass
    assert [run.program for run in core.runs()] == ["found"]
    add_breakpoint("any for nobody")
    assert len(list_breakpoints()) == 1


def test_after_its_end_nothing_is_found(core: KernelCore) -> None:
    kernel_core.close_kernel_core()
    kernel_core.close_kernel_core()
    assert kernel_core.get_kernel_core() is None
    assert not {URL_VARIABLE, AGENT_TOKEN_VARIABLE} & set(os.environ)
    with pytest.raises(RuntimeError, match="start"):
        _ = core.loop


def test_what_names_another_core_is_left_alone(
    core: KernelCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, "ws://elsewhere:1")
    monkeypatch.setenv(AGENT_TOKEN_VARIABLE, "another Core's")
    kernel_core.close_kernel_core()
    assert os.environ[URL_VARIABLE] == "ws://elsewhere:1"
    assert os.environ[AGENT_TOKEN_VARIABLE] == "another Core's"


def test_its_token_is_left_to_no_other_core(
    core: KernelCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, "ws://elsewhere:1")
    kernel_core.close_kernel_core()
    assert AGENT_TOKEN_VARIABLE not in os.environ


def test_agents_need_its_token(core: KernelCore) -> None:
    with pytest.raises(ConnectionLostError, match="401"):
        AgentStepper("a stranger", url=core.endpoint.url, token="wrong")
    assert core.endpoint.url.startswith("ws://127.0.0.1:")


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_none(core: KernelCore) -> None:
    child = os.fork()
    if not child:
        os._exit(0 if kernel_core.get_kernel_core() is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert kernel_core.get_kernel_core() is core


def test_which_view_is_shown(core: KernelCore, capsys: pytest.CaptureFixture[str]) -> None:
    display_view("r-1")
    assert "%agentstepper --input" in capsys.readouterr().out
    kernel_core.close_kernel_core()
    display_view("r-1")
    assert "agentstepper step" in capsys.readouterr().out


def test_what_the_view_begins_with(core: KernelCore) -> None:
    state = KernelDebuggerWidget(run="r-1").get_state()
    assert state["via"]["name"] == "through the kernel"
    assert state["via"]["why"].startswith("A test wants it. ")
    assert core.endpoint.token not in repr(state)
    assert "via" not in DebuggerWidget().get_state()


def test_a_view_without_a_core_is_closed_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> KernelCore:
        raise OSError("No port is free.")

    failures: list[object] = []
    monkeypatch.setattr(kernel_core, "start_kernel_core", fails)
    monkeypatch.setattr("sys.unraisablehook", failures.append)
    with pytest.raises(OSError, match="No port is free"):
        KernelDebuggerWidget()
    gc.collect()
    assert failures == []
