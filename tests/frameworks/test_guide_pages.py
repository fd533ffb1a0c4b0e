"""The guide's page of each framework: its agent runs as it is printed, and is stepped and edited."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.models.scripted import ScriptedServer
from tests.docs.pages import GUIDE, blocks, write_files
from tests.frameworks.agent_process import ENVIRONMENTS, HERE, NOTHING_SENT
from tests.frameworks.sampled_rows import FRAMEWORKS, MORE_FRAMEWORKS
from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent, replace
from tests.frameworks.unsupported_rows import separately_installed
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

#: How the page starts its agent.
RUN, CELLS = "agentstepper run", "%%step"
#: The page that `make test` has, and how it starts its agent.
SAMPLED_PAGE = ("langgraph", CELLS)
#: The tool of a page where it isn't `add`, an edit of its call, and what halts after the answer.
BASH: Final = ("bash", replace("b=3", "b=10"), ["bash"])
CODE: Final = ["final_answer", "final_answer's result"]


class PageProcess:
    """The program of a framework's page, in that framework's environment.

    Args:
        framework: The page's name.
        folder: Where its files are written; its home folder, too.
        url: The model's address.
    """

    def __init__(self, framework: str, folder: Path, url: str) -> None:
        self.framework = framework
        self._page = GUIDE / "frameworks" / f"{framework}.md"
        self._bin = ENVIRONMENTS / framework / "bin"
        assert self._bin.exists(), f"{framework} isn't installed: run `make frameworks` first."
        write_files(self._page, folder)
        self._folder = folder
        of_the_model = {
            "OPENAI_BASE_URL": url,
            "OPENAI_API_KEY": "any",
            "ANTHROPIC_BASE_URL": url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "any",
        }
        self._environment = os.environ | NOTHING_SENT | of_the_model | {"HOME": str(folder)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()  # it may halt yet, where the test failed
        self._process.communicate()

    def start(self, name: str, mode: str, text: str) -> None:
        """Start it as the page says."""
        cells = [block.text for block in blocks(self._page) if block.text.startswith("%")]
        assert len(cells) == 2
        command: list[str | Path] = [self._bin / "python", HERE / "run_cells.py"]
        if mode == RUN:
            assert any(
                b.text == "agentstepper run -- python agent.py\n" for b in blocks(self._page)
            )
            command = [self._bin / "agentstepper", "run", "--", self._bin / "python", "agent.py"]
        given = self._folder / "cells.json"
        given.write_text(json.dumps(cells))
        with given.open() as stdin:
            self._process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                cwd=self._folder,
                env=self._environment,
                text=True,
            )

    def end(self) -> str:
        """The last line that it printed."""
        output, _ = self._process.communicate(timeout=TIMEOUT_S)
        assert self._process.returncode == 0
        return output.strip().splitlines()[-1]


@pytest.fixture
def page(
    framework: str, model: ScriptedServer, core: AgentStepperCore, tmp_path: Path
) -> Iterator[SteppedAgent]:
    with (
        PageProcess(framework, tmp_path, model.base_url) as process,
        LiveView(core.ui_port) as person,
    ):
        yield SteppedAgent(process, person, model)


def list_modes() -> list[Any]:
    """Each framework in both modes: `make test` has one mode of one framework."""
    return [
        SAMPLED_PAGE,
        *(
            separately_installed(framework, mode)
            for framework in (*FRAMEWORKS, *MORE_FRAMEWORKS, "mini-swe-agent")
            for mode in (RUN, CELLS)
            if (framework, mode) != SAMPLED_PAGE
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "mode"), list_modes())
def test_its_agent_is_stepped_and_edited(framework: str, mode: str, page: SteppedAgent) -> None:
    tool, change, last = "add", add_ten, CODE if framework == "smolagents" else []
    if framework == "mini-swe-agent":
        tool, change, last = BASH
    page.start(mode, "")
    page.step(QUERY)
    page.step(ANSWER)
    page.edit(tool, change)
    for name in (f"{tool}'s result", QUERY, ANSWER, *last):
        page.step(name)
    assert page.end() == "The tools say: 12"


def add_ten(call: Any) -> Any:
    """The call of a tool with another second argument."""
    return {**call, "Argument": {**call["Argument"], "b": 10}}
