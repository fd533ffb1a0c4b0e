"""One Jupyter server and one browser for all browser tests."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.helpers.sampling import select_sample

from .demo import running_demo
from .gallery import Gallery, build_gallery
from .jupyter import Jupyter, running_jupyter
from .lab import Lab, Notebook7, notebook
from .pictures import Pictures, pictures_folder

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

#: Milliseconds for whatever is waited for.
TIMEOUT_S = 20_000

#: The longest files, longest first: begun last, one of them would be waited for alone.
LONGEST_FILES = (
    *("test_tutorial", "test_gallery", "test_shells", "test_typing", "test_step_in_jupyterlab"),
    *("test_sessions", "test_frameworks", "test_no_extension", "test_chat"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first."""
    ranks = {name: rank for rank, name in enumerate(LONGEST_FILES)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(ranks)))


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
    expect.set_options(timeout=TIMEOUT_S)  # what is expected may come as late as what is clicked
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


@contextmanager
def new_context(browser: Browser) -> Iterator[BrowserContext]:
    """A person's browser, which knows nothing of other tests."""
    opened = browser.new_context(viewport={"width": 1400, "height": 1000})
    opened.set_default_timeout(TIMEOUT_S)
    yield opened
    opened.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with new_context(browser) as opened:
        yield opened


class LabTab:
    """The tab in which tests use JupyterLab, one after the other.

    JupyterLab takes longer to start than most tests take otherwise. What a test leaves is cleared away;
    after a failure, or where a test closed the tab, the next one starts JupyterLab anew.

    Args:
        browser: The browser.
        jupyter: The server.
    """

    def __init__(self, browser: Browser, jupyter: Jupyter) -> None:
        self._browser = browser
        self._jupyter = jupyter
        self._context: BrowserContext | None = None
        self._lab: Lab | None = None
        self._ended = ExitStack()

    def open(self, notebook: str) -> Lab:
        """Open a notebook; its kernel has started."""
        if self._context is None:
            self._context = self._ended.enter_context(new_context(self._browser))
        before = self._lab.page if self._lab else None
        self._lab = Lab(self._context, self._jupyter, notebook, before)
        self._lab.open()
        return self._lab

    def clear(self, failed: bool) -> None:
        """Leave the tab to the next test."""
        lab = self._lab
        if lab is None:
            return
        if failed or lab.page.is_closed():
            self.close()
            return
        has_panel = lab.panel_view().root.count() > 0
        lab.clear()
        for page in lab.page.context.pages:
            if page is not lab.page:
                page.close()
        if has_panel:  # which keeps what it showed last, as a person wants it to
            self.close()

    def close(self) -> None:
        """Close the tab, with whatever is in it."""
        self._ended.close()
        self._context = self._lab = None


@pytest.fixture(scope="session")
def lab_tab(browser: Browser, jupyter: Jupyter) -> Iterator[LabTab]:
    tab = LabTab(browser, jupyter)
    yield tab
    tab.close()


@pytest.fixture(scope="session")
def bare_lab_tab(browser: Browser, bare_jupyter: Jupyter) -> Iterator[LabTab]:
    tab = LabTab(browser, bare_jupyter)
    yield tab
    tab.close()


NewLab = Callable[..., Lab]
LabOf = Callable[[str], Lab]
_numbers = itertools.count(1)


def _numbered(jupyter: Jupyter, cells: Sequence[str], kernel: str) -> str:
    name = f"test-{next(_numbers)}.ipynb"
    notebook(jupyter.folder / name, cells, kernel)
    return name


def _in_tab(tab: LabTab, request: pytest.FixtureRequest) -> Iterator[LabOf]:
    failed = request.session.testsfailed
    yield tab.open
    tab.clear(request.session.testsfailed > failed)


@pytest.fixture
def lab_of(lab_tab: LabTab, request: pytest.FixtureRequest) -> Iterator[LabOf]:
    """Opens a notebook in JupyterLab, one a test; its kernel ends with the test."""
    yield from _in_tab(lab_tab, request)


@pytest.fixture
def bare_lab_of(bare_lab_tab: LabTab, request: pytest.FixtureRequest) -> Iterator[LabOf]:
    """Opens a notebook in a JupyterLab without our extensions."""
    yield from _in_tab(bare_lab_tab, request)


@pytest.fixture
def new_lab(lab_of: LabOf, jupyter: Jupyter) -> NewLab:
    """Opens a notebook of given cells in JupyterLab."""
    return lambda cells, kernel="python3": lab_of(_numbered(jupyter, cells, kernel))


@pytest.fixture
def new_bare_lab(bare_lab_of: LabOf, bare_jupyter: Jupyter) -> NewLab:
    """Opens a notebook of given cells in a JupyterLab without our extensions."""
    return lambda cells, kernel="python3": bare_lab_of(_numbered(bare_jupyter, cells, kernel))


def _own_tab(kind: type[Lab], context: BrowserContext, jupyter: Jupyter) -> Iterator[NewLab]:
    opened: list[Lab] = []

    def open_lab(cells: Sequence[str], kernel: str = "python3") -> Lab:
        lab = kind(context, jupyter, _numbered(jupyter, cells, kernel))
        opened.append(lab)
        lab.open()
        return lab

    yield open_lab
    for lab in opened:
        if not lab.page.is_closed():
            lab.clear()


@pytest.fixture
def own_lab(context: BrowserContext, jupyter: Jupyter) -> Iterator[NewLab]:
    """Opens a notebook in a JupyterLab that no other test has used: only that comes back by a reload."""
    yield from _own_tab(Lab, context, jupyter)


@pytest.fixture
def own_bare_lab(context: BrowserContext, bare_jupyter: Jupyter) -> Iterator[NewLab]:
    """The same, without our extensions."""
    yield from _own_tab(Lab, context, bare_jupyter)


@pytest.fixture
def new_notebook7(context: BrowserContext, jupyter: Jupyter) -> Iterator[NewLab]:
    """Opens a notebook of given cells in a tab of Notebook 7; its kernel ends with the test."""
    yield from _own_tab(Notebook7, context, jupyter)


@pytest.fixture(params=select_sample(("new_lab", "new_notebook7"), "new_lab"))
def new_tab(request: pytest.FixtureRequest) -> NewLab:
    """Opens a notebook of given cells in each application that reads notebooks.

    `test_shells` has both each time.
    """
    opens: NewLab = request.getfixturevalue(request.param)
    return opens


@pytest.fixture(params=select_sample(("own_lab", "new_notebook7"), "own_lab"))
def own_tab(request: pytest.FixtureRequest) -> NewLab:
    """The same, for what reloads the tab."""
    opens: NewLab = request.getfixturevalue(request.param)
    return opens


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
