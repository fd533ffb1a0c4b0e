"""Build js/ into agentstepper_nb/widgets/static/ and labextension/, unless what is there is current.

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
# The last file of the labextension.
LABEXTENSION = Path("agentstepper_nb/labextension/package.json")
MADE = (LABEXTENSION, MANIFEST)
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
    if (root / "PKG-INFO").exists():
        for lacking in missing(root):
            raise BuildError(NOTHING_TO_SHIP.format(reason=f"this sdist lacks {lacking}"))
        return False
    if not (root / "js/package.json").exists():
        raise BuildError(NOTHING_TO_SHIP.format(reason="js/package.json is missing"))
    made_from = list(sources(root))
    if all(is_current(root / made, made_from) for made in MADE):
        return False
    npm = shutil.which("npm")
    if npm is None:
        raise BuildError(
            NOTHING_TO_SHIP.format(reason="the built files are stale and npm is not on PATH")
        )
    ensure_installed(root, npm)
    run(npm, "run", "build", cwd=root / "js")
    for lacking in missing(root):
        raise BuildError(f"npm run build went well but wrote no {lacking}")
    for made in MADE:
        (root / made).touch()  # a build that changed nothing is a build too
    return True


def missing(root: Path) -> list[Path]:
    """Give what every build leaves and isn't there."""
    return [made for made in MADE if not (root / made).exists()]


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


def is_current(made: Path, made_from: list[Path]) -> bool:
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
