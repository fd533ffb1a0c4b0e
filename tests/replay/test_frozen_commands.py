"""Commands whose runs were frozen, started again: they see the recorded time and chance once more."""

from __future__ import annotations

import sys

import pytest

from agentstepper_nb.protocol.start_methods import CommandStart, ForkOrigin
from tests.replay.command_scene import Scene, open_scene, scene
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

__all__ = ["open_scene", "scene"]

#: Calls a tool by what isn't deterministic.
OWN_RUN = """
import random, time
from agentstepper_nb import AgentStepper
with AgentStepper("own", mode="continue", stop_on_entry=False) as dbg:
    look = dbg.traced_tool(lambda word: word, name="look")
    print(look(f"{time.time()} {random.random()}"), flush=True)
"""
#: The same of a program that opens no run.
ATTACHED = """
import httpx, os, random, time
word = f"{time.time()} {random.random()}"
asked = {"model": "m", "messages": [{"role": "user", "content": word}]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
httpx.post(url, json=asked, timeout=None).raise_for_status()
print(word, flush=True)
"""


def record(scene: Scene, program: str, *options: str) -> str:
    """Run a program, which a person lets go on; what it printed."""
    with (
        LiveView(scene.core.ui_port) as person,
        scene.start(*options, "--", sys.executable, "-c", program) as process,
    ):
        if program is ATTACHED:
            person.wait_until(lambda run: bool(run.pending))
            person.resume()
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err) == (0, "")
    return out.strip()


@pytest.mark.slow
@pytest.mark.parametrize("program", [OWN_RUN, ATTACHED], ids=["own", "attached"])
def test_a_frozen_command_is_replayed_exactly(scene: Scene, program: str) -> None:
    printed = record(scene, program, "--freeze")
    recorded = scene.newest
    start = recorded.start_method()
    assert isinstance(start, CommandStart)
    assert start.freezes
    code, out, err = scene.execute("--replay", recorded.id)
    assert (code, out, err) == (0, printed, "")
    replay = scene.newest.start_method()
    assert isinstance(replay, CommandStart)
    assert replay.freezes
    assert scene.newest.forked_from == ForkOrigin(run=recorded.id)


@pytest.mark.slow
def test_a_command_that_is_not_frozen_diverges(scene: Scene) -> None:
    record(scene, OWN_RUN)
    code, out, err = scene.execute("--replay", scene.newest.id)
    assert (code, out) == (1, "")
    assert "Divergence: The replay differs" in err
