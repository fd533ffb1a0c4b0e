"""The effect checks: each a pure function from a tool's end to what doesn't fit, and their registry.

The checks are precise rather than eager: harmless differences get no mark. A check's message is one
sentence, names the file or the row, and quotes the tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from ...entry_point_loader import EntryPointLoader
from ...protocol.data_model import ChangeKind
from ...protocol.effects import EffectCheckInfo, EffectMark, MarkSeverity
from .claims import EXISTS, FAILED_TESTS
from .effect_input import EffectInput, FileEffect, is_ignored, is_same_file

#: Says what doesn't fit of one tool's end; None where all does.
CheckFunction = Callable[[EffectInput], EffectMark | str | None]

#: From this share on two edits are nearly the same.
_NEARLY: Final = 0.9
#: Characters in which two edits may differ and are still compared one by one.
_MAX_MATCHED_CHARS: Final = 500
#: Earlier edits that one is compared with.
_MAX_COMPARED: Final = 10
#: Characters of a quotation, and of a mark.
_MAX_QUOTED_CHARS: Final = 70
MAX_MARK_CHARS: Final = 300
#: A command whose exit code may not be that of the program with the output.
_JOINED: Final = re.compile(r"[|;]|&&")
_TEST_COMMAND: Final = re.compile(
    r"\b(?:pytest|unittest|tox|nose2?|jest|vitest|mocha|(?:npm|yarn|pnpm)(?: run)? test|cargo test"
    r"|go test|mvn|gradle|ctest|rspec|phpunit|make (?:\w+ )*(?:test|check))\b"
)
_TEST_TOOL: Final = re.compile(r"test", re.IGNORECASE)


class EffectCheck(NamedTuple):
    """An effect check.

    Args:
        name: The name, for switching the check off and for breakpoints.
        title: The compared things, in words.
        check: Returns the mark of a call; a text is a warning of this check.
    """

    name: str
    title: str
    check: CheckFunction


def check_exit_code(call: EffectInput) -> str | None:
    """The exit code and the text say different things."""
    claims = call.claims
    if claims.exit_code is None:
        return None
    if claims.exit_code != 0:
        if claims.worked and not claims.failed and not claims.has_failed_words:
            return f"Exit code {claims.exit_code}, but it says {quote(claims.worked)}."
        return None
    is_test = _TEST_TOOL.search(call.tool) or _TEST_COMMAND.search(call.command)
    if is_test and not _JOINED.search(call.command):
        failed = FAILED_TESTS.search(claims.text[-2000:])
        if failed:
            return f"Exit code 0, but it says {quote(failed[0])}."
    if claims.failed and (claims.failed_field or not call.command):
        return f"Exit code 0, but it says {quote(claims.failed)}."
    return None


def check_named_files(call: EffectInput) -> str | None:
    """Other files changed than those that the call names."""
    changed = [each for each in call.changes if not is_ignored(each.path)]
    named = call.seen_paths()
    if not changed or not named or call.has_failed or call.claims.does_nothing:
        return None
    if call.deletes:
        kept = next((path for path in named if _is_kept(path, changed)), None)
        return kept and f"It was to delete {kept}, which is still there."
    missed = [path for path in named if not call.has_changed(path)]
    if missed and len(missed) == len(named):
        return f"It names {_list(missed)}, but changed {_list(each.path for each in changed)}."
    return None


def _is_kept(path: str, changed: Iterable[FileEffect]) -> bool:
    alike = [each for each in changed if is_same_file(path, each.path)]
    return bool(alike) and all(each.kind is not ChangeKind.DELETED for each in alike)


def check_no_effect(call: EffectInput) -> EffectMark | str | None:
    """Mark a call that claims a write, or whose tool writes, while no file changed."""
    if not _wrote_nothing(call) or call.same_content is not None:
        return None
    what = "deleted" if call.deletes else "changed"
    if call.claims.worked:
        return f"It says {quote(call.claims.worked)}, but {what} no file."
    named = _list(call.seen_paths())
    return EffectMark(
        check="no_effect",
        message=f"It was to write {named}, and {what} no file.",
        severity=MarkSeverity.NOTE,
    )


def _wrote_nothing(call: EffectInput) -> bool:
    """Whether a call was to change files, doesn't say that it failed or did nothing, and did."""
    return bool(
        call.is_watched
        and not call.changes
        and call.seen_paths()
        and not call.has_failed
        and not call.claims.does_nothing
    )


def check_same_content(call: EffectInput) -> EffectMark | None:
    """The file held just that before."""
    if call.same_content is None or not _wrote_nothing(call):
        return None
    where = f" (row {call.same_content})" if call.same_content else ""
    named = _list(call.seen_paths())
    return EffectMark(
        check="same_content",
        message=f"It writes what {named} holds already{where}: nothing changed.",
        severity=MarkSeverity.NOTE,
    )


def check_dropped_edit(call: EffectInput) -> str | None:
    """An edit that is nearly the same as one before had no effect: the tool may drop those."""
    if not _wrote_nothing(call) or call.same_content is not None:
        return None
    paths, compared = call.seen_paths(), 0
    for earlier in reversed(call.earlier):
        if compared == _MAX_COMPARED:
            break
        if earlier.tool != call.tool or earlier.failed or earlier.arguments == call.arguments_text:
            continue
        if not any(is_same_file(path, *earlier.paths) for path in paths):
            continue
        compared += 1
        share = _likeness(earlier.arguments, call.arguments_text)
        if share >= _NEARLY:
            return (
                f"This edit of {_list(paths)} had no effect. It is nearly the same as that of row "
                f"{earlier.seq} ({int(share * 100)} % alike): the tool may have dropped it."
            )
    return None


def _share_begin(texts: tuple[str, str]) -> str:
    """The beginning that two texts share."""
    one, other = texts
    low, high = 0, min(len(one), len(other))
    while low < high:  # by halves: comparing slices is far faster than characters
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return one[:low]


def _likeness(one: str, other: str) -> float:
    """The part of two texts that is the same, from 0 to 1; long middles that differ don't count."""
    size = len(one) + len(other)
    begin = len(_share_begin((one, other)))
    left, right = one[begin:], other[begin:]
    end = len(_share_begin((left[::-1], right[::-1])))
    left, right = left[: len(left) - end], right[: len(right) - end]
    same = begin + end
    if 2 * same < size * _NEARLY and max(len(left), len(right)) <= _MAX_MATCHED_CHARS:
        matcher = SequenceMatcher(None, left, right, autojunk=False)
        same += sum(block.size for block in matcher.get_matching_blocks())
    return 2 * same / size if size else 0.0


def check_failed_effect(call: EffectInput) -> str | None:
    """Mark a call that reports failure, although its intended change happened."""
    if not call.has_failed or call.command:
        return None
    for change in call.changes:
        if change.kind is ChangeKind.DELETED and not call.deletes:
            continue
        if _is_made_by(call, change):
            said = call.claims.failed or call.claims.headline
            done = {ChangeKind.ADDED: "created", ChangeKind.DELETED: "deleted"}
            how = done.get(change.kind, "changed")
            if call.claims.exit_code and not said:
                said = f"exit code {call.claims.exit_code}"
            report = f"It reports failure ({quote(said)})" if said else "It reports failure"
            return f"{report}, but {how} {change.path}."
    return None


def _is_made_by(call: EffectInput, change: FileEffect) -> bool:
    """Whether a changed file is one that the call is about: an argument names it, or a part of it."""
    if any(is_same_file(subject, change.path) for subject in call.subjects if "." in subject):
        return True
    if change.kind is not ChangeKind.ADDED:
        return False
    parts = {part for step in change.path.split("/") for part in (step, step.partition(".")[0])}
    return any(subject in parts for subject in call.subjects)


def check_already_done(call: EffectInput) -> str | None:
    """Mark a result by which something exists already that an earlier call reported as failed."""
    exists = EXISTS.search(call.claims.text[:2000])
    if exists is None or not call.subjects or call.command:
        return None
    for earlier in reversed(call.earlier):
        if earlier.tool != call.tool or earlier.says_exists or not earlier.subjects & call.subjects:
            continue
        if not earlier.failed:
            return None
        return (
            f"It says {quote(exists[0])}, but row {earlier.seq} reported that it failed: "
            "that call had its effect."
        )
    return None


def quote(text: str) -> str:
    """A text's first line in quotation marks, cut."""
    line = " ".join(text.split())
    cut = line if len(line) <= _MAX_QUOTED_CHARS else f"{line[: _MAX_QUOTED_CHARS - 1]}…"
    return f"“{cut}”"


def _list(paths: Iterable[str]) -> str:
    """Two files by name, the others by number."""
    named = list(paths)
    shown = " and ".join(
        each if len(each) <= _MAX_QUOTED_CHARS else f"…{each[-_MAX_QUOTED_CHARS:]}"
        for each in named[:2]
    )
    return (
        shown if len(named) <= 2 else f"{', '.join(shown.split(' and '))} and {len(named) - 2} more"
    )


BUILTIN_CHECKS: Final[tuple[EffectCheck, ...]] = (
    EffectCheck(
        "dropped_edit", "An edit nearly the same as one before had no effect", check_dropped_edit
    ),
    EffectCheck("no_effect", "A tool says it wrote, and no file changed", check_no_effect),
    EffectCheck("same_content", "What is written stands there already", check_same_content),
    EffectCheck("named_files", "Other files changed than the call names", check_named_files),
    EffectCheck(
        "failed_effect", "A failure is reported, and its effect happened", check_failed_effect
    ),
    EffectCheck(
        "already_done", "What an earlier call reported as failed exists", check_already_done
    ),
    EffectCheck("exit_code", "Exit code and text say different things", check_exit_code),
)


#: The entry points by which installed packages add checks; each names an `EffectCheck`.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.effect_checks"


def _check_type(made: object) -> None:
    if not isinstance(made, EffectCheck):
        raise TypeError(f"it is a {type(made).__name__}, not an agentstepper_nb.extend.EffectCheck")


def load_effect_checks() -> tuple[EffectCheck, ...]:
    """The checks of installed packages, without those that can't be loaded."""
    loader = EntryPointLoader[EffectCheck](ENTRY_POINT_GROUP, "effect check", _check_type)
    return tuple(loader.load_all().values())


class EffectChecks:
    """The effect checks of one Core or one agent, each of which may be switched off.

    Args:
        added: The checks of extensions; a check with the name of another replaces it.
        list_disabled: Returns the names of the checks that are off.
        on_error: Called with the name of a check that raised; the call then has no mark of it.
    """

    def __init__(
        self,
        added: Iterable[EffectCheck] = (),
        list_disabled: Callable[[], Iterable[str]] = tuple,
        on_error: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._checks = {each.name: each for each in (*BUILTIN_CHECKS, *added)}
        self._on_error = on_error
        self._list_disabled = list_disabled

    @property
    def disabled(self) -> frozenset[str]:
        """The names of the checks that are off."""
        return frozenset(self._list_disabled())

    def describe(self) -> tuple[EffectCheckInfo, ...]:
        """Each check, and whether it is on."""
        return tuple(
            EffectCheckInfo(
                name=each.name, title=each.title, enabled=each.name not in self.disabled
            )
            for each in self._checks.values()
        )

    def run(self, call: EffectInput) -> tuple[EffectMark, ...]:
        """The marks of one tool's end, those of the checks that are on, warnings first."""
        marks = list(self._run(call))
        return tuple(sorted(marks, key=lambda mark: mark.severity is not MarkSeverity.WARNING))

    def _run(self, call: EffectInput) -> Iterator[EffectMark]:
        disabled = self.disabled
        for each in self._checks.values():
            if each.name in disabled:
                continue
            try:
                found = each.check(call)
            except Exception:  # whatever an extension's code does
                self._on_error(each.name)
                continue
            if isinstance(found, str):
                found = EffectMark(check=each.name, message=found)
            if found is not None:
                yield EffectMark(
                    check=each.name,
                    message=found.message[:MAX_MARK_CHARS],
                    severity=found.severity,
                )
