"""The tree of runs that were started again from each other, and the change at each fork's row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from ..protocol.data_model import AnswerKind, HaltPoint, Run
from ..protocol.replay_marks import ReplayRole
from .summaries import MAX_READ_CHARS, extract_first_line, flatten_json

#: Characters of a value that a summary of an edit shows.
_MAX_VALUE_CHARS: Final = 40
#: Characters that are shown before the first that differs.
_CONTEXT_CHARS: Final = 12
_MISSING: Final = object()


def select_tree(runs: Sequence[Run], run_id: str, limit: int) -> tuple[list[Run], int]:
    """The runs of the tree that a run belongs to, each below its parent, siblings in their order.

    Args:
        runs: All runs, oldest first.
        run_id: One of them.
        limit: The most that is given: the run's ancestors, then its descendants, then the others.

    Returns:
        The runs, and how many more the tree has.
    """
    known = {run.id: run for run in runs}
    below: dict[str, list[Run]] = {}
    for run in runs:
        parent = _find_parent(run, known)
        if parent is not None:
            below.setdefault(parent, []).append(run)
    ancestors = list(_list_ancestors(known[run_id], known))
    whole = _list_descendants(ancestors[-1], below)
    preferred = [*reversed(ancestors), *_list_descendants(known[run_id], below)[1:], *whole]
    kept = set(list(dict.fromkeys(run.id for run in preferred))[:limit])
    return [run for run in whole if run.id in kept], len(whole) - len(kept)


def is_fork_point(point: HaltPoint) -> bool:
    """Whether a run was forked at one of its halt points."""
    return point.replay is not UNSET and point.replay.role is ReplayRole.FORKED


def describe_fork_edit(point: HaltPoint) -> str:
    """Describe a person's change at a halt point in one line; "" where nothing was changed."""
    if point.raised is not UNSET:
        return extract_first_line(f"raised {point.raised.type}: {point.raised.message}")
    if point.answer is AnswerKind.DENY:
        return extract_first_line(f"denied: {point.reason or ''}".removesuffix(": "))
    if point.supplied is not UNSET:
        return extract_first_line(f"skipped, with {flatten_json(point.supplied)}")
    if point.edit is not None and point.edit != point.data:
        return extract_first_line(_describe_difference(point.data, point.edit))
    if point.guides:
        return extract_first_line(f"message added: {point.guides[-1]}")
    return ""


# ---- the tree ---------------------------------------------------------------------------------------


def _find_parent(run: Run, known: dict[str, Run]) -> str | None:
    origin = run.forked_from
    if origin is UNSET or origin.run == run.id or origin.run not in known:
        return None
    return origin.run


def _list_ancestors(run: Run, known: dict[str, Run]) -> Iterator[Run]:
    """A run and those that it stands below, the root last."""
    seen: set[str] = set()  # an import may say anything
    while run.id not in seen:
        yield run
        seen.add(run.id)
        run = known[_find_parent(run, known) or run.id]


def _list_descendants(root: Run, below: dict[str, list[Run]]) -> list[Run]:
    """A run and all below it, each after its parent."""
    found: dict[str, Run] = {}
    waiting = [root]
    while waiting:
        run = waiting.pop()
        if run.id not in found:
            found[run.id] = run
            waiting.extend(reversed(below.get(run.id, [])))
    return list(found.values())


# ---- an edit ----------------------------------------------------------------------------------------


def _describe_difference(before: str, after: str) -> str:
    """The first value that differs, with its path, and how many more there are."""
    if max(len(before), len(after)) > MAX_READ_CHARS:
        return "edited"
    try:
        found = list(_find_differences(msgspec.json.decode(before), msgspec.json.decode(after)))
    except (ValueError, RecursionError):  # only a lenient parser takes it
        return "edited"
    if not found:
        return "written anew"
    path, old, new = found[0]
    start = _find_start(old, new)
    line = f"{_show(old, start)} → {_show(new, start)}"
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{path}: {line}{more}" if path else f"{line}{more}"


def _find_differences(before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """The values that differ in two JSON values, each with its path, in their order."""
    waiting = [("", before, after)]
    while waiting:
        path, old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            keys = dict.fromkeys((*old, *new))
            inside = [(_join(path, key), *_get_both(old, new, key)) for key in keys]
        elif isinstance(old, list) and isinstance(new, list):
            inside = [(f"{path}[{at}]", *_get_items(old, new, at)) for at in _list_places(old, new)]
        elif old is _MISSING or new is _MISSING or (type(old), old) != (type(new), new):
            yield path, old, new
            continue
        else:
            continue
        waiting.extend(reversed(inside))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _get_both(old: dict[str, Any], new: dict[str, Any], key: str) -> tuple[Any, Any]:
    return old.get(key, _MISSING), new.get(key, _MISSING)


def _list_places(old: list[Any], new: list[Any]) -> Iterable[int]:
    return range(max(len(old), len(new)))


def _get_items(old: list[Any], new: list[Any], at: int) -> tuple[Any, Any]:
    return old[at] if at < len(old) else _MISSING, new[at] if at < len(new) else _MISSING


def _find_start(old: Any, new: Any) -> int:
    """From which character on two texts are shown: a little before they differ."""
    if not isinstance(old, str) or not isinstance(new, str):
        return 0
    same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    if same is None:
        same = min(len(old), len(new))
    is_short = max(len(old), len(new)) <= _MAX_VALUE_CHARS
    return 0 if is_short else max(0, same - _CONTEXT_CHARS)


def _show(value: Any, start: int) -> str:
    if value is _MISSING:
        return "nothing"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    head = "…" if start else ""
    tail = "…" if len(text) - start > _MAX_VALUE_CHARS else ""
    shown = f"{head}{text[start : start + _MAX_VALUE_CHARS]}{tail}"
    return f"“{shown}”" if isinstance(value, str) else shown
