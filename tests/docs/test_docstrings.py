"""The examples in docstrings run as they are printed, in the reader's place."""

from __future__ import annotations

import builtins
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from agentstepper_nb import errors
from notebooks.driver import Driver
from tests.docs.conftest import Environment, start_core, stranger
from tests.docs.docstrings import PACKAGE, list_examples
from tests.docs.programs import ForkedPrograms

EXAMPLES = {example.place: example for example in list_examples()}
#: The one that starts a cluster of Dask: `tests/fleet/test_guide.py` runs it.
OF_FLEET = "fleet/fleet.py Fleet"
ERRORS = "errors.py"
#: The worker runs all sessions: a process for each imports for longer than a session takes.
SERVE = "agentstepper serve --client-port 0 --ui-port 0 --worker-isolation none"
#: What many of them import.
IMPORTED = (
    "openai",
    "pytest",
    "requests",
    "agentstepper_nb.chat.chat",
    "agentstepper_nb.chat.connectors.coding_agent",
    "agentstepper_nb.coding.session",
    "agentstepper_nb.models.scripted",
    "agentstepper_nb.runtime.client",
    "agentstepper_nb.sdk",
    "agentstepper_nb.widgets.chat_widget",
)

#: A model that says "Done." to everything.
MODEL = """\
import os
from agentstepper_nb.models.scripted import Script, ScriptRule, ScriptedServer, always, say
model_server = ScriptedServer(Script("any", [ScriptRule(always, say("Done."))])).start()
os.environ.update(OPENAI_BASE_URL=model_server.base_url, OPENAI_API_KEY="any")
"""
REPO = """\
from pathlib import Path
Path("repo").mkdir(exist_ok=True)
"""
CHAT = "from agentstepper_nb import Chat\n"
OUTSIDE = f"""{CHAT}
from agentstepper_nb.chat import AsyncChatClient, ChatClient
own = Chat(lambda message: f"You said: {{message}}")
address, token = own.address, own.issue_token("talk")
"""
CONNECTORS = "from agentstepper_nb.chat.connectors import *\n"


class Setting(NamedTuple):
    """What an example takes as given, and what shows that it did what it says.

    Args:
        before: What a reader has before it.
        after: Prints what came of it.
        prints: What is printed.
    """

    before: str = ""
    after: str = ""
    prints: str = ""


SETTINGS = {
    "chat/chat.py Chat": Setting(
        CHAT, "print(chat.messages[-1].content)\nchat.close()", "You said: Hello!"
    ),
    "chat/connector.py InterpreterABC": Setting(
        CHAT + "from agentstepper_nb.chat import InterpreterABC",
        'with Chat(Parrot()) as chat:\n    chat.send("Hi")\n    print(chat.messages[-1].content)',
        "You said: Hi",
    ),
    "chat/connectors/background_agent.py BackgroundAgent": Setting(
        CHAT + CONNECTORS, 'print("cats" in chat.messages[-1].content.lower())', "True"
    ),
    "chat/connectors/coding_agent.py CodingAgent": Setting(
        MODEL + REPO + CHAT + CONNECTORS, "print(chat.messages[-1].content)", "Done."
    ),
    "chat/connectors/endpoint_agent.py EndpointAgent": Setting(
        MODEL + CONNECTORS, "print(weather.__doc__)", "Say what the weather is like in a city."
    ),
    "chat/connectors/function_agent.py FunctionAgent": Setting(
        CHAT + CONNECTORS + "from agentstepper_nb.chat import Message\n"
        "from agentstepper_nb.chat.outputs import confirmation",
        "for agent in (parrot, counting):\n"
        "    with Chat(agent) as chat:\n"
        '        chat.send("Hi")\n'
        "        print(chat.messages[-1].content)\n"
        "with Chat(careful) as chat:\n"
        '    chat.send("Hi")\n'
        '    chat.choose("Yes")\n'
        "    print(chat.messages[-1].content)",
        "You said: Hi\n0 1 2 \nThere were 0 messages before “Hi”.",
    ),
    "chat/connectors/registry.py make_connector": Setting(
        MODEL + CONNECTORS + "my_function = lambda message: message"
    ),
    "chat/remote/client.py AsyncChatClient": Setting(OUTSIDE, prints="You said: How far are you?"),
    "chat/remote/client.py ChatClient": Setting(OUTSIDE, prints="You said: How far are you?"),
    "chat/streams.py StreamWrapper": Setting(
        "from agentstepper_nb.chat import StreamWrapper\npieces = [1, 2]", "print(message)", "2"
    ),
    "coding/orchestrator.py AgentOrchestrator": Setting(
        MODEL + REPO + "from agentstepper_nb.coding.orchestrator import AgentOrchestrator\n"
        "from agentstepper_nb.coding.policy import DefaultPolicyEngine\n"
        "from agentstepper_nb.coding.tools import make_default_tools\n"
        "from agentstepper_nb.coding.workspace import LocalWorkspace\n"
        "from agentstepper_nb.models.registry import create_provider\n"
        'provider = create_provider("openai", "gpt-5-mini")\n'
        'workspace, policy = LocalWorkspace(Path("repo")), DefaultPolicyEngine()',
        "print(len(result.messages))",
        "4",
    ),
    "coding/session.py CodingSession": Setting(
        MODEL + REPO + "from agentstepper_nb.coding.session import CodingSession\n"
        "from agentstepper_nb.discover import data_dir",
        "print(result.reason)",
        "done",
    ),
    "coding/session_log.py SessionLog": Setting(
        "from pathlib import Path\n"
        "from agentstepper_nb.coding.session_log import SessionLog, UserPromptEntry\n"
        'path = Path("log.jsonl")',
        'print("fix the tests" in path.read_text())',
        "True",
    ),
    "coding/tool.py StructTool": Setting(
        "from msgspec import Struct\n"
        "from agentstepper_nb.coding.tool import StructTool, ToolContext, ToolPolicy, ToolResult",
        "print(CountLines().name)",
        "count_lines",
    ),
    "hub/extensions.py Extension": Setting(
        "from agentstepper_nb.extend import Actor, Extension",
        "print(list(extension.event_types))",
        "['retrieval']",
    ),
    "instrument/custom_transport.py trace_request": Setting(
        MODEL + "import requests\n"
        "from agentstepper_nb.instrument import trace_request\n"
        'url = f"{model_server.base_url}/chat/completions"\n'
        'body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}',
        'print(answer["choices"][0]["message"]["content"])',
        "Done.",
    ),
    "instrument/endpoints.py register_endpoint": Setting(
        "from agentstepper_nb.instrument import register_endpoint"
    ),
    "models/scripted/__init__.py": Setting(
        "import openai\nfrom agentstepper_nb.models.scripted import *",
        "print(script.name)",
        "greeter",
    ),
    "runtime/client/agents.py AsyncAgents": Setting(
        "from agentstepper_nb import AsyncAgents", "print(len(session) > 0)", "True"
    ),
    "runtime/client/agents.py Agents": Setting(
        "from agentstepper_nb import Agents", "print(len(session) > 0)", "True"
    ),
    "sdk/async_stepper.py AsyncAgentStepper": Setting(
        "from agentstepper_nb import AsyncAgentStepper\n"
        'prompt = "Hi"\n'
        'async def call_model(prompt):\n    return f"{prompt}!"',
        "print(q.response)",
        "Hi!",
    ),
    "sdk/stepper.py AgentStepper": Setting(
        "from agentstepper_nb import AgentStepper\n"
        'prompt, call_model = "Hi", lambda prompt: f"{prompt}!"\n'
        "run_tool = lambda name, args: [name, args]",
        "print(q.response, t.result)",
        "Hi! ['search', {'q': 'cats'}]",
    ),
    "sdk/stepper.py event": Setting(
        "from agentstepper_nb import AgentStepper\n"
        'dbg, search = AgentStepper("my agent"), lambda query: [f"two {query}"]',
        "print(e.result)\ndbg.close()",
        "['two boats']",
    ),
    "sdk/stepper.py spawn": Setting(
        "import sys\n"
        "from agentstepper_nb import AgentStepper\n"
        """open("agent.py", "w").write("print('A child.')")\n"""
        'dbg = AgentStepper("my agent")',
        "dbg.close()",
        "A child.",
    ),
    "store/runtime/conformance/__init__.py": Setting(
        "from pathlib import Path\n"
        "import pytest\n"
        "from agentstepper_nb.store.runtime.conformance import RuntimeStoreConformance\n"
        "from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore\n"
        "class MyStore(SqliteRuntimeStore):\n"
        "    def __init__(self, folder):\n"
        '        super().__init__(folder / "mine.sqlite")',
        "suite = TestMyStore()\n"
        "suite.path = Path.cwd()\n"
        "suite.test_a_cursor_never_goes_back()\n"
        "print(suite.path.joinpath('mine.sqlite').exists())",
        "True",
    ),
    "widgets/chat_widget.py ChatWidget": Setting("from agentstepper_nb import ChatWidget"),
    "widgets/fleet_widget.py FleetWidget": Setting("from agentstepper_nb import FleetWidget"),
}

TOML = [place for place, example in EXAMPLES.items() if example.text.startswith("[project")]


def test_every_example_is_run() -> None:
    assert {*SETTINGS, *TOML, OF_FLEET, ERRORS} == {*EXAMPLES}
    assert len(EXAMPLES) == len(list_examples())


def test_no_example_stands_where_none_is_looked_for() -> None:
    found = [
        path for path in PACKAGE.rglob("*.py") if re.search(r"^\s*>>> ", path.read_text(), re.M)
    ]
    assert found == []


# ---- programs ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A Core that starts a worker, and a person who presses Step."""
    home = tmp_path_factory.mktemp("home")
    environment = stranger(home)
    served = start_core(SERVE, environment)
    driver = Driver(served.uis)
    with pytest.MonkeyPatch.context() as patch:  # where the person finds the Core and its token
        patch.setenv("JUPYTER_RUNTIME_DIR", environment["JUPYTER_RUNTIME_DIR"])
        driver.start()
    yield environment
    driver.stop()
    served.stop()


@pytest.mark.slow
@pytest.mark.parametrize("place", SETTINGS)
def test_it_runs(
    place: str, environment: Environment, programs: ForkedPrograms, tmp_path: Path
) -> None:
    setting, example = SETTINGS[place], EXAMPLES[place]
    program = tmp_path / "example.py"
    program.write_text(f"{setting.before}\n{example.text}\n{setting.after}\n")
    done = programs.run("python example.py", environment, tmp_path, *IMPORTED)
    assert done.returncode == 0, done.stderr
    assert setting.prints in done.stdout


# ---- what is no program ------------------------------------------------------------------------------


@pytest.mark.parametrize("place", TOML)
def test_an_entry_point_is_of_a_group_that_is_read(place: str) -> None:
    for group in tomllib.loads(EXAMPLES[place].text)["project"]["entry-points"]:
        constant = re.compile(rf'^\w+: Final = "{group}"$', re.M)
        assert any(constant.search(path.read_text()) for path in PACKAGE.rglob("*.py"))


def test_the_tree_of_errors_is_as_drawn() -> None:
    parents: list[str] = []
    for line in EXAMPLES[ERRORS].text.splitlines():
        indent, name, bases = re.match(r"([│├└─ ]*)(\w+)(?: \(([\w, ]+)\))?", line).groups()  # type: ignore[union-attr]
        depth = len(indent) // 4
        parents[depth:] = [name]
        error = getattr(errors, name, None) or getattr(builtins, name)
        for base in (*parents[depth - 1 : depth], *(bases or "").split(", ")):
            if base:
                known = getattr(errors, base, None) or getattr(builtins, base)
                assert issubclass(error, known), f"{name} is no {base}"
