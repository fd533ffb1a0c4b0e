"""Reports the active seams, and the method that found each tool of a run, to people and the Core.

`instrument`, once imported, lists the seams; without `instrument` there are none.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from msgspec import UNSET, UnsetType

from ..protocol.header_limits import MAX_FOUND_TOOLS, MAX_SEAM_CHARS, truncate_text
from ..protocol.seams import FoundBy, FoundTool, RunSeams, Seam, SeamKind
from .payload import escape_surrogates

_OFF: Final = (
    "Instrumentation is off: calls halt only where they are traced by hand. "
    "agentstepper_nb.instrument.enable() turns it on."
)
_IS_DISCOVERING: Final = (
    "Plain functions that a request offers as tools are looked for (discovery is on)."
)
#: The methods, as a person reads them.
_METHODS: Final = {
    FoundBy.HAND: "by hand",
    FoundBy.ADAPTER: "adapter",
    FoundBy.DISCOVERY: "discovery",
    FoundBy.WIRE: "wire inference",
}


class SeamSource(Protocol):
    """The object that knows the seams of this process."""

    is_enabled: bool
    generation: int  # changes with each change of a seam

    def list_seams(self) -> list[Seam]:
        """All seams, whether active or not."""

    def get_discovery_off_reason(self) -> str:
        """The reason why tools aren't discovered; "": tools are discovered."""


#: The source of this process's seams: a single one, once `instrument` is imported.
seam_sources: list[SeamSource] = []


def register_source(source: SeamSource) -> None:
    """Set the object that knows the seams.

    Args:
        source: The object.
    """
    seam_sources[:] = [source]


class SeamReport(RunSeams, frozen=True, kw_only=True):
    """All seams of this process, active or not, and the tools that a run has so far.

    Its text is a table of both.
    """

    is_enabled: bool = True  # whether instrumentation is on

    def __repr__(self) -> str:
        """A table of the seams and one of the tools, for a notebook."""
        return "\n".join(self._list_lines())

    __str__ = __repr__

    def _list_lines(self) -> Iterable[str]:
        shown = list_known_seams(self.seams)
        if not self.is_enabled:
            yield _OFF
        elif shown:
            rows = [
                (each.library, each.version, each.kind, _describe_state(each)) for each in shown
            ]
            yield from _format_table(("Library", "Version", "Halts at", "State"), rows)
        if self.is_enabled:
            others = [each.library for each in self.seams if each not in shown]
            if others:
                yield f"Not imported: {', '.join(others)}."
            yield self.discovery_off_reason or _IS_DISCOVERING
        if self.tools:
            yield ""
            tools = [(tool.name, _METHODS[tool.found_by]) for tool in self.tools]
            yield from _format_table(("Tool", "Found by"), tools)


def _describe_state(seam: Seam) -> str:
    if not seam.is_active:
        return seam.reason
    return f"active: {seam.reason}" if seam.reason else "active"


def _format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def list_known_seams(seams: Iterable[Seam]) -> tuple[Seam, ...]:
    """The seams that are active, and those that have failed."""
    return tuple(each for each in seams if each.is_active or each.has_failed)


def describe_seams(seams: Iterable[Seam]) -> str:
    """The active seams in words: "queries of httpx 0.28.1; tools of mcp 1.2.0"; "" without one."""
    parts = []
    for kind in SeamKind:
        names = [
            f"{each.library} {each.version}".rstrip()
            for each in seams
            if each.is_active and each.kind is kind
        ]
        if names:
            parts.append(f"{kind} of {_join(names)}")
    return "; ".join(parts)


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def make_report(tools: Iterable[FoundTool] = ()) -> SeamReport:
    """Report the current seams of this process.

    Args:
        tools: The tools of the run that the report is about.
    """
    source = seam_sources[0] if seam_sources else None
    if source is None or not source.is_enabled:
        seams = () if source is None else tuple(source.list_seams())
        return SeamReport(seams=seams, tools=tuple(tools), is_enabled=False)
    return SeamReport(
        seams=tuple(source.list_seams()),
        tools=tuple(tools),
        discovery_off_reason=source.get_discovery_off_reason(),
    )


class SeamRecorder:
    """The tools of one run, and what its Core and its person already know of tools and seams."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: dict[FoundTool, None] = {}  # in order
        self._sent = (-1, 0)  # the source's generation and the number of tools
        self._announced: dict[str, None] | None = None  # seams that the announcement named
        self._said_generation = -1

    @property
    def tools(self) -> tuple[FoundTool, ...]:
        """The tools so far."""
        return tuple(self._tools)

    def add_tool(self, name: str, found_by: FoundBy) -> None:
        """Record a tool that was found or called; of very many tools the first are recorded.

        Args:
            name: The tool's name.
            found_by: The method that found the tool.
        """
        if len(self._tools) < MAX_FOUND_TOOLS:
            shown = escape_surrogates(truncate_text(name, MAX_SEAM_CHARS))
            self._tools.setdefault(FoundTool(name=shown, found_by=found_by))

    def pop_changed_seams(self) -> RunSeams | UnsetType:
        """The seams and tools for the Core, if any of them changed since the last call.

        Returns:
            UNSET where nothing has changed, and where instrumentation was never on.
        """
        source = seam_sources[0] if seam_sources else None
        if source is None or not (source.is_enabled or self._sent[0] >= 0):
            return UNSET
        now = (source.generation, len(self._tools))
        if now == self._sent:
            return UNSET
        self._sent = now
        report = make_report(self.tools)
        return RunSeams(
            seams=list_known_seams(report.seams),
            tools=report.tools,
            discovery_off_reason=report.discovery_off_reason,
        )

    def pop_announcement(self, discovered: Sequence[str] = ()) -> str:
        """The part of the announcement of seams and tools that is new for a person; "": nothing is new.

        Args:
            discovered: The names of functions that were discovered now.
        """
        source = seam_sources[0] if seam_sources else None
        if source is None or (source.generation == self._said_generation and not discovered):
            return ""
        with self._lock:
            is_first = self._announced is None
            announced = self._announced = {} if self._announced is None else self._announced
            self._said_generation = source.generation
            news = [
                each
                for each in source.list_seams()
                if each.is_active and each.library not in announced
            ]
            announced.update(dict.fromkeys(each.library for each in news))
        return _announce(describe_seams(news), ", ".join(discovered), is_first)


def _announce(seams: str, discovered: str, is_first: bool) -> str:
    tools = f"{discovered} (discovered)" if discovered else ""
    if is_first and seams:
        return f"Halting at {seams}{f'; also halting at: {tools}' if tools else ''}."
    both = "; ".join(filter(None, (seams, tools)))
    return f"Also halting at: {both}." if both else ""
