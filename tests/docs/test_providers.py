"""`docs/guide/providers.md`: its providers are found by their entry points, and stream."""

from __future__ import annotations

import asyncio
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ToolResultMessage,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
)
from agentstepper_nb.models import registry
from agentstepper_nb.models.openai import OpenAIProvider
from tests.docs.conftest import stranger
from tests.docs.pages import GUIDE, Block, blocks, files, write_files
from tests.docs.programs import ForkedPrograms

PAGE = GUIDE / "providers.md"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The page's package, as an installer leaves it."""
    write_files(PAGE, tmp_path)
    project = tomllib.loads(files(PAGE)["pyproject.toml"])["project"]
    metadata = tmp_path / f"my_providers-{project['version']}.dist-info"
    metadata.mkdir()
    metadata.joinpath("METADATA").write_text(f"Name: {project['name']}\n")
    points = project["entry-points"][registry.ENTRY_POINT_GROUP]
    told = [
        f"[{registry.ENTRY_POINT_GROUP}]",
        *(f"{name} = {value}" for name, value in points.items()),
    ]
    metadata.joinpath("entry_points.txt").write_text("\n".join(told))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("parrot", "deep_thought"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_the_command_needs_no_key(home: Path, programs: ForkedPrograms) -> None:
    (command,) = [block.text.strip() for block in blocks(PAGE) if block.language == "bash"]
    done = programs.run(command, stranger(home), home)
    assert done.returncode == 0, done.stderr
    assert "A debugger walks into a bar and orders otters." in done.stdout


@pytest.mark.parametrize(
    "block",
    [block for block in blocks(PAGE) if block.language != "bash"],
    ids=lambda block: block.name,
)
def test_a_provider_takes_twenty_lines(block: Block) -> None:
    assert block.name
    assert len(block.lines) <= 20


@pytest.mark.usefixtures("installed")
def test_the_parrot_calls_a_tool_and_says_what_came_of_it() -> None:
    parrot = registry.create_provider("parrot", "list_files")

    async def told(*messages: ChatMessage) -> list[AgentEvent]:
        request = ModelRequest(model="list_files", messages=messages)
        return [event async for event in parrot.stream(request)]

    async def converse() -> None:
        prompt = UserMessage(content="What is there?")
        call = ToolCallReady("call_1", "list_files", "{}")
        assert await told(prompt) == [call, ResponseCompleted("tool_calls")]
        result = ToolResultMessage(call_id="call_1", content="a.py")
        answer = await told(prompt, AssistantMessage(), result)
        assert answer == [TextDelta("It says: a.py"), ResponseCompleted("stop")]
        await parrot.close()

    asyncio.run(converse())


@pytest.mark.usefixtures("installed")
def test_deep_thought_asks_its_own_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP_THOUGHT_KEY", "k")
    thought = registry.create_provider("deep-thought", "m")
    assert isinstance(thought, OpenAIProvider)
    client = thought._client
    assert (str(client.base_url), client.api_key) == ("https://models.example/v1/", "k")
    assert thought.name == "deep-thought"


@pytest.mark.usefixtures("installed")
def test_they_are_listed_beside_ours() -> None:
    assert {"deep-thought", "parrot", *registry._BUILT_IN} <= set(registry.list_provider_names())
