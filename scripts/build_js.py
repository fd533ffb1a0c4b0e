"""Build js/ into agentstepper_nb/widgets/static/, unless what is there is current.

In a checkout the built files are current when none of their sources is newer: the rule of make,
which git keeps true by touching the files it changes. An sdist carries the built files and is
taken at its word, so that installing it needs no Node; its PKG-INFO, which a checkout never has,
tells the two apart. Standard library only: this runs before anything is installed.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The build's last word: written after the files that it names.
MANIFEST = Path("agentstepper_nb/widgets/static/manifest.json")
VERSION = Path("agentstepper_nb/_version.py")
# npm's own record of what it installed.
INSTALLED = Path("js/node_modules/.package-lock.json")

NOTHING_TO_SHIP = """\
agentstepper_nb cannot be built: {reason}.
The widget's JavaScript is built from js/ by Node.js 20 or newer and npm. Either
  - install Node.js and npm, and try again from a git checkout, or
  - install a released sdist or wheel, which carry the built files and need no Node."""


def main() -> None:
    try:
        ensure_built(ROOT)
    except BuildError as error:
        sys.exit(str(error))


class BuildError(Exception):
    """The built files are missing or stale and cannot be made here; says what to do."""


def ensure_built(root: Path) -> bool:
    """Build if needed; tell whether it was."""
    manifest = root / MANIFEST
    if (root / "PKG-INFO").exists():
        if not manifest.exists():
            raise BuildError(NOTHING_TO_SHIP.format(reason=f"this sdist lacks {MANIFEST}"))
        return False
    if not (root / "js/package.json").exists():
        raise BuildError(NOTHING_TO_SHIP.format(reason="js/package.json is missing"))
    if is_current(manifest, sources(root)):
        return False
    npm = shutil.which("npm")
    if npm is None:
        raise BuildError(
            NOTHING_TO_SHIP.format(reason="the built files are stale and npm is not on PATH")
        )
    ensure_installed(root, npm)
    run(npm, "run", "build", cwd=root / "js")
    if not manifest.exists():
        raise BuildError(f"npm run build went well but wrote no {MANIFEST}")
    manifest.touch()  # a build that changed nothing is a build too
    return True


def ensure_installed(root: Path, npm: str) -> None:
    """Install the packages of the lock file, unless they are."""
    installed = root / INSTALLED
    if is_current(installed, [root / "js/package.json", root / "js/package-lock.json"]):
        return
    run(npm, "ci", "--no-audit", "--no-fund", cwd=root / "js")
    installed.touch()


def sources(root: Path) -> Iterator[Path]:
    """Give every file that the build may read: js/ but its tests, and the version that it shows."""
    yield root / VERSION
    for top in (root / "js").iterdir():
        if top.name not in {"node_modules", "tests", "test"}:
            yield from (file for file in [top, *top.rglob("*")] if file.is_file())


def is_current(made: Path, made_from: list[Path] | Iterator[Path]) -> bool:
    """Tell whether ``made`` exists and none of its sources is newer."""
    if not made.exists():
        return False
    made_at = made.stat().st_mtime_ns
    return all(source.stat().st_mtime_ns <= made_at for source in made_from)


def run(*command: str, cwd: Path) -> None:
    print("$", *command, flush=True)
    done = subprocess.run(command, cwd=cwd)
    if done.returncode:
        raise BuildError(f"`{' '.join(command)}` in js/ failed with status {done.returncode}")


if __name__ == "__main__":
    main()
