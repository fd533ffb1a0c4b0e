"""Refuse files that name one machine's paths or a package registry's host.

Either works only where its author sat: the paths are nobody else's, and others reach their
registries by other names. Looks at what git tracks or would add.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Written so that this file does not match itself. The home of "me" is nobody's: an example.
REFUSED = {
    "a machine's path": re.compile(
        rb"(?<![\w.~-])/(?:[w]ork|[r]oot|(?:[h]ome|[U]sers)/(?!me/)[\w.-]+)/[\w.]"
        rb"|[.]library/|(?<![\w./-])[s]hared/"
    ),
    "a package registry's host": re.compile(
        rb"\b(?:[\w-]+\.)*"
        rb"(?:pypi|pythonhosted|npmjs|yarnpkg|npmmirror|crates|debian)\.(?:org|com|io)\b"
    ),
}


def main() -> None:
    found = [f"{path}:{line}: {what}: {text}" for path, line, what, text in findings(files())]
    if found:
        print(*found, sep="\n")
        sys.exit(f"{len(found)} names that mean nothing on another machine; take them out")


def files() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def findings(names: list[str], root: Path = ROOT) -> Iterator[tuple[str, int, str, str]]:
    """Give every match as path, line, what it is, and the text."""
    for name in names:
        content = (root / name).read_bytes()
        for what, pattern in REFUSED.items():
            for match in pattern.finditer(content):
                line = content.count(b"\n", 0, match.start()) + 1
                yield name, line, what, match.group().decode()


if __name__ == "__main__":
    main()
