"""An agent of a framework that isn't ours, smolagents, under the debugger.

    pip install 'smolagents[openai]'
    python examples/third_party_smolagents.py --offline

The lines that are there for the debugger say `dbg`: they trace the framework's own calls of the model
and of the tools. The rest is as in `examples/fix_tests.py`, whose tools are used.
"""

import argparse
import os
import tempfile
from pathlib import Path

from fix_tests import TASK, prepare, read_file, run_tests, write_file
from smolagents import ActionStep, OpenAIModel, Tool, ToolCallingAgent, tool

from agentstepper_nb import AgentStepper  # dbg
from agentstepper_nb.models.scripted import ScriptedServer, load_script

SCRIPT = Path(__file__).with_name("third_party_script.py")


def tools_for(folder: Path) -> list[Tool]:
    """The tools as smolagents wants them: functions with types, and a text on each argument."""

    @tool
    def read(path: str) -> str:
        """Read a file of the project.

        Args:
            path: The file.
        """
        return read_file(folder, path)

    @tool
    def write(path: str, content: str) -> str:
        """Write a file of the project, whole.

        Args:
            path: The file.
            content: What it will hold.
        """
        return write_file(folder, path, content)

    @tool
    def test() -> str:
        """Run the tests of the project with pytest."""
        return run_tests(folder)

    return [read, write, test]


def work(folder: Path, model: OpenAIModel) -> str:
    """Let an agent work on a folder; what it says at the end."""
    agent = ToolCallingAgent(tools_for(folder), model, max_steps=8)
    with AgentStepper("smolagents", agent_workspace_path=folder, to_json=to_json) as dbg:
        dbg.wrap(model.client, "chat.completions.create", "llm")
        for each in agent.tools.values():  # dbg
            dbg.wrap(each, "forward", name=each.name)
        agent.step_callbacks.register(ActionStep, lambda _: dbg.commit_agent_changes())
        return str(agent.run(TASK))


def to_json(value: object) -> object:  # dbg
    return value.model_dump()  # dbg: answers of the client


def main(folder: Path | None = None, *, offline: bool = False) -> str:
    """Run the agent on a folder, or on a fresh copy of the sample; offline by a scripted model."""
    folder = folder or prepare(Path(tempfile.mkdtemp(prefix="fix-tests-")))
    if not offline:
        return work(folder, OpenAIModel(os.environ.get("OPENAI_MODEL", "gpt-5-mini")))
    with ScriptedServer(load_script(str(SCRIPT))) as server:
        return work(folder, OpenAIModel("scripted", api_base=server.base_url, api_key="offline"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--offline", action="store_true")
    print(main(**vars(parser.parse_args())))
