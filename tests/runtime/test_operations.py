"""A Core and its worker as processes: schedules, limits, rates and logs, as a program meets them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import Agents
from agentstepper_nb.cli import main
from agentstepper_nb.errors import CommandError
from tests.helpers.serve_process import ServeProcess

#: Seconds in which something has to happen that takes one or two.
SOON = 60.0
CONTROL = "the-control-token-of-this-test"


class Operated:
    """A Core with limits, and a program that controls it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        command = (sys.executable, "-m", "agentstepper_nb", "serve", "--data", str(folder))
        ports = ("--client-port", "0", "--ui-port", "0", "--control-token", CONTROL)
        self.served = ServeProcess([*command, *ports, *options], is_forked=True)
        self.agents = Agents.connect(self.served.agents, CONTROL)
        self.log: list[dict[str, Any]] = []

    def export(self, run: str) -> str:
        """A run as people read it."""
        file = self._folder / "run.log"
        export = ("export", run, str(file), "--data", str(self._folder))
        assert main([*export]) == 0
        return file.read_text()

    def close(self) -> None:
        """End both; the log is what the Core said."""
        self.agents.close()
        if self.served.process.poll() is None:
            self.log = [json.loads(line) for line in self.served.stop().splitlines()]


@pytest.fixture
def operated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Operated]:
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("URL", "TOKEN", "CONTROL_TOKEN", "WORKER_URL", "WORKER_TOKEN"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
    options = (
        "--log-json",
        "--worker-isolation",
        "none",
        "--max-sessions",
        "2",
        "--model-rate",
        "jokes=6/min",
    )
    operated = Operated(tmp_path / "data", *options)
    yield operated
    operated.close()


@pytest.mark.slow
def test_periodic_creation_delays_limits_and_whole_logs(operated: Operated) -> None:
    agents = operated.agents
    # Its second joke waits ten seconds for the rate, visibly; ending it ends the wait.
    waiting = agents.create_agent("waits", "joke", {"interval_s": 0.01})
    agents.wait_for(waiting, iteration=1, timeout=SOON)

    later = time.time() + 0.3
    heard = agents.send_input("tea", session_id=waiting, not_before=later)
    assert (heard.status, heard.not_before) == ("queued", later)
    with closing(agents.watch(f"session:{waiting}")) as topic:
        done = next(
            action
            for event in topic
            for action in event.actions
            if action.id == heard.id and action.status == "done"
        )
    assert done.processed_at is not None and done.processed_at >= later

    with closing(agents.watch("sessions")) as topic:
        first = agents.create_agent("daily", "joke", max_steps=1, every=3600)
        made = [first]
        for event in topic:
            made += [state.session_id for state in event.states if state.agent_id == "daily"]
            if len(set(made)) == 2:
                break
    second = next(session for session in made if session != first)
    (creation,) = agents.actions(session_id=first)
    series = agents.actions(series_id=creation.id)
    assert [each.session_id for each in series] == [first, second]

    # Two are live: the one that waits for the rate, and the one that waits for its time.
    with pytest.raises(CommandError, match="2 live sessions") as refused:
        agents.create_agent("third", "joke")
    assert (refused.value.code, refused.value.retry_after_s) == ("busy", 5)

    agents.discard_action(creation.id)
    agents.wait_for(second, status="stopped", timeout=SOON)
    agents.destroy(session_id=waiting, timeout_s=0)
    agents.wait_for(waiting, status="stopped", timeout=SOON)

    operated.close()
    lines = operated.log
    assert all(line.keys() >= {"time", "level", "logger", "message"} for line in lines)
    (waited, *_) = [line for line in lines if "rate limit" in line["message"]]
    assert waited["logger"] == "agentstepper_nb.worker"
    assert (waited["session_id"], waited["agent_id"]) == (waiting, "waits")
    assert waited["run_id"] and isinstance(waited["worker"], int)
    runs = [line["run_id"] for line in lines if line["message"].startswith("run ")]
    assert waited["run_id"] in runs
    assert "waits for the Core's rate limit" in operated.export(waited["run_id"])
