"""`%%step` in a real kernel: where the cell runs, what it shows, and how it ends."""

from __future__ import annotations

import asyncio
import re

import pytest

from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.protocol.start_methods import CellStart
from agentstepper_nb.widgets import VIEW_MIME
from tests.widgets.kernel import Kernel
from tests.widgets.person import KernelTestView

#: Reaches one halt point and shows what came back.
ASK = """
print("READY")
with dbg.llm({"q": 1}) as query:
    query.response = query.prompt
"""


def plain(text: str) -> str:
    """A text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# ---- what a cell is --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cell_without_an_agent(kernel: Kernel, person: KernelTestView) -> None:
    ran = kernel.run("%%step\nimport os\nx = 41\nprint('out')\nx + 1")
    assert (ran.status, ran.text, ran.value) == ("ok", "out\n", "42")
    assert kernel.run("_, dbg").value.startswith("(42, <AgentStepper 'My notebook', closed>")
    run = person.wait_until_ended()
    assert (run.program, run.ending) == ("My notebook", RunEnding.FINISHED)


def test_a_run_says_which_cell_it_is(
    kernel: Kernel, person: KernelTestView, core: AgentStepperCore
) -> None:
    assert kernel.run("%%step 'two words' --main\nx = 41\nx + 1").status == "ok"
    reading = core.hub.store.agent_credentials(person.wait_until_ended().id)
    credentials = asyncio.run_coroutine_threadsafe(reading, core.loop).result()
    assert credentials is not None
    assert credentials.start == CellStart(source="x = 41\nx + 1\n", line="'two words' --main")


def test_the_view_stands_above_the_output(kernel: Kernel, person: KernelTestView) -> None:
    ran = kernel.run("%%step named\nprint('out')")
    shown = [c for kind, c in ran.outputs if kind in ("display_data", "stream")]
    view, printed = shown
    run = person.wait_until_ended()
    assert view["data"][VIEW_MIME]["run"] == run.id
    assert run.program == "named"
    assert view["data"]["text/plain"].startswith(f"AgentStepper: the view of run {run.id}")
    assert printed["text"] == "out\n"


@pytest.mark.parametrize(
    "line", ["'two words'", "--main 'two words'", "'two words' --main", '"two words"']
)
def test_names(kernel: Kernel, person: KernelTestView, line: str) -> None:
    assert kernel.run(f"%%step {line}\npass").status == "ok"
    assert person.wait_until_ended().program == "two words"


@pytest.mark.parametrize(
    "line", ["a b", "--nonsense", "--workspace", "'unclosed", "--main --background"]
)
def test_lines_that_are_wrong(
    kernel: Kernel, core: object, person: KernelTestView, line: str
) -> None:
    before = len(person.runs)
    ran = kernel.run(f"%%step {line}\nraise SystemError")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert "usage: %%step [--main | --background | --input] [--workspace DIR]" in str(ran.outputs)
    assert len(person.runs) == before


@pytest.mark.parametrize("line", ["--help", "-h", "named --help"])
def test_help(kernel: Kernel, person: KernelTestView, line: str) -> None:
    before = len(person.runs)
    ran = kernel.run(f"%%step {line}\nraise SystemError")
    assert ran.status == "ok"
    assert ran.text.startswith("usage: %%step [--main")
    assert "--background leaves the kernel free for other cells" in ran.text
    assert len(person.runs) == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("two words", "“words” isn't expected here. Put a name of several words in quotes."),
        ("bob's agent", "Put a name with an apostrophe in double quotes"),
        ("--backgroud", "There is no option --backgroud. Did you mean “--background”?"),
    ],
)
def test_a_line_that_is_wrong_says_what_was_meant(kernel: Kernel, line: str, said: str) -> None:
    assert said in kernel.run(f"%%step {line}\npass").text


def test_blocks_of_a_cell_that_awaits(kernel: Kernel, person: KernelTestView) -> None:
    """At its top level in both forms; in an `async def` of it only in the form that blocks no loop."""
    ran = kernel.run(
        "%%step\nprint('READY')\n"
        "async def agent(dbg):\n"
        "    async with dbg.llm('p') as q:\n"
        "        q.response = 'awaited'\n"
        "    try:\n"
        "        with dbg.llm('p'):\n"
        "            pass\n"
        "    except RuntimeError as error:\n"
        "        return q.response, str(error)\n"
        "import asyncio\n"
        "with dbg.event('plan') as e:\n"
        "    e.result = await agent(dbg)\n"
        "e.result",
        lambda: [person.step() for _ in range(4)],
    )
    assert ran.status == "ok"
    assert "'awaited'" in ran.value
    assert "Write `async with dbg.llm(…)`" in ran.value


WRAPS = """%%step {name}
class Client:
    def ask(self, text):
        return text + "?"

client = globals().get("client") or Client()
undo = dbg.wrap(client, "ask", kind="llm")

@dbg.traced_tool
def add(a, b):
    return a + b

def work():
    return client.ask("one"), add(1, 2)

print("READY")
work()
"""


def test_wraps_outlive_their_cell(kernel: Kernel, person: KernelTestView) -> None:
    """They halt in the run of the cell that calls them, also in a thread of it; elsewhere nowhere."""
    first = kernel.run(WRAPS.format(name="first"), lambda: [person.step() for _ in range(4)])
    assert (first.status, first.value) == ("ok", "('one?', 3)")
    assert kernel.run("work()").value == "('one?', 3)", "it halts nowhere"

    code = "%%step second\nimport threading\nprint('READY')\ngot = []\n"
    code += "t = threading.Thread(target=lambda: got.append(work()))\nt.start(); t.join()\ngot"

    def edit() -> None:
        assert person.wait_until_halted().program == "second"
        person.step_run(person.find_halted_run(), '{"text": "two"}')
        for _ in range(3):
            person.step()

    second = kernel.run(code, edit)
    assert (second.status, second.value) == ("ok", "[('two?', 3)]")
    assert kernel.run("work()").value == "('one?', 3)"


def test_a_cell_that_wraps_is_executed_again(kernel: Kernel, person: KernelTestView) -> None:
    """Its wraps take the place of the earlier ones: a call is one event."""
    for name in ("first", "again"):
        ran = kernel.run(WRAPS.format(name=name), lambda: [person.step() for _ in range(4)])
        assert (ran.status, ran.value) == ("ok", "('one?', 3)")
    kernel.run("undo(); undo(); plain = 'ask' in vars(client)")
    assert kernel.run("plain").value == "False"
    ran = kernel.run("%%step after\nclient.ask('three')")
    assert ran.value == "'three?'"


def test_variables_in_the_line(kernel: Kernel, person: KernelTestView, folder: object) -> None:
    kernel.run("import pathlib; place = pathlib.Path('place'); place.mkdir(exist_ok=True)")
    assert kernel.run("%%step --workspace {place}\npass").status == "ok"
    assert person.wait_until_ended().workspace == f"{folder}/place"


def test_a_silenced_value(kernel: Kernel) -> None:
    assert kernel.run("%%step\n1 + 1;").value is None
    assert kernel.run("%%step\nNone").value is None


def test_magics_and_commands_inside(kernel: Kernel) -> None:
    ran = kernel.run("%%step\nhere = %pwd\n!echo from a shell\nhere == str(pathlib.Path.cwd())")
    assert (ran.text.strip(), ran.value) == ("from a shell", "True")


def test_a_cell_that_is_no_python_opens_no_run(kernel: Kernel, person: KernelTestView) -> None:
    ran = kernel.run("%%step\nx = 1\ny = = 2")
    assert (ran.status, ran.error) == ("error", "SyntaxError")
    assert "line 3" in plain(ran.traceback)
    kernel.run("%%step after\npass")
    assert person.wait_for_run(lambda run: True).program == "after"


# ---- where it runs ---------------------------------------------------------------------------------

LOOPS = {
    "asyncio.run": "import asyncio\nasyncio.run(work())",
    "anyio.run": "import anyio\nanyio.run(work)",
    "await": "await work()",
    "tasks": "import asyncio\ntask = asyncio.create_task(work())\nawait task",
    "async with": "import asyncio\nasync with asyncio.timeout(60):\n    x = await work()\nx",
    "runner": "import asyncio\nwith asyncio.Runner() as r:\n    x = r.run(work())\nx",
}


@pytest.mark.parametrize("how", LOOPS)
def test_event_loops(kernel: Kernel, how: str) -> None:
    kernel.run(
        "import asyncio\nasync def work():\n    await asyncio.sleep(0)\n    print('in')\n    return 7"
    )
    ran = kernel.run(f"%%step\n{LOOPS[how]}")
    assert (ran.status, ran.text, ran.value) == ("ok", "in\n", "7")


def test_threads(kernel: Kernel) -> None:
    kernel.run("import threading; main = threading.main_thread()")
    assert kernel.run("%%step\nthreading.current_thread() is main").value == "False"
    assert kernel.run("%%step --main\nthreading.current_thread() is main").value == "True"


def test_main_does_not_await(kernel: Kernel, person: KernelTestView) -> None:
    ran = kernel.run("%%step --main\nawait work()")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert "Leave out --main" in str(ran.outputs)


def test_context_variables_are_those_of_the_notebook(kernel: Kernel) -> None:
    kernel.run("import contextvars; v = contextvars.ContextVar('v')")
    assert kernel.run("v.set(3)\nget_ipython().run_cell_magic('step', '', 'v.get()')").value == "3"


def test_output_of_what_the_cell_starts(kernel: Kernel) -> None:
    ran = kernel.run(
        "%%step\nimport subprocess, sys\n"
        "from IPython.display import display\n"
        "display('shown')\n"
        "print('err', file=sys.stderr)\n"
        "_ = subprocess.run(['echo', 'child'])",
        until="child",
    )
    assert {"child", "err"} <= set(ran.text.split())
    assert "'shown'" in str(ran.outputs)


# ---- stepping --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["", "--main"])
def test_a_step_with_an_edit(kernel: Kernel, person: KernelTestView, option: str) -> None:
    def two_steps() -> None:
        person.step('{"q": 1.0}')
        person.step()

    ran = kernel.run(f"%%step agent {option}\n{ASK}\nquery.response", two_steps)
    assert (ran.status, ran.value) == ("ok", "{'q': 1.0}")
    assert person.wait_until_ended().ending is RunEnding.FINISHED


def test_agents_in_the_cell_are_its_run(kernel: Kernel, person: KernelTestView) -> None:
    code = """%%step outer
import agentstepper_nb
with agentstepper_nb.AgentStepper("inner") as dbg2:
    print("READY")
    dbg2.end_llm_query_breakpoint(dbg2.begin_llm_query_breakpoint("hi"))
async def more():
    async with agentstepper_nb.AsyncAgentStepper("inner") as dbg3:
        await dbg3.end_llm_query_breakpoint(await dbg3.begin_llm_query_breakpoint("hi"))
import asyncio
asyncio.run(more())
"""
    before = len(person.runs)
    ran = kernel.run(code, lambda: [person.step() for _ in range(4)])
    assert ran.status == "ok", ran
    assert person.wait_until_ended().program == "outer"
    assert len(person.runs) == before + 1


def test_a_top_level_await_at_a_breakpoint(kernel: Kernel, person: KernelTestView) -> None:
    code = """%%step
from agentstepper_nb import AsyncAgentStepper
agent = await AsyncAgentStepper.connect("inner")
print("READY")
await agent.end_llm_query_breakpoint(await agent.begin_llm_query_breakpoint("hi"))
"""
    ran = kernel.run(code, lambda: [person.step(), person.step('"bye"')])
    assert (ran.status, ran.value) == ("ok", "'bye'"), ran


# ---- no Core (tests/kernels has what happens where none is named) ---------------------------------


def test_a_core_that_does_not_answer(kernel: Kernel) -> None:
    kernel.run(
        "import os; url = os.environ['AGENTSTEPPER_URL']\n"
        "os.environ['AGENTSTEPPER_URL'] = 'ws://127.0.0.1:9'"
    )
    try:
        ran = kernel.run("%%step\nprint('ran all the same')")
    finally:
        kernel.run("os.environ['AGENTSTEPPER_URL'] = url")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert "127.0.0.1:9" in str(ran.outputs)
    assert "ran all the same" not in ran.text


# ---- what a cell says of where it halts --------------------------------------------------------------

#: Asks a model that is a function, through a client that an SDK has.
ASK_A_MODEL = """
import contextlib, io, json, httpx2

def reply(request):
    return httpx2.Response(200, json={"choices": [{"message": {"content": "hi"}}]})

def add(a, b):
    return a + b

def ask():
    spec = {"type": "function", "function": {"name": "add", "parameters": {}}}
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "tools": [spec]}
    with httpx2.Client(transport=httpx2.MockTransport(reply)) as client:
        return client.post("https://example.com/chat/completions", json=body).json()
"""


@pytest.mark.slow
def test_one_line_says_where_the_cell_halts(kernel: Kernel, person: KernelTestView) -> None:
    assert kernel.run(ASK_A_MODEL).status == "ok"
    cell = (
        "%%step\nprint('READY')\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n    ask()\n"
        "ask()\nout.getvalue()"
    )
    ran = kernel.run(cell, lambda: [person.step() for _ in range(4)])
    assert ran.status == "ok", ran
    assert ran.value == "''"  # what an agent redirects is its own
    shown = [c["data"]["text/plain"] for kind, c in ran.outputs if kind == "display_data"]
    (line,) = (text for text in shown if "alting at" in text)
    assert re.fullmatch(
        r"Halting at queries of httpx2 [\d.]+; also halting at: add \(discovered\)\.", line
    )
    listed = kernel.run("%agentstepper seams").text
    assert re.search(r"^add +discovery$", listed, re.MULTILINE), listed
