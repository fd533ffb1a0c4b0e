"""A run at a glance, as a fold over its rows and commits in their order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import UNSET

from ..protocol.data_model import (
    ChangeKind,
    Commit,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    HaltPoint,
    Run,
)
from ..protocol.effects import EffectCheckInfo, MarkSeverity
from ..protocol.overview import (
    FileUse,
    MarkedRow,
    RepeatedCall,
    RunErrorGroup,
    RunOverview,
    ToolUse,
)
from .effects.claims import FAILED_TESTS, ResultClaims, read_claims
from .effects.effect_input import find_read_path, find_target, list_fields
from .final_words import Ending, LastTest, judge_ending
from .key_line import summarize_result
from .message_parts import PartKind, read_answer
from .summaries import MAX_READ_CHARS, extract_first_line, flatten_json, summarize

#: The most of each that an overview has.
_MAX_TOOLS: Final = 200
_MAX_FILES: Final = 2000
_MAX_SHOWN_FILES: Final = 300
_MAX_REPEATED: Final = 100
_MAX_ERRORS: Final = 100
_MAX_MARKED: Final = 100
#: The parts in which errors with the same meaning differ.
_VARIABLE: Final = re.compile(
    r"0x[0-9a-f]+|\d+|'[^']{1,80}'|\"[^\"]{1,80}\"|“[^”]{1,80}”|/[\w./-]+"
)
_TEST: Final = re.compile(
    r"\b(?:pytest|unittest|tox|jest|vitest|mocha|(?:npm|yarn|pnpm)(?: run)? test|cargo test|go test"
    r"|make (?:\w+ )*(?:test|check))\b"
)
_TEST_TOOL: Final = re.compile(r"(?:^|_)tests?(?:_|$)|runTests?|run_test", re.IGNORECASE)
#: A tool, or a command, by which a model ends its own run.
_ENDS: Final = re.compile(
    r"submit|final|finish|complete|\bdone\b|answer|\bexit\b|\bend|terminate|handoff|transfer",
    re.IGNORECASE,
)
#: From so many answers on that ask for tools, an agent goes on until its model asks for none.
_MIN_ASKING: Final = 3


@dataclass
class _Tool:
    calls: int = 0
    failures: int = 0
    marked: int = 0
    seconds: float = 0.0
    first: int = 0
    last: int = 0


@dataclass
class _File:
    reads: int = 0
    changes: int = 0
    added: int = 0
    removed: int = 0
    kind: ChangeKind | None = None
    first: int = 0
    last: int = 0
    commit: str | None = None


@dataclass
class _Error:
    text: str
    source: str
    first: int
    count: int = 0
    last: int = 0


@dataclass
class OverviewFold:
    """The overview of a run up to one of its rows; gets rows and commits in their order."""

    rows: int = 0
    _tools: dict[str, _Tool] = field(default_factory=dict)
    _files: dict[str, _File] = field(default_factory=dict)
    _more_files: int = 0
    _repeated: dict[tuple[str, int], RepeatedCall] = field(default_factory=dict)
    _errors: dict[tuple[str, str], _Error] = field(default_factory=dict)
    _marked: list[MarkedRow] = field(default_factory=list)
    _calls: dict[str, str] = field(default_factory=dict)  # JSON texts of open calls, by event
    _queries: int = 0
    _query_seconds: float = 0.0
    _asking: int = 0  # answers that asked for tools
    _ending: Ending = field(default_factory=Ending)

    def add_commit(self, commit: Commit) -> None:
        """Files of the workspace changed. Their row is the next one, which ends what changed them."""
        row = self.rows + 1 if commit.snapshot else self.rows
        for change in commit.changes if commit.snapshot or commit.event is None else ():
            file = self._file(change.path, row)
            if file is None:
                continue
            file.changes += 1
            file.added += change.added
            file.removed += change.removed
            file.kind, file.commit = change.kind, commit.id

    def add_row(self, item: HaltPoint | Event) -> None:
        """The next row: a halt point, or a debug message."""
        self.rows = item.seq
        if isinstance(item, Event):
            self._ending = self._ending._replace(
                said=flatten_json(item.data or "null"), said_row=item.seq, asks_on=False
            )
        elif item.kind is EventKind.TOOL_INVOCATION:
            self._add_tool_row(item)
        elif item.side is EventSide.END:
            self._add_end(item)

    def make(self, run: Run, checks: tuple[EffectCheckInfo, ...] = ()) -> RunOverview:
        """The overview.

        Args:
            run: The run's header.
            checks: The effect checks that there are.
        """
        ending = self._ending
        judged = judge_ending(run, ending)
        files = sorted(self._files.items(), key=lambda each: (not each[1].changes, each[1].first))
        tools = sorted(self._tools.items(), key=lambda each: (-each[1].calls, each[1].first))
        errors = sorted(self._errors.values(), key=lambda each: (-each.count, each.first))
        repeated = sorted(self._repeated.values(), key=lambda each: -each.repetition.count)
        return RunOverview(
            run=run.id,
            rows=self.rows,
            outcome=judged.outcome,
            reason=judged.reason,
            said=extract_first_line(ending.said),
            said_row=ending.said_row,
            contradictions=judged.contradictions,
            tools=tuple(ToolUse(name=name, **vars(tool)) for name, tool in tools),
            queries=self._queries,
            query_seconds=self._query_seconds,
            files=tuple(
                FileUse(path=path, **vars(file)) for path, file in files[:_MAX_SHOWN_FILES]
            ),
            more_files=self._more_files + max(0, len(files) - _MAX_SHOWN_FILES),
            repeated=tuple(repeated[:_MAX_REPEATED]),
            errors=tuple(RunErrorGroup(**vars(error)) for error in errors),
            marked=tuple(self._marked),
            checks=checks,
            check_runs=run.checks or (),
        )

    # ---- rows ---------------------------------------------------------------------------------------

    def _add_tool_row(self, point: HaltPoint) -> None:
        if point.side is EventSide.BEGIN:
            self._calls[point.event] = point.current
            return
        name = point.name or "a tool"
        call = _decode(self._calls.pop(point.event, "null"))
        arguments = call.get("Argument") if isinstance(call, dict) else None
        if isinstance(arguments, str):
            arguments = _decode(arguments)
        claims = read_claims(_decode(point.current))
        _, _, command = find_target(name, arguments)
        has_failed = _has_failed(point, claims, command)
        self._count(name, point, has_failed)
        if point.outcome is EventOutcome.ERROR or has_failed:
            self._add_error(name, point, claims)
        self._add_reads(name, arguments, point.seq)
        self._add_effects(name, point, arguments)
        if _TEST_TOOL.search(name) or _TEST.search(command):
            failed = has_failed or FAILED_TESTS.search(claims.text[-2000:]) is not None
            line = extract_first_line(summarize_result(claims.text))
            self._ending = self._ending._replace(test=LastTest(point.seq, failed, line))

    def _count(self, name: str, point: HaltPoint, has_failed: bool) -> None:
        if name not in self._tools and len(self._tools) >= _MAX_TOOLS:
            name = "other tools"
        tool = self._tools.setdefault(name, _Tool(first=point.seq))
        tool.calls += 1
        tool.failures += has_failed
        tool.seconds += point.duration or 0.0
        tool.last = point.seq

    def _add_end(self, point: HaltPoint) -> None:
        """A query or a custom event ended."""
        if point.outcome is EventOutcome.ERROR:
            self._add_error(point.name or point.kind.value, point, ResultClaims())
        if point.kind is not EventKind.LLM_QUERY:
            return
        self._queries += 1
        self._query_seconds += point.duration or 0.0
        said, calls = _read_answer(point)
        self._asking += bool(calls)
        # A model that is asked once for a tool, or calls the one that ends it, is done.
        asks_on = self._asking >= _MIN_ASKING and bool(calls) and not _ENDS.search(calls)
        if said or calls:
            self._ending = self._ending._replace(said=said, said_row=point.seq, asks_on=asks_on)
        elif point.outcome is not EventOutcome.ERROR:  # an empty answer, or one that is not read
            self._ending = self._ending._replace(asks_on=False)

    def _add_error(self, source: str, point: HaltPoint, claims: ResultClaims) -> None:
        if point.failure is not None:
            text = f"{point.failure.type}: {point.failure.message}"
        else:
            text = claims.failed or extract_first_line(summarize_result(claims.text))
        text = extract_first_line(text) or "Failed"
        key = (source, _VARIABLE.sub("…", text))
        if key not in self._errors and len(self._errors) >= _MAX_ERRORS:
            return
        error = self._errors.setdefault(key, _Error(text, source, point.seq))
        error.count += 1
        error.last = point.seq

    def _add_reads(self, name: str, arguments: Any, row: int) -> None:
        path = find_read_path(name, arguments)
        if path is None and re.match(r"(?:read|view|cat|open)", name, re.IGNORECASE):
            path = next(
                (
                    str(item)
                    for key, item in list_fields(arguments)
                    if "path" in key or key == "file"
                ),
                None,
            )
        file = None if path is None else self._file(path, row)
        if file is not None:
            file.reads += 1

    def _add_effects(self, name: str, point: HaltPoint, arguments: Any) -> None:
        effects = point.effects
        if effects is UNSET:
            return
        if effects.marks:
            self._tools[name if name in self._tools else "other tools"].marked += 1
            if len(self._marked) < _MAX_MARKED:
                self._marked.append(MarkedRow(row=point.seq, tool=name, marks=effects.marks))
            if effects.marks[0].severity is MarkSeverity.WARNING:  # warnings come first
                self._add_warning(point.seq, f"{name}: {effects.marks[0].message}")
        if effects.repetition is not UNSET:
            repetition = effects.repetition
            key = ("cycle" if repetition.cycle is not UNSET else "call", repetition.first)
            if repetition.cycle is not UNSET:
                key = ("cycle", repetition.cycle)
            if key in self._repeated or len(self._repeated) < 10 * _MAX_REPEATED:
                self._repeated[key] = RepeatedCall(
                    tool=name,
                    summary=_describe_call(name, arguments),
                    row=point.seq,
                    repetition=repetition,
                )

    def _add_warning(self, row: int, text: str) -> None:
        ending = self._ending
        if ending.first_warning is None:
            ending = ending._replace(first_warning=row, warning_text=text)
        self._ending = ending._replace(warnings=ending.warnings + 1)

    def _file(self, path: str, row: int) -> _File | None:
        if path not in self._files and len(self._files) >= _MAX_FILES:
            self._more_files += 1
            return None
        file = self._files.setdefault(path, _File(first=row))
        file.last = row
        return file


def needs_content(point: HaltPoint) -> bool:
    """Whether an overview reads a halt point's contents: calls, results and answers, not prompts."""
    return point.kind is EventKind.TOOL_INVOCATION or (
        point.kind is EventKind.LLM_QUERY and point.side is EventSide.END
    )


def _has_failed(point: HaltPoint, claims: ResultClaims, command: str) -> bool:
    return (
        point.outcome is EventOutcome.ERROR
        or bool(claims.exit_code)
        or claims.failed_field
        or bool(claims.failed and not command)
    )


def _read_answer(point: HaltPoint) -> tuple[str, str]:
    """The text of an answer, and the calls in it."""
    if len(point.current) > MAX_READ_CHARS:
        return "", ""
    value = _decode(point.current)
    try:
        parts = read_answer(value)
    except RecursionError:
        return "", ""
    if parts is None:
        return (value if isinstance(value, str) else summarize(point)), ""
    said = "\n".join(
        part.value for part in parts if part.kind is PartKind.TEXT and isinstance(part.value, str)
    )
    calls = (f"{part.name} {part.value}" for part in parts if part.kind is PartKind.CALL)
    return said, "\n".join(calls)


def _describe_call(name: str, arguments: Any) -> str:
    shown = "" if arguments is None else msgspec.json.encode(arguments).decode()
    return extract_first_line(f"{name}({shown[1:-1] if shown.startswith('{') else shown})")


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text
