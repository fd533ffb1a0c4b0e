"""What every command sees of the machine."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agentstepper_nb.coding.sandbox import visible_paths as module
from agentstepper_nb.coding.sandbox.visible_paths import (
    find_toolchains,
    find_visible_paths,
    is_at_or_below,
    select_outermost,
)
from tests.coding.sandbox.scenes import ORDINARY, PythonUser

Make = Callable[[str], Path]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home, and nothing of this machine's."""
    folder = tmp_path / "me"
    folder.mkdir()
    for name, _, _ in module._HOME_TOOLCHAINS:
        monkeypatch.delenv(name, raising=False)
    for name in module._PREFIXES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin")
    return folder


@pytest.fixture
def make(home: Path) -> Make:
    """Makes a file below the home, with the folders above it; gives its path."""

    def made(path: str) -> Path:
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        return file

    return made


def seen(path: Path) -> bool:
    return is_at_or_below(path, find_toolchains())


def test_the_system_is_visible_and_its_secrets_are_not(home: Path) -> None:
    paths = find_visible_paths()
    for path in ("/usr/bin/env", "/etc/passwd", "/etc/ssl/certs", "/bin/sh", sys.prefix):
        assert is_at_or_below(Path(path), paths), path
    for path in ("/etc/shadow", "/etc/sudoers", "/etc/ssl/private", "/var", "/proc", "/", "/etc"):
        assert not is_at_or_below(Path(path), paths), path
    assert all(path.exists() for path in paths)
    assert select_outermost(paths) == paths


def test_no_home_is_visible_whatever_the_search_path_names(
    home: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = [make(".ssh/id_rsa"), make(".local/share/keyrings/x"), make("notes")]
    programs = [make("bin/tool"), make(".local/bin/tool")]
    path = [home / "bin", home / ".local" / "bin", home, Path("relative/bin"), Path("/nowhere/bin")]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, path)))
    assert [seen(program) for program in programs] == [True, True]
    assert [seen(secret) for secret in secrets] == [False, False, False]


def test_a_toolchain_on_the_search_path_is_seen_whole(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, library = make("tools/go/bin/go"), make("tools/go/pkg/lib.a")
    monkeypatch.setenv("PATH", str(program.parent))
    assert (seen(program), seen(library)) == (True, True)
    assert not seen(make("tools/other"))


def test_of_a_prefix_with_secrets_only_the_parts_of_a_toolchain_are_seen(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, library, secret = make("app/bin/x"), make("app/lib/y"), make("app/.env")
    monkeypatch.setenv("PATH", str(program.parent))
    assert (seen(program), seen(library), seen(secret)) == (True, True, False)


def test_a_link_and_where_it_leads_are_both_seen(
    home: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make("versions/1.2/bin/tool")
    (home / "current").symlink_to(home / "versions" / "1.2")
    monkeypatch.setenv("PATH", str(home / "current" / "bin"))
    assert seen(program)
    assert seen(home / "current" / "bin" / "tool")


def test_known_toolchains_in_homes_are_seen_without_their_keys(
    home: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [
        make(".cargo/bin/cargo"),
        make(".rustup/toolchains/stable/bin/rustc"),
        make(".pyenv/versions/3.12/bin/python"),
        make(".nvm/versions/node/v22/bin/node"),
        make(".local/share/uv/python/cpython-3.12/bin/python3"),
        make("go/bin/tool"),
    ]
    secrets = [make(".cargo/credentials.toml"), make(".nvm/.npmrc"), make("go/src/mine/x.go")]
    monkeypatch.setenv("PATH", str(home / ".cargo" / "bin"))
    assert [seen(path) for path in wanted] == [True] * len(wanted)
    assert [seen(path) for path in secrets] == [False] * len(secrets)


def test_variables_name_toolchains_and_never_a_home(
    home: Path, make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "jdk" / "lib"
    java.mkdir(parents=True)
    monkeypatch.setenv("JAVA_HOME", str(java.parent))
    monkeypatch.setenv("PYENV_ROOT", str(home))
    monkeypatch.setenv("CONDA_PREFIX", "/")
    monkeypatch.setenv("VIRTUAL_ENV", "relative")
    assert seen(java)
    assert not seen(make("secret"))
    assert not seen(Path("/var"))


@pytest.mark.slow
def test_folders_that_the_user_may_not_enter_are_left_out() -> None:
    user, root = PythonUser(ORDINARY), Path(tempfile.mkdtemp())
    closed = root / "closed"
    (closed / "bin").mkdir(parents=True)
    closed.chmod(0)
    root.chmod(0o755)
    code = (
        "from agentstepper_nb.coding.sandbox import visible_paths\n"
        "print(*visible_paths.find_visible_paths())"
    )
    done = user.python("-c", code, env={"PATH": str(closed / "bin")}, capture_output=True)
    closed.chmod(0o700)
    shutil.rmtree(root)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "/usr" in done.stdout.split()
    assert str(closed) not in done.stdout


def test_outermost_leaves_out_what_lies_in_another() -> None:
    paths = [Path("/a/b"), Path("/a"), Path("/a-b"), Path("/c/d"), Path("/a/b/c")]
    assert select_outermost(paths) == (Path("/a"), Path("/a-b"), Path("/c/d"))
