"""Runs rows of the table in a sandbox, as the user and on the machine that this process finds.

`python -m tests.coding.sandbox.escape_attempts.run SANDBOX FOLDER PART PARTS BATCH EVERY`: prints a JSON
document with the sandbox's name and what each row reached. Up to BATCH rows share a run; where such a
run reaches anything, its rows are run again, each alone. See `sampled` for EVERY.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agentstepper_nb.coding.sandbox import ResourceLimits
from agentstepper_nb.coding.sandbox.backend_selection import choose_sandbox
from agentstepper_nb.coding.sandbox.launch import Sandbox
from agentstepper_nb.coding.snapshots import Snapshots
from tests.coding.sandbox.escape_attempts.attempt_runner import ALL_RAN, AttemptRunner
from tests.coding.sandbox.escape_attempts.attempts import Row, sampled

MIB: Final = 1024**2
#: Less than the rows about limits want to have.
LIMITS: Final = ResourceLimits(memory_bytes=500 * MIB, processes=100)
#: Groups whose rows leave nothing that the next could stumble over.
_TOGETHER: Final = {"issue", "writes", "reads", "network", "before"}


def main() -> None:
    """Run the rows of one part."""
    choice, folder, part, parts, batch, every = sys.argv[1:7]
    rows_of_all = sampled(int(every))
    mine = [row for number, row in enumerate(rows_of_all) if number % int(parts) == int(part)]
    with AttemptRunner(Path(folder)) as stage:
        _set_environment(stage)
        sandbox = choose_sandbox(choice, LIMITS).sandbox  # type: ignore[arg-type]
        rows: dict[str, Any] = {}
        for some in _batches(mine, int(batch)):
            rows |= _ran(stage, sandbox, some)
    print(json.dumps({"sandbox": sandbox.name, "limits": sandbox.limits, "rows": rows}))


def _batches(rows: list[Row], size: int) -> Iterator[list[Row]]:
    together = [row for row in rows if row.group in _TOGETHER]
    yield from ([row] for row in rows if row.group not in _TOGETHER)
    for at in range(0, len(together), size):
        yield together[at : at + size]


def _set_environment(stage: AttemptRunner) -> None:
    """What a person's shell has, with a key and ways to services in it."""
    values = stage.values
    os.environ.update(
        HOME=str(stage.person),
        OPENAI_API_KEY=stage.canaries.new("the API key"),
        SSH_AUTH_SOCK=values["@SOCK@"],
        DOCKER_HOST=f"unix://{values['@SOCK@']}",
        http_proxy=f"http://127.0.0.1:{values['@PORT@']}",
        PIP_INDEX_URL=f"http://127.0.0.1:{values['@PORT@']}/simple",
        PIP_RETRIES="0",
        PIP_TIMEOUT="2",
        npm_config_registry=f"http://127.0.0.1:{values['@PORT@']}/",
        npm_config_fetch_retries="0",
    )


def _ran(stage: AttemptRunner, sandbox: Sandbox, rows: list[Row]) -> dict[str, Any]:
    """What rows reached, each with the end of what it printed; of several, only that it was nothing."""
    if rows[0].group == "work":
        reached, output = _with_snapshot(stage, sandbox, rows[0])
    else:
        looks_at_git = rows[0].group == "git"
        reached, output = stage.run(sandbox, [row.command for row in rows], looks_at_git)
    if len(rows) > 1 and (reached or ALL_RAN not in output):
        return {name: said for row in rows for name, said in _ran(stage, sandbox, [row]).items()}
    said = {"reached": sorted(reached), "output": output[-400:] if len(rows) == 1 else ""}
    return {row.command: said for row in rows}


def _with_snapshot(stage: AttemptRunner, sandbox: Sandbox, row: Row) -> tuple[set[str], str]:
    """A row that destroys work: a snapshot is taken before it, as a session takes one."""
    stage.renew()
    wanted = [_blob(stage.root / name) for name in ("draft.txt", "LICENSE")]
    kept = stage.folder / "kept"
    snapshots = Snapshots(stage.root, kept)
    try:
        if snapshots.save_snapshot() is None:
            return {f"took no snapshot: {snapshots.unavailable_reason}"}, ""
        reached, output = stage.run(sandbox, [row.command])
    finally:
        snapshots.close()
    repositories = [path.parent for path in kept.rglob("HEAD")]
    if not all(any(_has(each, blob) for each in repositories) for blob in wanted):
        reached.add("lost work")
    return reached, output


def _blob(path: Path) -> str:
    words = ["git", "hash-object", "--no-filters", str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def _has(repository: Path, blob: str) -> bool:
    words = ["git", f"--git-dir={repository}", "cat-file", "-e", blob]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    main()
