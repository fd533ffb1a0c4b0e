"""An agent of CrewAI, as its author would write it: nothing here knows the debugger."""

import time

from crewai import LLM, Crew, Task
from crewai import Agent as CrewAgent
from crewai.tools import tool
from crewai.tools.structured_tool import CrewStructuredTool


@tool("add")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool("search")
def search(text: str) -> str:
    """Search for a text."""
    return f"found {text}"


@tool("slow")
def slow() -> str:
    """Work for a while."""
    time.sleep(0.1)
    return "worked"


def add_more(a: int, b: int) -> int:
    """Add two numbers."""
    return add.run(a=a, b=b)


ADD = CrewStructuredTool.from_function(add_more, name="add")


class Agent:
    def __init__(self, url):
        self._url = url

    def _llm(self, **options):
        return LLM(model="openai/gpt-4o", base_url=self._url, api_key="any", **options)

    def _crew(self, text, stream=False, **options):
        llm = self._llm(stream=stream)
        helper = CrewAgent(role="helper", goal="Help.", backstory="You help.", llm=llm, tools=[add])

        @tool("delegate")
        def delegate(question: str) -> str:
            """Let a helper answer."""
            return helper.kickoff(question).raw

        agent = CrewAgent(
            role="main",
            goal="Help.",
            backstory="You help.",
            llm=llm,
            tools=[add, search, slow, delegate],
            max_execution_time=60,
        )
        task = Task(description=text, expected_output="An answer.", agent=agent)
        return Crew(agents=[agent], tasks=[task], **options)

    def sync(self, text):
        return self._crew(text).kickoff().raw

    async def asynchronous(self, text):
        return (await self._crew(text).akickoff()).raw

    def stream(self, text):
        output = self._crew(text, stream=True).kickoff()
        return output.raw

    def layered(self, text):
        return str(ADD.invoke({"a": 2, "b": 3}))

    def nested(self, text):
        helper = CrewAgent(
            role="helper", goal="Help.", backstory="You help.", llm=self._llm(), tools=[add]
        )

        @tool("add")
        def add_by_helper(a: int, b: int) -> str:
            """Let a helper add two numbers."""
            return helper.kickoff("add").raw

        agent = CrewAgent(
            role="main", goal="Help.", backstory="You help.", llm=self._llm(), tools=[add_by_helper]
        )
        return agent.kickoff(text).raw
