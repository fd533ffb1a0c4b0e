"""Print the release notes: the part of CHANGELOG.md for the version of `agentstepper_nb/_version.py`.

Where the changelog has no part of that version, the part Unreleased is printed, as a draft. With
`--release` a missing part is an error, and so is a tag that isn't the version's.

    python scripts/release_notes.py [--release] [TAG]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_PART = re.compile(r"^## (?P<version>[\w.]+)(?P<date> – \d{4}-\d\d-\d\d)?$", re.MULTILINE)


class NotesError(Exception):
    """The changelog and the version don't belong together; the message says what to do."""


def read_version(root: Path = ROOT) -> str:
    """The version, from the one place where it is written."""
    text = (root / "agentstepper_nb" / "_version.py").read_text()
    [version] = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(version)


def find_notes(changelog: str, version: str, is_release: bool) -> str:
    """The part of the changelog for a version.

    Args:
        changelog: The whole of CHANGELOG.md.
        version: The version.
        is_release: Whether a part with the version's number and date must be there.
    """
    parts = list(_PART.finditer(changelog))
    ends = [part.start() for part in parts[1:]] + [len(changelog)]
    texts = {
        part["version"]: (part["date"], changelog[part.end() : end].strip())
        for part, end in zip(parts, ends, strict=True)
    }
    date, notes = texts.get(version, (None, ""))
    if is_release and not (date and notes):
        raise NotesError(
            f"CHANGELOG.md has no notes for {version}. "
            f"Head the part of this release `## {version} – YYYY-MM-DD`, "
            "and leave an empty part `## Unreleased` above it."
        )
    return notes or texts.get("Unreleased", (None, ""))[1]


def main(arguments: list[str]) -> int:
    """Print the notes, or say what is wrong."""
    version = read_version()
    tags = [each.removeprefix("v") for each in arguments if not each.startswith("--")]
    try:
        if tags and tags != [version]:
            raise NotesError(
                f"{tags[0]} is not the version {version} of agentstepper_nb/_version.py. "
                "Change that file, or name its version."
            )
        changelog = (ROOT / "CHANGELOG.md").read_text()
        print(find_notes(changelog, version, "--release" in arguments))
    except NotesError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
