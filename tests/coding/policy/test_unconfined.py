"""Without any sandbox: what only reads passes, builds and tests ask once, the rest each time."""

from __future__ import annotations

import asyncio
import json
from typing import Final

import pytest

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision
from agentstepper_nb.coding.sandbox import SandboxMode, SessionGrants
from agentstepper_nb.coding.tool import Tool
from agentstepper_nb.coding.workspace import LocalWorkspace

from .bypass_commands import SHELL, WORDS
from .commands import CONTAINED, CONTAINED_SHELL
from .tools import RUN, RUN_WORDS, AllRecoverable

#: One way around of so many is given to a shell in each run; `make soak` has them all.
EVERY: Final = 16

READS = [
    *("ls", "ls -la src", "cat a.txt", "head -n 5 a.txt", "tail a.txt", "wc -l a.txt", "pwd"),
    *(
        "grep -rn x .",
        "grep -n 'a b' a.txt",
        "rg x",
        "rg -n x src",
        "find . -name '*.py'",
        "diff a b",
    ),
    *("git status", "git log --oneline -5", "git diff --stat", "git show HEAD", "git blame a.txt"),
    *("sort a.txt", "sort a.txt | uniq -c | sort -rn | head", "ls; pwd", "cat *.txt", "echo hi"),
    *("cat a.txt 2>/dev/null", "ls 2>&1 | head -3", "cd src && ls", "timeout 5 ls", "time ls"),
    *("LC_ALL=C sort a.txt", "for x in a b; do echo y; done", "sh -c 'ls src'", "wc -l < a.txt"),
    *("test -f a.txt && cat a.txt", "find . -type f | head", "/bin/ls", "git --no-pager log"),
]
PROJECT = [
    *("pytest", "python -m pytest -q", "python x.py", "make", "make test", "npm test", "npm run x"),
    *("cargo test", "go test ./...", "tox", "node x.js", "./run.sh", "sh run.sh", "uv run pytest"),
    *("timeout 60 pytest -q 2>&1 | tail -5", "cd src && pytest", "PYTHONPATH=src pytest", "mypy ."),
    *("gcc -o x x.c", ".venv/bin/pytest", "ls && make"),
]
#: An option of which a part does is the option, and `@` names a file of arguments.
ABBREVIATED = [
    *("sort --co=./x -S 1b a.txt", "sort --fi=a.txt", "strings @a.txt", "file --fi=a.txt"),
    *("file --ma=x a.txt", "file --co", "date --fi=a.txt", "date --s x", "grep -r --deref x ."),
]
ASKS = [
    *("cat /etc/passwd", "cat ../x", "cat ~/.bashrc", "head //etc/shadow", "cat link", "cat l*"),
    *("grep -R x .", "grep -f/etc/shadow a.txt", "grep --file=/etc/shadow a.txt", "ls /root"),
    *("rg --pre cat x", "rg -L x", "find / -name x", "find . -fprint x", "sort -o a.txt b"),
    *("sort --out=a.txt b", "uniq a.txt b", "git log --output=x", "git -c a.b=c status"),
    *("git -C /x log", "git diff --ext-diff", "git push", "git commit -m x", "git checkout main"),
    *("echo x > y", "touch y", "cp a.txt b", "env", "printenv", "ps axeww", "curl x", "psql x"),
    *(
        "python -c 'print(1)'",
        "python /tmp/x.py",
        "sh /tmp/x.sh",
        "node -e 1",
        "cat $x",
        "date -s x",
    ),
    *("LD_PRELOAD=x ls", "PATH=. ls", "env PATH=. ls", "ls() { curl x; }; ls", "cat .git/config"),
    *("file -C -m x", "printf -v x y", "cat <(curl x)", "ls > x", "/tmp/x", "xargs cat", "awk 1 x"),
    *ABBREVIATED,
    *("sed -n p a.txt", "tee x", "timeout 5 curl x", "cat .ssh/id_rsa", "kill 1234", "cd / && ls"),
]


@pytest.fixture
def filled(workspace: LocalWorkspace) -> LocalWorkspace:
    (workspace.root / "src").mkdir()
    (workspace.root / "a.txt").write_text("x")
    (workspace.root / "link").symlink_to("/etc/passwd")
    return workspace


def decided(
    workspace: LocalWorkspace, command: str, granted: bool = False, tool: Tool = RUN
) -> PolicyDecision:
    grants = SessionGrants()
    grants.project_code = granted
    engine = DefaultPolicyEngine(
        workspace=workspace, is_confined=False, recoverable_files=AllRecoverable(), grants=grants
    )
    return asyncio.run(engine.evaluate(tool, json.dumps({"command": command}))).decision


def test_what_only_reads_passes(filled: LocalWorkspace) -> None:
    assert [it for it in READS if decided(filled, it) is not PolicyDecision.ALLOWED] == []


def test_builds_and_tests_ask_until_they_are_granted(filled: LocalWorkspace) -> None:
    asks = PolicyDecision.REQUIRES_APPROVAL
    assert [it for it in PROJECT if decided(filled, it) is not asks] == []
    granted = [it for it in PROJECT if decided(filled, it, True) is not PolicyDecision.ALLOWED]
    assert granted == []


@pytest.mark.parametrize(
    "command", [*ABBREVIATED, "/bin/../tmp/ls", "/usr/bin/../../tmp/cat a.txt"]
)
def test_what_only_looks_as_if_it_read_asks(filled: LocalWorkspace, command: str) -> None:
    assert decided(filled, command, tool=RUN_WORDS) is PolicyDecision.REQUIRES_APPROVAL


@pytest.mark.slow
def test_the_rest_asks_whatever_is_granted(filled: LocalWorkspace) -> None:
    passed = [it for it in ASKS if decided(filled, it, True) is PolicyDecision.ALLOWED]
    assert passed == []


@pytest.mark.slow
def test_no_way_around_passes(filled: LocalWorkspace) -> None:
    """What was a way around the list of names asks, where no sandbox holds it.

    A shell's command is parsed by a process of its own: one of `EVERY` is in each run.
    """
    allowed = PolicyDecision.ALLOWED
    ways = [*WORDS, *CONTAINED]
    assert [it for it in ways if decided(filled, it, tool=RUN_WORDS) is allowed] == []
    ways = [*SHELL, *CONTAINED_SHELL, *WORDS, *CONTAINED][::EVERY]
    assert [it for it in ways if decided(filled, it) is allowed] == []


@pytest.mark.soak
def test_no_way_around_passes_a_shell(filled: LocalWorkspace) -> None:
    ways = [*WORDS, *SHELL, *CONTAINED, *CONTAINED_SHELL]
    assert [it for it in ways if decided(filled, it) is PolicyDecision.ALLOWED] == []


def test_full_access_asks_about_none_of_them(filled: LocalWorkspace) -> None:
    engine = DefaultPolicyEngine(
        workspace=filled,
        mode=SandboxMode.DANGER_FULL_ACCESS,
        is_confined=False,
        recoverable_files=AllRecoverable(),
    )
    for command in (*READS, "curl x", "cat /etc/passwd", "python -c 1", "touch ../x"):
        said = asyncio.run(engine.evaluate(RUN, json.dumps({"command": command})))
        assert (said.decision, said.reason) == (
            PolicyDecision.ALLOWED,
            "The session has full access.",
        )
