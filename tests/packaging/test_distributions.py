"""What we hand out: the sdist and the wheel, built, looked into, and installed where no Node is.

DISTRIBUTIONS names a folder with both: these are tested in place of new ones, as `make dist` does.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import _version

ROOT = Path(__file__).parents[2]
#: A folder with the sdist and the wheel to test; None: both are built.
BUILT = os.environ.get("DISTRIBUTIONS")
#: As a build front end calls the back end, which takes as long again to do so.
BUILD = [sys.executable, "-m", "hatchling", "build", "--target"]
STATIC = "agentstepper_nb/widgets/static/"
LABEXTENSION = "agentstepper_nb/labextension/"
ENABLED = "etc/jupyter/jupyter_server_config.d/agentstepper_nb.json"
NAME = f"agentstepper_nb-{_version.__version__}"
DATA = f"{NAME}.data/data/"
#: Where the wheel has the labextension, below its data, and so an environment.
LABEXTENSIONS = "share/jupyter/labextensions/agentstepper_nb/"

# Every file of the wheel matches one of these, and each of these matches a file.
WHEEL = [
    r"agentstepper_nb/(\w+/)*\w+\.py",
    r"agentstepper_nb/py\.typed",
    r"agentstepper_nb/store/(runtime/)?(sqlite|postgres)/migrations/\d{4}\.sql",
    rf"{STATIC}(chat|fleet|kernel|loader|sessions)\.js",
    rf"{STATIC}manifest\.json",
    rf"{STATIC}(app|page|editor|changes|history|compare|edit_diff|chunk)\.\w+\.js",
    rf"{STATIC}(breakpoints|find|list|seams|help|context|ended|approval|edit_footer|contents|markdown)\.\w+\.js",
    rf"{STATIC}(again|answers|effect_notes|forks|lane_list|overview|stack|usage)\.\w+\.js",
    rf"{STATIC}LICENSES\.txt",
    re.escape(DATA + ENABLED),
    rf"{re.escape(DATA + LABEXTENSIONS)}(package|install)\.json",
    rf"{re.escape(DATA + LABEXTENSIONS)}static/remoteEntry\.\w+\.js",
    rf"{re.escape(DATA + LABEXTENSIONS)}static/third-party-licenses\.json",
    rf"{re.escape(DATA + LABEXTENSIONS)}schemas/agentstepper_nb/(panel\.json|package\.json\.orig)",
    rf"{re.escape(NAME)}\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|licenses/LICENSE)",
]

#: An agent with one tool call, at a Core of its own; every public name is imported.
AGENT = """\
import agentstepper_nb as a
from importlib.metadata import version

for name in a.__all__:
    getattr(a, name)
with a.AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
    with a.AgentStepper("adder", url=core.url(core.client_port), mode="continue") as dbg:
        with dbg.tool("add", {"a": 1, "b": 2}) as call:
            call.result = sum(call.args.values())
print(call.result, version("msgspec"))
"""

# They download and install: more than the other tests may take.
pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]


@dataclass
class Venv:
    """A virtual environment whose PATH is its own bin and nothing else: no node, no npm."""

    folder: Path

    def run(self, *command: str) -> str:
        done = subprocess.run(
            [self.folder / "bin" / command[0], *command[1:]],
            cwd=self.folder,  # not the checkout, whose package would be imported instead
            env={**os.environ, "PATH": str(self.folder / "bin")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture(scope="session")
def sdist(tmp_path_factory) -> Path:
    if BUILT:
        return Path(BUILT) / f"{NAME}.tar.gz"
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run([*BUILD, "sdist", "--directory", folder], cwd=ROOT, check=True)
    return folder / f"{NAME}.tar.gz"


@pytest.fixture(scope="session")
def wheel(sdist, tmp_path_factory) -> Path:
    """The wheel that is made of the sdist where no Node is."""
    if BUILT:
        return Path(BUILT) / f"{NAME}-py3-none-any.whl"
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    empty = {**os.environ, "PATH": str(folder / "empty")}
    build = [*BUILD, "wheel", "--directory", folder]
    subprocess.run(build, cwd=folder / NAME, check=True, env=empty)
    return folder / f"{NAME}-py3-none-any.whl"


@pytest.fixture(scope="session")
def without_node(tmp_path_factory) -> Venv:
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    made = Venv(folder)
    assert "None" in made.run("python", "-c", "import shutil; print(shutil.which('node'))")
    return made


@pytest.fixture(scope="session")
def installed(sdist, without_node) -> Venv:
    """What pip makes of the sdist by itself: it fetches what builds a wheel."""
    without_node.run("pip", "install", str(sdist))
    return without_node


def files_of_the_package() -> set[str]:
    """What git has or would add, which is not what tools leave lying about, and the built view."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "agentstepper_nb"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    in_git = {name for name in listed.splitlines() if (ROOT / name).is_file()}
    return in_git | {STATIC + path.name for path in (ROOT / STATIC).iterdir()}


def files_of_the_labextension() -> set[str]:
    folder = ROOT / LABEXTENSION
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_sdist_holds_what_a_wheel_is_made_of(sdist) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    assert files_of_the_package() <= names
    assert {LABEXTENSION + name for name in files_of_the_labextension()} <= names
    assert {"PKG-INFO", "LICENSE", "README.md", "pyproject.toml", "hatch_build.py"} <= names
    assert {"scripts/build_js.py", "jupyter-config/agentstepper_nb.json"} <= names
    assert {"js/package.json", "js/package-lock.json"} <= names
    assert not [name for name in names if "node_modules" in name or "__pycache__" in name]


def test_the_wheel_holds_the_package_whole_and_nothing_else(wheel) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if name.startswith("agentstepper_nb/")} == files_of_the_package()
    labextension = {DATA + LABEXTENSIONS + name for name in files_of_the_labextension()}
    assert {name for name in names if name.startswith(DATA + LABEXTENSIONS)} == labextension
    matched = {
        pattern: {name for name in names if re.fullmatch(pattern, name)} for pattern in WHEEL
    }
    assert [pattern for pattern, found in matched.items() if not found] == []
    assert names - set().union(*matched.values()) == set()


def test_the_wheel_holds_every_file_that_the_manifest_names(wheel) -> None:
    archive = zipfile.ZipFile(wheel)
    manifest = json.loads(archive.read(f"{STATIC}manifest.json"))
    assert manifest["version"] == _version.__version__
    named = {STATIC + manifest[entry] for entry in ("app", "page", "editor")}
    assert named <= set(archive.namelist())


def test_the_labextension_names_what_the_wheel_holds(wheel) -> None:
    archive = zipfile.ZipFile(wheel)

    def read(name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(archive.read(f"{DATA}{LABEXTENSIONS}{name}"))
        return content

    about, install = read("package.json"), read("install.json")
    assert (about["name"], about["version"]) == ("agentstepper_nb", _version.__version__)
    assert f"{DATA}{LABEXTENSIONS}{about['jupyterlab']['_build']['load']}" in archive.namelist()
    assert install["packageName"] == "agentstepper_nb"
    licences = {each["name"]: each for each in read("static/third-party-licenses.json")["packages"]}
    assert "MIT" in licences["preact"]["licenseId"]
    assert "Permission is hereby granted" in licences["preact"]["extractedText"]


@pytest.mark.soak
def test_installing_needs_no_node(installed) -> None:
    version = "import agentstepper_nb._version as v; print(v.__version__, v.__file__)"
    said = installed.run("python", "-c", version).split()
    assert said[0] == _version.__version__
    assert Path(said[1]).is_relative_to(installed.folder)
    assert "usage: agentstepper" in installed.run("agentstepper", "--help")


@pytest.mark.soak
@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_wheel_runs_on_the_lowest_and_the_newest_dependencies(
    wheel, resolution, tmp_path
) -> None:
    uv, folder = Path(sys.executable).parent / "uv", tmp_path / "venv"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", folder, "--resolution", resolution]
    # Its dependencies are named as well: the lowest are those of what is named.
    subprocess.run([*install, "--requirement", ROOT / "pyproject.toml", wheel], check=True)
    own = {name: str(tmp_path / name) for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    done = subprocess.run(
        [folder / "bin" / "python", "-c", AGENT],
        cwd=folder,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=True,
    )
    result, msgspec = done.stdout.split()
    assert result == "3"
    assert (msgspec == "0.21.0") == (resolution == "lowest-direct")


@pytest.mark.soak
def test_installing_switches_the_server_extension_on(installed) -> None:
    config = json.loads((installed.folder / ENABLED).read_text())
    assert config == {"ServerApp": {"jpserver_extensions": {"agentstepper_nb.server_ext": True}}}
    assert re.search(r"agentstepper_nb\.server_ext\S*\s+\S*OK", list_extensions(installed))


@pytest.mark.soak
def test_jupyterlab_finds_the_labextension_enabled_and_compatible(installed) -> None:
    share = installed.folder / "share" / "jupyter"
    listed = subprocess.run(
        [sys.executable, "-m", "jupyter", "labextension", "list"],
        env={**os.environ, "JUPYTER_PATH": str(share)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    ).stdout
    # The list has a part for each folder, headed by its path.
    parts = re.sub(r"\x1b\[\d*m", "", listed).split("\n\n")
    [part] = [part for part in parts if str(share / "labextensions") in part]
    ours = re.escape(f"agentstepper_nb v{_version.__version__}")
    assert re.search(rf"{ours} +enabled +OK +\(python, agentstepper_nb\)", part), listed


def list_extensions(installed: Venv) -> str:
    return installed.run("jupyter", "server", "extension", "list")
