"""Refuse class names that stand twice, modules named for an activity, and private words for known terms.

One word means one thing: a reader who meets a class must not ask which of two it is. A module is named
for what it holds; `reading.py` says nothing of that. Exceptions stand below, with their reasons.
"""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "agentstepper_nb"
ACTIVITY = re.compile(r"[a-z]+ing")

#: Classes that may have the name of another one.
TWICE: dict[str, str] = {}
#: Modules that may have such a name.
ACTIVITIES: dict[str, str] = {
    "coding": "the coding agent's package, as its guide names it",
}
#: Private words, and the terms that replaced them. Words that are also good English or terms of another
#: field can't be searched for: row, stop, session, branch, hook, patch, flow, key, word, rule.
REPLACED = {
    r"(?:life|lives) of (?:a|the) (?:session|run)": "activation of a session, run",
    r"(?:run on their|runs on its) own": "background agent",
    r"trials?": "dry run; fork",
    r"verdicts?": "edit; decision",
    r"tenan(?:t|cy)": "session host",
    r"desks?|switchboard": "Core",
    r"signs? of life": "heartbeat",
}
#: Where such a word stays: the file, the word there, and why.
KEPT = {
    ("agentstepper_nb/protocol/breakpoint_rules.py", "trials"): "the wire of version 2 has it",
    ("agentstepper_nb/protocol/program_requests.py", "trials"): "the wire of version 2 has it",
    ("js/src/protocol/types.gen.ts", "trials"): "the wire of version 2 has it",
    ("js/src/model/breakpoints.ts", "trials"): "the wire of version 2 has it",
    ("agentstepper_nb/chat/connectors/registry.py", "desk"): "an example of a user's own name",
}
#: What people read: its texts and code.
READ = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "agentstepper_nb/**/*.py",
    "docs/*.md",
    "docs/guide/**/*.md",
    "js/src/**/*.ts*",
    "notebooks/*.ipynb",
)


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


def replaced_words(root: Path) -> list[str]:
    """The private words below `root`, a line each, but those of `KEPT`."""
    term = {
        re.compile(rf"\b(?:{words})\b", re.IGNORECASE): instead
        for words, instead in REPLACED.items()
    }
    found = []
    for path in sorted(path for pattern in READ for path in root.glob(pattern)):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found += [
                f"{name}:{number}: “{match[0]}” is a private word. Write: {instead}."
                for words, instead in term.items()
                for match in words.finditer(line)
                if (name, match[0]) not in KEPT
            ]
    return found


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
    wrong = problems(PACKAGE) + replaced_words(ROOT)
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(bool(wrong))
