"""What it costs to have the package: each import in a fresh interpreter, which tells the time itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from .round_trip import Spread


@dataclass(frozen=True)
class Snippet:
    """Something that is done once a process."""

    name: str
    code: str
    before: str = ""  # what is there already
    goal: float | None = None  # seconds


@dataclass(frozen=True)
class ImportTime:
    """A snippet's result."""

    snippet: Snippet
    seconds: Spread


SNIPPETS = (
    Snippet("import agentstepper_nb", "import agentstepper_nb", goal=0.080),
    Snippet("from agentstepper_nb import AgentStepper", "from agentstepper_nb import AgentStepper"),
    Snippet(
        "%load_ext agentstepper_nb",
        "shell.run_line_magic('load_ext', 'agentstepper_nb')",
        "from IPython.core.interactiveshell import InteractiveShell as Shell\nshell = Shell.instance()",
        goal=0.300,
    ),
)

_PROGRAM = """\
{before}
import time
begin = time.perf_counter()
{code}
print(time.perf_counter() - begin)
"""


def measure(count: int) -> list[ImportTime]:
    """Measure every snippet, in turn.

    Args:
        count: How often.
    """
    seconds = [[_time_snippet(snippet) for snippet in SNIPPETS] for _ in range(count + 1)]
    warm = seconds[1:]  # the first one writes and reads the files of compiled modules
    return [
        ImportTime(snippet, Spread.of([each[index] for each in warm]))
        for index, snippet in enumerate(SNIPPETS)
    ]


def _time_snippet(snippet: Snippet) -> float:
    program = _PROGRAM.format(before=snippet.before, code=snippet.code)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout.split()[-1])
