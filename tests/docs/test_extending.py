"""`docs/extending.md`: its package is installed, and every file of it runs as it is printed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_wheel

from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import Actor, EventKind, TimelineRow
from notebooks.driver import Driver
from tests.docs.conftest import (
    TIMEOUT_S,
    ServeCommand,
    install,
    stranger,
    terminal,
    type_steps,
)
from tests.docs.pages import EXTENDING, ROOT, Block, blocks, files, write_files
from tests.docs.programs import ForkedPrograms
from tests.widgets.person import connect_view

LENDING = ["['a red boat', 'a blue boat']", "a red boat, until Friday"]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of the page's files."""
    package = tmp_path / "package"
    package.mkdir()
    write_files(EXTENDING, package)
    return package


@pytest.mark.parametrize("block", blocks(EXTENDING), ids=lambda block: block.name)
def test_each_file_is_short(block: Block) -> None:
    assert block.name
    assert len(block.lines) <= 20


@pytest.mark.slow
def test_all_of_it_installed(
    package: Path,
    home: Path,
    tmp_path: Path,
    serve: ServeCommand,
    programs: ForkedPrograms,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The three extensions, found by their entry points, in `agentstepper serve`."""
    site = tmp_path / "site"
    monkeypatch.chdir(package)
    wheel = build_wheel(str(tmp_path))  # as pip, which takes seconds, lets it be built
    zipfile.ZipFile(tmp_path / wheel).extractall(site)
    served = serve(PYTHONPATH=f"{ROOT}:{site}")
    driver = Driver(served.uis)
    driver.start()
    lent = programs.run("python agent.py", stranger(home), package)
    driver.stop()
    assert (lent.returncode, lent.stdout.splitlines()) == (0, LENDING), lent.stderr
    assert driver.steps == 5

    (package / "count_them.py").write_text(at(served.uis, files(EXTENDING)["count_them.py"]))
    control = (home / "jupyter" / "data" / "agentstepper" / "control-token").read_text().strip()
    counted = programs.run(
        "python count_them.py", stranger(home, AGENTSTEPPER_CONTROL_TOKEN=control), package
    )
    assert counted.stdout == "Run #1 of librarian {'tools': {'lend': 1}}\n", counted.stderr
    begin, end = retrieval(served.uis)
    assert (begin.source, begin.target) == (Actor.AGENT, Actor.SYSTEM)
    assert begin.summary == "retrieval(query=boat, limit=5)"
    assert (end.source, end.target) == (Actor.SYSTEM, Actor.AGENT)
    assert end.summary == "2 texts found"
    assert "left out" not in served.stop()


def at(url: str, text: str) -> str:
    """A page's file, at the Core that this test started."""
    assert text.count("ws://localhost:4567") == 1
    return text.replace("ws://localhost:4567", url)


def retrieval(url: str) -> list[TimelineRow]:
    """The rows of the custom event of the only run."""
    with connect_view(url) as person:
        person._send(ui.OpenRun(run=person.newest.id))
        opened = person._expect(ui.RunOpened)
    return [row for row in opened.rows if row.kind is EventKind.CUSTOM]


def test_the_agent_needs_no_extension(
    package: Path, home: Path, uis: str, programs: ForkedPrograms
) -> None:
    driver = Driver(uis)
    driver.start()
    lent = programs.run("python agent.py", stranger(home), package)
    driver.stop()
    assert (lent.returncode, lent.stdout.splitlines()) == (0, LENDING), lent.stderr
    begin, end = retrieval(uis)
    assert (begin.target, end.source) == (Actor.TOOLS, Actor.TOOLS)
    assert end.summary == '["a red boat","a blue boat"]'


@pytest.mark.slow
def test_the_terminal_shows_it(package: Path, home: Path, uis: str) -> None:
    with terminal(f"agentstepper step --url {uis}", stranger(home), home) as view:
        with terminal("python agent.py", stranger(home), package) as agent:
            type_steps(view, 1)
            view.expect_exact("Agent → Tools")
            view.expect_exact("retrieval(query=boat, limit=5)")
            type_steps(view, 4)
            agent.expect_exact(LENDING[-1])


def test_the_chats_words_and_its_third_backend(
    package: Path, home: Path, programs: ForkedPrograms
) -> None:
    """A role and a type that are installed, and a page that shows them."""
    install(package)
    said = programs.run(
        "python exhibit.py", stranger(home, PYTHONPATH=f"{ROOT}:{package}"), package
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.splitlines() == [
        "critic TABLE [['seen', 'boats'], [0, 0]]",
        "critic MESSAGE Paint a boat.",
        "painter MESSAGE <b>A red boat</b>, as you said: Paint a boat.",
        "critic TABLE [['seen', 'boats'], [4, 2]]",
    ]
    page = (package / "page.html").read_text()
    assert page.count("<h3>user</h3>") == 2
    assert "<h3>critic</h3><pre>seen | boats\n4 | 2</pre>" in page
    assert "<pre>&lt;b&gt;A red boat&lt;/b&gt;, as you said" in page
    assert "<b>" not in page


def test_the_chats_words_have_to_be_installed(
    package: Path, home: Path, programs: ForkedPrograms
) -> None:
    """Without them the role is refused, by a text that names those there are."""
    said = programs.run("python exhibit.py", stranger(home), package)
    assert said.returncode == 1
    assert "There is no role 'CRITIC'; there are: AGENT_EXECUTOR," in said.stderr


def test_without_installing(package: Path, home: Path, programs: ForkedPrograms) -> None:
    """`try_it.py`, on free ports."""
    text = files(EXTENDING)["try_it.py"]
    free = text.replace("(extensions=", "(client_port=0, ui_port=0, extensions=")
    (package / "try_it.py").write_text(free)
    with programs.start("python try_it.py", stranger(home), package) as process:
        assert process.stdout
        told = [process.stdout.readline().strip() for _ in range(3)]
        uis = told[1].removeprefix("UIs:").strip()
        name, _, value = told[2].partition("=")
        (package / "count_them.py").write_text(at(uis, files(EXTENDING)["count_them.py"]))
        counted = programs.run("python count_them.py", stranger(home, **{name: value}), package)
        assert (counted.returncode, counted.stdout) == (0, ""), counted.stderr
        _, errors = process.communicate("\n", timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
