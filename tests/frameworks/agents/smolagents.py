"""Agents of smolagents, as their author would write them: nothing here knows the debugger."""

import time

from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool
from smolagents.monitoring import LogLevel


@tool
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return a + b


@tool
def search(text: str) -> str:
    """Search for a text.

    Args:
        text: The text.
    """
    return f"found {text}"


@tool
def slow() -> str:
    """Work for a while."""
    time.sleep(0.1)
    return "worked"


QUIET = LogLevel.OFF
TOOLS = [add, search, slow]
TEMPLATES = {"task": "{{task}}", "report": "{{final_answer}}"}


class Agent:
    def __init__(self, url):
        self._model = OpenAIModel("m", api_base=url, api_key="any")

    def _agent(self, **options):
        helper = ToolCallingAgent(
            [add], self._model, name="delegate", description="Answers.", verbosity_level=QUIET
        )
        helper.prompt_templates["managed_agent"] = TEMPLATES
        # An agent has one memory, so that two of its runs at once would mix theirs.
        colleague = ToolCallingAgent(
            [add], self._model, name="colleague", description="Answers.", verbosity_level=QUIET
        )
        colleague.prompt_templates["managed_agent"] = TEMPLATES
        return ToolCallingAgent(
            TOOLS,
            self._model,
            name="main",
            managed_agents=[helper, colleague],
            verbosity_level=QUIET,
            **options,
        )

    def sync(self, text):
        return self._agent().run(text)

    def stream(self, text):
        *_, last = self._agent(stream_outputs=True).run(text, stream=True)
        return last.output

    def code(self, text):
        helper = CodeAgent(
            [add], self._model, name="delegate", description="Answers.", verbosity_level=QUIET
        )
        helper.prompt_templates["managed_agent"] = TEMPLATES
        agent = CodeAgent(
            TOOLS,
            self._model,
            name="main",
            managed_agents=[helper],
            executor_kwargs={"timeout_seconds": 1},
            verbosity_level=QUIET,
        )
        return agent.run(text)
