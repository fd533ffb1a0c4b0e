"""The example's agent, with nobody at the debugger and with somebody who edits."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from openai import OpenAI

from agentstepper_nb.models.scripted import ScriptedServer, load_script
from agentstepper_nb.models.scripted.scripts.fix_tests import GUESSED_LINE, RIGHT_LINE
from examples import fix_tests as example
from tests.helpers.forked_python import fork_programs


@dataclass
class PassThroughStepper:
    """What the agent sees of a debugger; its person edits with plain functions."""

    edit_prompt: Callable[[Any], Any] = lambda prompt: prompt
    edit_args: Callable[[str, Any], Any] = lambda name, args: args
    edit_result: Callable[[str, Any], Any] = lambda name, result: result
    prompts: list[Any] = field(default_factory=list)
    responses: list[Any] = field(default_factory=list)
    tools: list[tuple[str, Any, Any]] = field(default_factory=list)
    commits: int = 0
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def llm(self, prompt: Any) -> Iterator[SimpleNamespace]:
        query = SimpleNamespace(prompt=self.edit_prompt(prompt), response=None)
        yield query
        json.dumps(query.response)
        self.prompts.append(query.prompt)
        self.responses.append(query.response)

    @contextmanager
    def tool(self, name: str, args: Any) -> Iterator[SimpleNamespace]:
        call = SimpleNamespace(name=name, args=self.edit_args(name, args), result=None)
        yield call
        call.result = self.edit_result(name, call.result)
        self.tools.append((call.name, call.args, call.result))

    def commit_agent_changes(self) -> bool:
        self.commits += 1
        return True

    def post_debug_message(self, message: str) -> None:
        self.notes.append(message)


@pytest.fixture(autouse=True)
def without_plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The project's own tests need none of those that are installed here."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    with fork_programs():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return example.prepare(tmp_path / "project")


@pytest.fixture
def client() -> Iterator[OpenAI]:
    with (
        ScriptedServer(load_script("fix_tests")) as server,
        OpenAI(base_url=server.base_url, api_key="any") as client,
    ):
        yield client


def run(dbg: PassThroughStepper, folder: Path, client: OpenAI) -> bool:
    return example.fix_tests(dbg, folder, client, "m")  # type: ignore[arg-type]


def correct(name: str, args: Any) -> Any:
    if name != "write_file":
        return args
    return {**args, "content": args["content"].replace(GUESSED_LINE, RIGHT_LINE)}


def says(dbg: PassThroughStepper) -> str:
    return str(dbg.responses[-1]["content"])


def read_contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


TOOLS_USED = ["run_tests", "read_file", "write_file", "run_tests"]


@pytest.mark.slow
def test_left_alone_the_model_leaves_the_tests_red(folder: Path, client: OpenAI) -> None:
    before = read_contents(folder)
    dbg = PassThroughStepper()
    assert not run(dbg, folder, client)
    after = read_contents(folder)
    assert set(after) == set(before) == {"cart.py", "pyproject.toml", "test_cart.py"}
    assert {name for name in after if after[name] != before[name]} == {"cart.py"}
    assert [name for name, _, _ in dbg.tools] == TOOLS_USED
    results = [result.splitlines()[0] for _, _, result in dbg.tools]
    assert results == [
        "exit code 1",
        '"""What a shopping cart costs."""',
        "wrote 268 characters to cart.py",
        "exit code 1",
    ]
    assert GUESSED_LINE in (folder / "cart.py").read_text()
    assert says(dbg) == "The tests still fail. My fix was wrong, and I stop here."
    assert dbg.notes == ["The tests fail."]
    assert dbg.commits == 4


def test_with_its_arguments_corrected_the_tests_go_green(folder: Path, client: OpenAI) -> None:
    dbg = PassThroughStepper(edit_args=correct)
    assert run(dbg, folder, client)
    assert [name for name, _, _ in dbg.tools] == TOOLS_USED
    assert dbg.tools[-1][2].splitlines()[0] == "exit code 0"
    assert says(dbg) == "All tests pass."
    assert dbg.notes == ["The tests pass."]


def test_an_edited_prompt_changes_what_it_does(folder: Path, client: OpenAI) -> None:
    def edit(prompt: Any) -> Any:
        return json.loads(json.dumps(prompt).replace(example.TASK, "Only list the files."))

    dbg = PassThroughStepper(edit_prompt=edit)
    assert not run(dbg, folder, client)
    assert [name for name, _, _ in dbg.tools] == ["list_files"]
    assert says(dbg) == "There are 3 files: cart.py, pyproject.toml, test_cart.py."


def test_the_edit_of_one_prompt_stays_in_the_conversation(folder: Path, client: OpenAI) -> None:
    edits = iter(["Only list the files.", example.TASK])

    def edit(prompt: Any) -> Any:
        task = next(edits)
        return json.loads(json.dumps(prompt).replace(example.TASK, task))

    dbg = PassThroughStepper(edit_prompt=edit)
    run(dbg, folder, client)
    assert [prompt["messages"][1]["content"] for prompt in dbg.prompts] == [
        "Only list the files."
    ] * 2


@pytest.mark.slow
def test_it_can_be_turned_round_in_the_middle(folder: Path, client: OpenAI) -> None:
    def edit(prompt: Any) -> Any:
        if len(prompt["messages"]) < 6:
            return prompt
        return json.loads(json.dumps(prompt).replace(example.TASK, "Stop. Only list the files."))

    dbg = PassThroughStepper(edit_prompt=edit)
    run(dbg, folder, client)
    assert [name for name, _, _ in dbg.tools] == ["run_tests", "read_file", "list_files"]
    assert says(dbg).startswith("There are 3 files")


@pytest.mark.slow
def test_an_edited_result_is_what_the_model_hears(folder: Path, client: OpenAI) -> None:
    dbg = PassThroughStepper(edit_result=lambda name, result: "exit code 0\n3 passed")
    assert not run(dbg, folder, client)  # believed by the model, not by the agent
    assert [name for name, _, _ in dbg.tools] == ["run_tests"]
    assert says(dbg) == "All tests pass."


@pytest.mark.soak  # tests/models/test_scripted_server: another server gives the same answer
def test_two_runs_say_the_same(tmp_path: Path, client: OpenAI) -> None:
    first, second = PassThroughStepper(), PassThroughStepper()
    run(first, example.prepare(tmp_path / "a"), client)
    run(second, example.prepare(tmp_path / "b"), client)
    assert first == second


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("read_file", '{"path": "../secret"}', "lies outside the project"),
        ("read_file", '{"path": "/etc/passwd"}', "lies outside the project"),
        ("read_file", '{"path": "no.py"}', "FileNotFoundError"),
        ("read_file", '{"file": "cart.py"}', "unexpected keyword argument"),
        ("read_file", '{"path": ', "JSONDecodeError"),
        ("dance", "{}", "KeyError('dance')"),
    ],
)
def test_the_model_is_told_its_mistakes(
    folder: Path, name: str, arguments: str, error: str
) -> None:
    call = {"name": name, "arguments": arguments}
    result = example.use_tool(PassThroughStepper(), folder, call)  # type: ignore[arg-type]
    assert result.startswith("error: ")
    assert error in result


def test_the_tools_as_the_model_sees_them() -> None:
    write_file = example.schema(example.write_file)
    assert write_file == {
        "type": "function",
        "function": {
            "name": "write_file",
            "description": "Write a file of the project, whole.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"],
            },
        },
    }


def test_hidden_files_are_not_listed(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").touch()
    (folder / "sub").mkdir()
    (folder / "sub" / "x.py").touch()
    assert example.list_files(folder).split() == [
        "cart.py",
        "pyproject.toml",
        "sub/x.py",
        "test_cart.py",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("corrected", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_offline_it_needs_no_endpoint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, corrected: bool
) -> None:
    asked: list[Any] = []

    def agent_stepper(name: str, agent_workspace_path: str) -> Any:
        asked.append((name, Path(agent_workspace_path).parent))
        return nullcontext(
            PassThroughStepper(edit_args=correct) if corrected else PassThroughStepper()
        )

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(example, "AgentStepper", agent_stepper)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert example.main(offline=True) is corrected
    assert asked == [("fix-tests", tmp_path)]


def test_without_an_endpoint_it_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SystemExit, match="OPENAI_BASE_URL and OPENAI_API_KEY, or pass --offline"):
        example.main()
