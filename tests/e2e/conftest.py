"""One Jupyter server and one browser for all browser tests."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from .demo import running_demo
from .gallery import Gallery, build_gallery
from .jupyter import Jupyter, running_jupyter
from .lab import Lab, Notebook7, notebook
from .pictures import Pictures, pictures_folder
from .sampling import sampled

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

#: Milliseconds for whatever is waited for.
PATIENCE = 20_000


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with running_jupyter(tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """The JupyterLab that `make demo` starts, on its copy of the tutorials."""
    with running_demo(tmp_path_factory.mktemp("demo")) as running:
        yield running


@pytest.fixture(scope="session")
def bare_jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """A server without our extensions: agentstepper_nb is in its kernels only."""
    with running_jupyter(tmp_path_factory.mktemp("bare"), extended=False) as running:
        yield running


@contextmanager
def launched() -> Iterator[Browser]:
    """Start the browser, and end it afterwards."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "Chromium is missing: `make setup` installs it."
    expect.set_options(timeout=PATIENCE)  # what is expected may come as late as what is clicked
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as running:
        yield running


@pytest.fixture(scope="session")
def gallery(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    """Every state of the view, built once for all modules."""
    return build_gallery(tmp_path_factory.mktemp("gallery"), browser)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1400, "height": 1000})
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


NewLab = Callable[..., Lab]
_numbers = itertools.count(1)


@pytest.fixture
def new_lab(context: BrowserContext, jupyter: Jupyter) -> Iterator[NewLab]:
    """Opens a notebook of given cells in a tab of JupyterLab; its kernel ends with the test."""
    yield from _opening(Lab, context, jupyter)


@pytest.fixture
def new_bare_lab(context: BrowserContext, bare_jupyter: Jupyter) -> Iterator[NewLab]:
    """Opens a notebook in a JupyterLab without our extensions."""
    yield from _opening(Lab, context, bare_jupyter)


@pytest.fixture
def new_notebook7(context: BrowserContext, jupyter: Jupyter) -> Iterator[NewLab]:
    """Opens a notebook of given cells in a tab of Notebook 7; its kernel ends with the test."""
    yield from _opening(Notebook7, context, jupyter)


@pytest.fixture(params=sampled(("new_lab", "new_notebook7"), "new_lab"))
def new_tab(request: pytest.FixtureRequest) -> NewLab:
    """Opens a notebook of given cells in each application that reads notebooks.

    `test_shells` has both each time.
    """
    opens: NewLab = request.getfixturevalue(request.param)
    return opens


def _opening(kind: type[Lab], context: BrowserContext, jupyter: Jupyter) -> Iterator[NewLab]:
    opened: list[Lab] = []

    def open_lab(
        cells: Sequence[str], within: BrowserContext | None = None, kernel: str = "python3"
    ) -> Lab:
        name = f"test-{next(_numbers)}.ipynb"
        notebook(jupyter.folder / name, cells, kernel)
        lab = kind(within or context, jupyter, name)
        opened.append(lab)
        lab.open()
        return lab

    yield open_lab
    for lab in opened:
        if not lab.page.is_closed():
            if lab.dark:  # the theme is the server's, not the tab's
                lab.set_theme("JupyterLab Light")
            lab.page.evaluate(
                """async () => {
                    const session = window.jupyterapp.shell.currentWidget?.sessionContext;
                    await session?.shutdown();
                }"""
            )


@pytest.fixture
def screenshots() -> Path:
    """Where screenshots go, to be looked at."""
    folder = Path(__file__).resolve().parents[2] / "test-results" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def pictures(browser: Browser) -> Iterator[Pictures]:
    """Takes the pictures that the docs show; `make screenshots` keeps them."""
    page = browser.new_page()
    yield Pictures(pictures_folder(), page)
    page.close()
