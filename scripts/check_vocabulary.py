"""Refuse a public class name that stands twice in the package, and a module named for an activity.

One word means one thing: a reader who meets a class must not ask which of two it is. A module is named
for what it holds; `reading.py` says nothing of that. What is excepted stands below, with its reason.
"""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "agentstepper_nb"
ACTIVITY = re.compile(r"[a-z]+ing")

#: Classes that may have the name of another one.
TWICE: dict[str, str] = {}
#: Modules that may have such a name.
ACTIVITIES: dict[str, str] = {
    "coding": "the coding agent's package, as its guide names it",
}


def public_classes(source: str) -> list[str]:
    """The names of the public classes at the top of a module's source."""
    body = ast.parse(source).body
    return [
        node.name
        for node in body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def repeated(package: Path) -> dict[str, list[Path]]:
    """Public class names that stand more than once below `package`, with their modules."""
    modules: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for name in public_classes(path.read_text(encoding="utf-8")):
            modules[name].append(path.relative_to(package))
    return {name: paths for name, paths in modules.items() if len(paths) > 1}


def activities(package: Path) -> list[Path]:
    """Modules and packages below `package` that are named by one word for an activity."""
    return [
        path.relative_to(package)
        for path in sorted(package.rglob("*"))
        if (path.suffix == ".py" or path.is_dir()) and ACTIVITY.fullmatch(path.stem)
    ]


def problems(package: Path) -> list[str]:
    """What is wrong with the names below `package`, a line each."""
    found = [
        f"The class {name} stands in {', '.join(map(str, paths))}: give each its own name."
        for name, paths in repeated(package).items()
        if name not in TWICE
    ]
    found += [
        f"The module {path} is named for an activity: name it for what it holds."
        for path in activities(package)
        if path.as_posix() not in ACTIVITIES
    ]
    return found


if __name__ == "__main__":
    wrong = problems(PACKAGE)
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(bool(wrong))
