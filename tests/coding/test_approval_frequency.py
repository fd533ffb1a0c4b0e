"""How often a person is asked while a model works as models do: with pipes, `cd` and redirections.

The commands are those that coding models write over and over. When commands ran without a sandbox and a
shell was allowed, sessions with all of them asked 35 times in six repositories, in place of 12.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import pytest

from agentstepper_nb.coding.approvals import ApprovalDecision, ApprovalRequest
from tests.coding import repair_scenarios
from tests.coding.scripted_parts import FakeProvider, make_text_answer, make_tool_calls
from tests.coding.session_helpers import open_session
from tests.coding.test_repos import unpacked
from tests.helpers.sampling import select_sample

pytestmark = pytest.mark.usefixtures("cached_python")

#: In whatever repository: looking around, running tests, cleaning up.
EVERYWHERE: Final = (
    "ls -la && git status 2>/dev/null | head -20",
    "find . -name '*.py' -not -path './build/*' | xargs wc -l | sort -n | tail -20",
    "python -m unittest 2>&1 | tail -30",
    'python -c "import sys; print(sys.version)"',
    "grep -rn 'def ' --include=*.py . | head -40",
    'for f in *.py; do echo "== $f"; head -5 "$f"; done',
    "python -m unittest -v > /tmp/before.txt 2>&1; tail -5 /tmp/before.txt",
    "cat > /tmp/try.py <<'EOF'\nimport os\nprint(sorted(os.listdir('.')))\nEOF\npython /tmp/try.py",
    "python - <<'EOF'\nimport pathlib\nprint(pathlib.Path('.').resolve().name)\nEOF",
    "awk 'NR<=3 {print FILENAME\": \"$0}' *.py",
    "find . -name '__pycache__' -type d -prune -exec rm -rf {} +",
    "rm -rf build/cache",
)
#: In one repository alone.
HERE: Final = {
    "bill": (
        "python -c \"from bill import *; print([n for n in dir() if n[0] != '_'])\"",
        "sed -n '1,40p' bill.py",
    ),
    "calc": (
        "cd calc && grep -n 'STRENGTH' *.py",
        "python -c \"from calc import evaluate; print(evaluate('2+3*4'))\"",
    ),
    "leap": ('python -c "import calendars; print(calendars.__file__)"', "cat calendars.py | nl"),
    "names": (
        "diff <(sort people.py) <(sort lists.py) | head",
        "python -W error -c 'import people, lists'",
    ),
    "pages": (
        "tmp=$(mktemp -d) && cp -r . $tmp/copy && ls $tmp/copy",
        "python -m pydoc pages | head -30",
    ),
    "colorama": (
        "python -m unittest colorama.tests.ansi_test 2>&1 | tail -5",
        "ls /nowhere || echo missing",
        "python -c \"import ast, sys; ast.parse(open('colorama/ansi.py').read())\"",
    ),
}
#: How often a session with all commands asked before they ran in a sandbox, and how often now: what
#: SPEC's list asks about is deleting folders, and `find -exec`.
BEFORE: Final = 6
EXPECTED: Final = 2


class CountingApprover:
    """Approves whatever is asked, and keeps it."""

    def __init__(self) -> None:
        self.requests: list[ApprovalRequest] = []

    async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
        self.requests.append(request)
        return ApprovalDecision(approved=True)


@pytest.mark.slow
@pytest.mark.parametrize("repo", ["bill", pytest.param("colorama", marks=pytest.mark.soak)])
def test_fewer_than_before(repo: str, tmp_path: Path) -> None:
    copy = prepared(repo, tmp_path)
    approver = asyncio.run(run_commands(copy, [*EVERYWHERE, *HERE[repo]]))
    commands = [request.args["command"] for request in approver.requests]
    assert len(commands) == EXPECTED < BEFORE, commands


@pytest.mark.slow
@pytest.mark.parametrize("repo", select_sample(["calc", "leap", "names", "pages"], "calc", "names"))
def test_looking_around_asks_nothing(repo: str, tmp_path: Path) -> None:
    copy = prepared(repo, tmp_path)
    assert not asyncio.run(run_commands(copy, [*HERE[repo]])).requests


def prepared(repo: str, folder: Path) -> Path:
    """A copy of a repository, in which git knows what is committed."""
    if repo != "colorama":
        return repair_scenarios.prepare(repo, folder)
    copy = unpacked(folder)
    repair_scenarios.dirty(copy)
    return copy


async def run_commands(copy: Path, commands: list[str]) -> CountingApprover:
    """Have a session run commands, one a turn."""
    turns = [
        make_tool_calls((str(number), "run_command", {"command": command}))
        for number, command in enumerate(commands)
    ]
    approver = CountingApprover()
    most = len(turns) + 1
    model = FakeProvider(*turns, make_text_answer("Done."))
    async with await open_session(
        copy.parent, model, workspace=copy, approver=approver, max_iterations=most
    ) as session:
        result = await session.run("Look around.")
    assert result.reason == "done", result
    return approver
