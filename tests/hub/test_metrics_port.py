"""`/agentstepper/metrics` of a Core of its own: on both ports, for who has the control token."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from agentstepper_nb.hub import AgentStepperCore, runtime_options
from agentstepper_nb.hub.runtime_options import RuntimeOptions

CONTROL = "the-control-token"


@pytest.fixture
def core() -> Iterator[AgentStepperCore]:
    agents = RuntimeOptions(has_metrics=True)
    with AgentStepperCore("127.0.0.1", 0, 0, control_token=CONTROL, agents=agents) as core:
        yield core


def fetch(core: AgentStepperCore, port: int | None, token: str | None = None) -> tuple[int, str]:
    assert port is not None
    url = core.url(port).replace("ws:", "http:") + "/agentstepper/metrics"
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as response:
            assert response.headers["Content-Type"].startswith("text/plain; version=")
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_both_ports_serve_figures_to_the_control_token(
    core: AgentStepperCore, caplog: pytest.LogCaptureFixture
) -> None:
    for port in (core.client_port, core.ui_port):
        status, figures = fetch(core, port, CONTROL)
        assert status == 200
        assert "agentstepper_actions_open 0.0" in figures
        for token in (None, "another", core.tokens.agent):
            status, why = fetch(core, port, token)
            assert (status, why[:13]) == (401, "unauthorized:")
    assert caplog.text.count("refused") == 6


def test_core_without_the_option_takes_the_path_for_any_other() -> None:
    with AgentStepperCore("127.0.0.1", 0, None, control_token=CONTROL) as core:
        status, _ = fetch(core, core.client_port, CONTROL)
        assert status == 426  # what isn't a socket is told to be one


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_options, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'agentstepper_nb\[metrics\]'"):
        RuntimeOptions(has_metrics=True)
