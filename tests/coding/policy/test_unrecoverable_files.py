"""What would lose work that nothing holds asks; what git has committed, or a snapshot holds, passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision, PolicyEvaluation
from agentstepper_nb.coding.policy.unrecoverable_files import (
    FILES_LIMIT,
    CommittedFiles,
    find_unrecoverable_file,
)
from agentstepper_nb.coding.tool import Risk
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.helpers.sampling import select_sample
from tests.sdk.workspace.helpers import git

from .tools import PATCH, RUN, RUN_WORDS, WRITE, AllRecoverable, evaluate_tool


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> LocalWorkspace:
    """`clean.txt` is committed as it is, `changed.txt` isn't any more, `new.txt` never was.

    All tests share it: judging runs nothing.
    """
    root = tmp_path_factory.mktemp("repository")
    (root / "src").mkdir()
    (root / ".gitignore").write_text("*.log\n")
    for name in ("clean.txt", "changed.txt", "src/a.txt"):
        (root / name).write_text("committed\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    (root / "changed.txt").write_text("a person's work\n")
    (root / "new.txt").write_text("a person's work\n")
    (root / "x.log").write_text("ignored\n")
    (root / "link").symlink_to("new.txt")
    return LocalWorkspace(root)


def of_command(workspace: LocalWorkspace, command: str, folder: str = ".") -> PolicyEvaluation:
    return evaluate_tool(
        DefaultPolicyEngine(workspace=workspace), RUN, command=command, folder=folder
    )


TARGET_FOLDERS = [
    *(
        "mv -ft . src/new.txt",
        "mv -t. src/new.txt",
        "cp -ft. -- src/new.txt",
        "cp --t=. src/new.txt",
    ),
    *("cp -vt . src/new.txt", "install -m 644 -Dt. src/new.txt", "cp -- -t new.txt"),
]
LOSES = [
    *("rm new.txt", "rm changed.txt", "unlink new.txt", "rm ./*.txt", "shred x.log"),
    *(
        "mv clean.txt new.txt",
        "cp clean.txt changed.txt",
        "cp clean.txt link",
        "cp src/a.txt x.log",
    ),
    *("ln -sf clean.txt new.txt", "install clean.txt new.txt", "cp -t . /etc/new.txt"),
    *("tee new.txt", "truncate -s 0 new.txt", "echo x > new.txt", "echo x >| changed.txt"),
    *("echo x &> new.txt", "echo x >& new.txt", ": > link", "ls && (echo x > new.txt)"),
    *("sed -i s/a/b/ new.txt", "sed -n -i.bak p changed.txt", "perl -i -pe s/a/b/ new.txt"),
    *("git checkout changed.txt", "git checkout -- .", "git checkout HEAD changed.txt"),
    *("git checkout -f", "git switch -f main", "git restore .", "git restore changed.txt"),
    *("git restore -SW changed.txt", "git restore '*.txt'", "git rm -f changed.txt"),
    *("git apply x.patch", "git -c core.pager=cat checkout .", "mv new.txt /tmp/x"),
    *("sh -c 'rm new.txt'", "cd src && rm ../new.txt", "cd src; cd ..; rm new.txt"),
    *("env A=1 rm new.txt", "for i in 1 2; do rm new.txt; done", "mv src/a.txt ./new.txt"),
    *TARGET_FOLDERS,
]
KEEPS = [
    *("rm clean.txt", "rm nothing.txt", "mv new.txt other.txt", "cp new.txt other.txt"),
    *("echo x >> new.txt", "tee -a new.txt", "echo x > other.txt", "cat < new.txt", "ls 2>&1"),
    *(
        "sed s/a/b/ new.txt",
        "sed -i s/a/b/ clean.txt",
        "git checkout main",
        "git checkout clean.txt",
    ),
    *("git switch main", "git restore --staged changed.txt", "git rm --cached changed.txt"),
    *(
        "git rm changed.txt",
        "git apply --check x.patch",
        "git stash",
        "git add .",
        "rm /tmp/new.txt",
    ),
    *("echo x > /dev/null", "cat changed.txt", "mv clean.txt src/", "ln -s clean.txt new.txt"),
    *("perl -Ilib x.pl new.txt", "rm src/a.txt", "git checkout src", "touch new.txt"),
]
#: What loses only what a snapshot may hold.
SAVED = [each for each in LOSES if "git switch" not in each]


@pytest.mark.parametrize("command", select_sample(LOSES, *{*LOSES[::2], *TARGET_FOLDERS}))
def test_a_command_that_loses_work_asks(repository: LocalWorkspace, command: str) -> None:
    said = of_command(repository, command)
    assert said.decision is PolicyDecision.REQUIRES_APPROVAL
    assert said.risk is Risk.HIGH
    assert "of which neither a commit nor a snapshot has a copy" in said.reason


@pytest.mark.parametrize("command", select_sample(KEEPS, *KEEPS[::2]))
def test_a_command_that_loses_nothing_passes(repository: LocalWorkspace, command: str) -> None:
    said = of_command(repository, command)
    assert (said.decision, said.reason) == (
        PolicyDecision.ALLOWED,
        "The command runs in the sandbox.",
    )


@pytest.mark.parametrize("command", select_sample(SAVED, *SAVED[1::4]))
def test_what_a_snapshot_holds_is_lost_by_nothing(repository: LocalWorkspace, command: str) -> None:
    engine = DefaultPolicyEngine(workspace=repository, recoverable_files=AllRecoverable())
    said = evaluate_tool(engine, RUN, command=command)
    assert said.decision is PolicyDecision.ALLOWED


def test_paths_are_those_of_the_calls_folder(repository: LocalWorkspace) -> None:
    asks = PolicyDecision.REQUIRES_APPROVAL
    assert of_command(repository, "rm ../new.txt", "src").decision is asks
    assert of_command(repository, "rm new.txt", "src").decision is PolicyDecision.ALLOWED


def test_words_are_paths_without_a_shell_too(repository: LocalWorkspace) -> None:
    engine = DefaultPolicyEngine(workspace=repository)
    said = evaluate_tool(engine, RUN_WORDS, command="rm new.txt")
    assert "The command changes `new.txt`, of which" in said.reason


@pytest.mark.parametrize(
    ("tool", "args", "asks"),
    [
        (WRITE, {"path": "new.txt"}, True),
        (WRITE, {"path": "link"}, True),
        (WRITE, {"path": "clean.txt"}, False),
        (WRITE, {"path": "other.txt"}, False),
        (PATCH, {"patch": "--- a/new.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-a\n+b\n"}, True),
    ],
)
def test_so_are_the_files_of_a_tool(
    repository: LocalWorkspace, tool: object, args: dict[str, str], asks: bool
) -> None:
    engine = DefaultPolicyEngine(workspace=repository)
    said = evaluate_tool(engine, tool, **args)  # type: ignore[arg-type]
    assert (said.decision is PolicyDecision.REQUIRES_APPROVAL) == asks
    assert (
        not asks or "`new.txt`, of which neither a commit nor a snapshot has a copy" in said.reason
    )
    assert not asks or said.rule is None


def test_without_a_repository_nothing_is_saved(workspace: LocalWorkspace) -> None:
    (workspace.root / "a").write_text("x")
    assert not CommittedFiles(workspace.root).is_recoverable(workspace.root / "a")
    assert of_command(workspace, "rm a").decision is PolicyDecision.REQUIRES_APPROVAL


def test_too_many_files_count_as_unsaved(tmp_path: Path) -> None:
    for number in range(FILES_LIMIT + 1):
        (tmp_path / str(number)).touch()
    files = sorted(tmp_path.iterdir())
    assert find_unrecoverable_file(files[:FILES_LIMIT], AllRecoverable()) is None
    assert find_unrecoverable_file(files, AllRecoverable()) == files[FILES_LIMIT]
