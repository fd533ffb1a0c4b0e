"""Seatbelt's profile as a text: rules are read as macOS reads them, the last that matches wins."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from agentstepper_nb.coding.sandbox import SandboxAccess
from agentstepper_nb.coding.sandbox.seatbelt import Seatbelt, make_profile
from agentstepper_nb.errors import SandboxError
from tests.coding.sandbox.scenes import access_to

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+')


def parsed(text: str) -> list[Any]:
    """A profile's rules, as lists of words and lists. A parenthesis too many or too few is an error."""
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        elif token.startswith('"'):
            stack[-1].append(Path(re.sub(r"\\(.)", r"\1", token[1:-1])))
        else:
            stack[-1].append(token)
    assert len(stack) == 1
    return stack[0]


def may(access: SandboxAccess, operation: str, path: Path) -> bool:
    """Whether a profile allows an operation on a file."""
    allowed = False
    for verb, *rest in parsed(make_profile(access)):
        operations = [each for each in rest if isinstance(each, str)]
        filters = [each for each in rest if isinstance(each, list)]
        if verb not in ("allow", "deny") or not any(
            _covers(each, operation) for each in operations
        ):
            continue
        if not filters or any(_matches(each, path) for each in filters):
            allowed = verb == "allow"
    return allowed


def _covers(pattern: str, operation: str) -> bool:
    if pattern == "default":
        return True
    return operation.startswith(pattern[:-1]) if pattern.endswith("*") else operation == pattern


def _matches(each: list[Any], path: Path) -> bool:
    kind, value = each[0], each[-1]
    if kind == "subpath":
        return path.is_relative_to(value)
    return bool(kind == "literal" and path == value)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / 'w s"\\'
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "HEAD").touch()
    return folder


def test_a_command_changes_the_workspace_and_its_own_folders_alone(workspace: Path) -> None:
    access = access_to(workspace)
    for path in (workspace / "a", access.home / "b", access.temporary_folder / "c"):
        assert may(access, "file-write-create", path) and may(access, "file-read-data", path)
        assert may(access, "process-exec", path)
    for path in (Path("/usr/bin/x"), workspace.parent / "other", Path("/private/etc/x")):
        assert not may(access, "file-write-create", path)
    assert may(access, "file-read-data", Path("/usr/lib/x"))
    for path in (
        workspace.parent / "other",
        Path("/private/etc/master.passwd"),
        Path("/Users/me/y"),
    ):
        assert not may(access, "file-read-data", path) and may(access, "file-read-metadata", path)


def test_a_read_only_workspace(workspace: Path) -> None:
    access = access_to(workspace, is_workspace_writable=False)
    assert may(access, "file-read-data", workspace / "a")
    assert not may(access, "file-write-data", workspace / "a")


def test_parts_of_a_repository_are_not_changed_made_or_moved(workspace: Path) -> None:
    access = access_to(workspace)
    git = workspace / ".git"
    assert may(access, "file-write-create", git / "index.lock")
    for name in ("hooks/pre-commit", "config", "commondir"):
        assert not may(access, "file-write-create", git / name)
    assert not may(access, "file-write-unlink", git)
    assert may(access, "file-write-unlink", workspace / "a")


def test_what_is_hidden_or_denied_stays_so(workspace: Path) -> None:
    hidden, denied, fixed = workspace / "h", workspace / ".env", workspace / "lock"
    access = access_to(workspace, hidden=(hidden,), unreadable=(denied,), read_only=(fixed,))
    for path in (hidden / "token", denied):
        assert not may(access, "file-read-data", path)
        assert not may(access, "file-write-data", path)
    assert may(access, "file-read-data", fixed) and not may(access, "file-write-data", fixed)


def test_a_workspace_and_a_home_in_a_hidden_folder_stay(workspace: Path) -> None:
    outside = workspace.parent / "more"
    access = access_to(workspace, hidden=(workspace.parent,), readable=(outside,))
    assert not may(access, "file-read-data", outside / "a")
    assert may(access, "file-write-data", workspace / "a")
    assert may(access, "file-write-data", access.home / "a")


def test_more_is_granted_where_the_access_says_so(workspace: Path) -> None:
    more = workspace.parent / "more"
    assert may(access_to(workspace, readable=(more,)), "file-read-data", more / "a")
    assert not may(access_to(workspace, readable=(more,)), "file-write-data", more / "a")
    assert may(access_to(workspace, writable=(more,)), "file-write-data", more / "a")


def test_the_network(workspace: Path) -> None:
    without, with_it = (
        make_profile(access_to(workspace, has_network=each)) for each in (False, True)
    )
    assert "(deny network*)" in without and "(allow network" not in without
    assert "(allow network-outbound (remote ip))" in with_it and "(remote unix" not in with_it


def test_where_there_is_no_seatbelt_it_is_an_error() -> None:
    with pytest.raises(SandboxError, match="It is a part of macOS"):
        Seatbelt(program=Path("/nowhere/sandbox-exec"))


@pytest.mark.skipif(sys.platform != "darwin", reason="Seatbelt is macOS's")
def test_a_command_runs_in_it(workspace: Path) -> None:
    line = "echo 1 >a && cat a; cat ~/../../.profile; echo >/tmp/x"
    with Seatbelt().prepare_command(["sh", "-c", line], workspace, access_to(workspace)) as launch:
        result = subprocess.run(
            launch.argv,
            cwd=workspace,
            env=launch.env,
            pass_fds=launch.pass_fds,
            capture_output=True,
        )
    assert result.stdout == b"1\n" and b"not permitted" in result.stderr
