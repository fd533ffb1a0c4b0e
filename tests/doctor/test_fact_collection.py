"""The facts of a real machine, in folders of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb import __version__, discover, doctor
from agentstepper_nb.coding.sandbox import ResourceLimits
from agentstepper_nb.coding.sandbox.backend_selection import choose_sandbox
from agentstepper_nb.doctor import jupyter_facts
from agentstepper_nb.doctor.fact_collection import collect_facts, collect_folder_facts
from agentstepper_nb.doctor.facts import FolderFacts
from tests.helpers.core_announcement import announce
from tests.sdk.scripted_core import ScriptedCore


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is looked at."""
    for name in ("DATA", "RUNTIME", "CONFIG"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name.lower()))
    # Else the configuration of the tests' own environment wins over the home folder's.
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    for name in ("URL", "TOKEN", "NAME"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    return tmp_path


@pytest.fixture
def other() -> Iterator[int]:
    """A process of this user's that is alive, and no ancestor of ours."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


# ---- Cores --------------------------------------------------------------------------------------


def test_nothing_runs() -> None:
    facts = collect_facts()
    assert (facts.cores, facts.kernel) == ((), None)
    assert (facts.agent_token_file_mode, facts.control_token_file_mode) == (None, None)
    assert (facts.discovery.url, "`agentstepper serve`" in facts.discovery.reason) == ("", True)
    assert facts.python.package_version == __version__
    assert facts.python.git
    assert facts.sandbox is not None
    assert facts.sandbox.name == choose_sandbox("auto", ResourceLimits()).sandbox.name


def test_a_core_that_answers_is_asked_without_a_run() -> None:
    with ScriptedCore(token="t") as core:
        announce(core.url, agent="t", name="here", pid=os.getppid())
        facts = collect_facts()
        assert all(peer.received == [] for peer in core.peers)
    assert [(each.url, each.version, each.problem) for each in facts.cores] == [
        (core.url, __version__, "")
    ]
    assert (facts.discovery.url, facts.discovery.problem) == (core.url, "")
    assert "that started this process" in facts.discovery.reason


def test_the_only_one(other: int) -> None:
    with ScriptedCore(version=1) as core:
        announce(core.url, pid=other)
        choice = collect_facts().discovery
    assert (choice.url, choice.protocol) == (core.url, 1)
    assert "no other Core" in choice.reason


def test_a_core_that_is_gone_and_one_that_refuses(other: int) -> None:
    with ScriptedCore(token="right") as core:
        announce(core.url, agent="wrong", pid=other)
        announce("ws://127.0.0.1:9")
        problems = {each.url: each.problem for each in collect_facts().cores}
    assert "the token is missing or wrong" in problems[core.url]
    assert "No Core listens" in problems["ws://127.0.0.1:9"]


def test_the_environment_names_one_with_the_token_of_another(
    other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedCore(token="a") as core, ScriptedCore(token="b") as another:
        announce(core.url, agent="a", name="the one")
        announce(another.url, agent="b", name="another", pid=other)
        monkeypatch.setenv("AGENTSTEPPER_URL", core.url)
        monkeypatch.setenv("AGENTSTEPPER_TOKEN", "b")
        monkeypatch.setenv("AGENTSTEPPER_NAME", "called")
        facts = collect_facts()
        said = doctor.format_report()
    assert facts.discovery.token_source == "another"
    assert "the token is missing or wrong" in facts.discovery.problem
    assert (facts.variables.url, facts.variables.token) == (core.url, True)
    assert facts.discovery.reason == "AGENTSTEPPER_URL names it"
    assert "AGENTSTEPPER_TOKEN is the token of another" in said
    assert "names every run that begins here 'called'" in said


# ---- folders ------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_yet(home: Path) -> None:
    found = collect_folder_facts(home / "not" / "yet")
    assert (found.path, found.writable) == (str(home / "not" / "yet"), True)
    assert found.free_bytes > 0


def test_a_file_is_in_the_way(home: Path) -> None:
    (home / "file").write_text("")
    assert not collect_folder_facts(home / "file").writable


def test_folders_that_cant_be_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Even root can't look there, as others can't below a folder that they may not enter.
    hidden = home / ("x" * 300)
    assert collect_folder_facts(hidden / "agentstepper").path == str(hidden / "agentstepper")
    for name in ("DATA", "RUNTIME", "CONFIG"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(hidden / name.lower()))
    assert list(discover.list_announced_cores()) == []
    assert isinstance(jupyter_facts.read_labextension(), tuple)


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / {0}/far\\040away rw - nfs4 server:/x rw
31 30 0:41 / {0}/far\\040away/near rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("below", "network"), [("x", ""), ("far away/x", "nfs4"), ("far away/near/x", "")]
)
def test_network_file_systems(home: Path, below: str, network: str) -> None:
    (home / below).mkdir(parents=True)
    mounts = MOUNTS.format(home)
    found: FolderFacts = collect_folder_facts(home / below / "not yet", mounts)
    assert found.network_file_system == network


@pytest.mark.parametrize(
    ("file", "fact"),
    [
        ("agent-token", "agent_token_file_mode"),
        ("control-token", "control_token_file_mode"),
        ("worker-token", "worker_token_file_mode"),
    ],
)
def test_a_token_that_others_read(home: Path, file: str, fact: str) -> None:
    token = discover.load_or_create_token(file=file)
    assert getattr(collect_facts(), fact) == 0o600
    (discover.data_dir() / file).chmod(0o644)
    assert getattr(collect_facts(), fact) == 0o644
    assert token not in doctor.format_report()


def test_no_token_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "of the variable")
    with ScriptedCore(token="t") as core:
        announce(core.url, agent="t", control="of-the-file")
        facts, said = repr(collect_facts()), doctor.format_report()
    for secret in ("of-the-file", "of the variable"):
        assert secret not in facts + said


# ---- Jupyter ------------------------------------------------------------------------------------


def configure(home: Path, name: str, document: object) -> None:
    path = home / "config" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("enabled", [True, False])
def test_the_server_extension_is_as_it_is_configured(home: Path, enabled: bool) -> None:
    extensions = {"agentstepper_nb.server_ext": enabled}
    configure(
        home,
        "jupyter_server_config.d/zz.json",
        {"ServerApp": {"jpserver_extensions": extensions}},
    )
    assert jupyter_facts.is_server_extension_enabled() is enabled


@pytest.fixture
def lab(home: Path) -> Path:
    """Our labextension, as it is installed."""
    installed = home / "data" / "labextensions" / "agentstepper_nb"
    (installed / "static").mkdir(parents=True)
    (installed / "static" / "remoteEntry.js").write_text("")
    build = {"load": "static/remoteEntry.js"}
    about = {"name": "agentstepper_nb", "version": "9.9", "jupyterlab": {"_build": build}}
    (installed / "package.json").write_text(json.dumps(about))
    return installed


def test_an_installed_labextension(lab: Path) -> None:
    assert jupyter_facts.read_labextension() == ("9.9", "", ())
    assert "has version 9.9, and the package" in doctor.format_report()


def test_a_damaged_labextension(lab: Path) -> None:
    (lab / "static" / "remoteEntry.js").unlink()
    assert jupyter_facts.read_labextension() == ("9.9", "static/remoteEntry.js", ())
    (lab / "package.json").write_text("{")
    assert jupyter_facts.read_labextension()[:2] == ("?", "its entry in package.json")


def test_a_disabled_labextension(lab: Path, home: Path) -> None:
    disabled = {"agentstepper_nb:panel": True, "agentstepper_nb:other": False, "another": True}
    configure(home, "labconfig/page_config.json", {"disabledExtensions": disabled})
    assert jupyter_facts.read_labextension()[2] == ("agentstepper_nb:panel",)


def test_no_labextension(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jupyter_facts, "jupyter_path", lambda *names: [str(home.joinpath(*names))])
    assert jupyter_facts.read_labextension() == ("", "", ())


def test_nothing_is_left_behind(home: Path) -> None:
    collect_facts()
    assert sorted(os.listdir(home)) == []
