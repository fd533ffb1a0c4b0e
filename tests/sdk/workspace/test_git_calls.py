"""Every call of git carries every option, setting and variable under which git runs no other program."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

import agentstepper_nb
from agentstepper_nb.doctor.fact_collection import collect_facts
from tests.coding.tool_workspace import ToolWorkspace
from tests.sdk.workspace.helpers import Open, git, make_repository
from tests.sdk.workspace.recording import Call, RecordingGit

#: Written out here, so that leaving one out of the package is seen.
VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": os.devnull,
    "XDG_CONFIG_HOME": os.devnull,
}
CONFIG = {
    "core.askPass": "false",
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "credential.helper": "",
    "diff.submodule": "short",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
}
DIFF = {"--submodule=short", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}
OPTIONS = {"diff": DIFF, "diff-tree": DIFF, "status": {"--ignore-submodules=dirty"}}

#: Variables that belong to one call.
OWN = ("GIT_CONFIG_", "GIT_DIR", "GIT_WORK_TREE")

#: All of git's commands that the package uses.
COMMANDS = {
    "add",
    "cat-file",
    "check-attr",
    "check-ignore",
    "commit",
    "config",
    "diff",
    "diff-tree",
    "fast-import",
    "init",
    "ls-files",
    "rev-parse",
    "status",
    "version",
}


def carries_all(call: Call) -> None:
    assert call.environment.items() >= VARIABLES.items(), call
    strangers = {name for name in call.environment if name.startswith("GIT_")} - VARIABLES.keys()
    assert all(name.startswith(OWN) for name in strangers), strangers
    # git_commit makes names that others check out: there they may mean `.git`.
    names = {name for name in CONFIG if not name.startswith("core.protect")}
    assert all(call.config[name] == CONFIG[name] for name in names), call
    assert call.config.keys() >= CONFIG.keys()
    assert "--no-pager" in call.arguments
    assert "--literal-pathspecs" in call.arguments or call.command == "check-ignore"
    assert set(call.arguments) >= OPTIONS.get(call.command, set()), call


@pytest.mark.slow
def test_each_call_carries_all_options_settings_and_variables(
    tmp_path: Path, folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(folder, **{".gitignore": "*.log\n", "a": "a\n"})
    tool_workspace = ToolWorkspace(tmp_path / "coding")
    make_repository(tool_workspace.root)
    for name in ("user.name", "user.email"):
        git(tool_workspace.root, "config", name, "someone")
    recorded = RecordingGit(tmp_path / "bin", monkeypatch)
    for name in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_TRACE"):
        monkeypatch.setenv(name, "/nonexistent")
    go_every_way(tool_workspace, folder, watch)
    calls = recorded.calls()
    for call in calls:
        carries_all(call)
    assert {call.command for call in calls} == COMMANDS


def go_every_way(tool_workspace: ToolWorkspace, folder: Path, watch: Open) -> None:
    """Use all that calls git: the SDK's workspace, the coding agent's tools, `doctor`."""
    workspace = watch(require_clean=True)
    (folder / "a").write_text("b\n")
    assert workspace.snapshot() and workspace.commit()
    calls: tuple[tuple[str, dict[str, object]], ...] = (
        ("git_status", {}),
        ("git_diff", {}),
        ("git_diff", {"staged": True}),
        ("git_diff", {"base": "HEAD"}),
        ("list_files", {}),
        ("search", {"pattern": "two"}),
        ("git_commit", {"message": "x", "paths": ["."]}),
    )
    tool_workspace.write("new.txt", "two\n")
    for name, arguments in calls:
        result = tool_workspace.call(name, **arguments)
        assert result.ok, result.error
    assert collect_facts().python.git


@pytest.mark.slow
def test_one_module_alone_starts_git() -> None:
    package = Path(agentstepper_nb.__file__).parent
    starting = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "git" in (text := path.read_text()) and any(map(_starts_git, ast.walk(ast.parse(text))))
    }
    assert starting == {"sdk/workspace/git_environment.py"}  # for `command`, which calls it


STARTING = {"run", "Popen", "call", "check_call", "check_output", "which", "system"} | {
    "create_subprocess_exec",
    "create_subprocess_shell",
}


def _starts_git(node: ast.AST) -> bool:
    """Whether a program called git is named, or GitPython imported."""
    match node:
        case ast.Import(names=names):
            return any(name.name.partition(".")[0] == "git" for name in names)
        case ast.ImportFrom(module=str(module), level=0):
            return module.partition(".")[0] == "git"
        case ast.Call(func=ast.Attribute() | ast.Name() as called, args=[first, *_]):
            name = called.attr if isinstance(called, ast.Attribute) else called.id
            return name in STARTING and _names_git(first)
    return False


def _names_git(argument: ast.expr) -> bool:
    first = argument.elts[0] if isinstance(argument, ast.List | ast.Tuple) else argument
    return isinstance(first, ast.Constant) and str(first.value).split()[:1] == ["git"]


def test_a_git_in_the_workspace_is_not_run(
    folder: Path, watch: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    (folder / "git").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (folder / "git").chmod(0o755)
    (folder / "a").write_text("a\n")
    make_repository(folder)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    watch(require_clean=True)
    assert not mark.exists()
