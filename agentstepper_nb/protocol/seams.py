"""Seams where an agent's calls halt without a change to the agent, and the tools that were found."""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType


class SeamKind(StrEnum):
    """The kind of calls that pass a seam."""

    QUERIES = "queries"
    TOOLS = "tools"


class FoundBy(StrEnum):
    """The method that found a tool."""

    HAND = "hand"  # the agent's author traces it
    ADAPTER = "adapter"  # of its framework
    DISCOVERY = "discovery"  # a plain function of a name that a request offers
    WIRE = "wire"  # inferred from what the model asks and is answered


class Seam(Struct, frozen=True, kw_only=True):
    """A library whose calls can halt."""

    library: str  # its name, as it is installed
    kind: SeamKind
    version: str = ""  # the library's; "" where it isn't known
    is_active: bool = False  # whether its calls halt wherever a run is open
    reason: str = ""  # why they don't, for a person; of an active seam, what else there is to say
    has_failed: bool = False  # whether this version of the library can't be wrapped


class FoundTool(Struct, frozen=True, kw_only=True):
    """A tool of a run; one that several methods found stands there once for each."""

    name: str
    found_by: FoundBy


class RunSeams(Struct, frozen=True, kw_only=True):
    """The seams of a run's process, and the run's tools so far."""

    seams: tuple[Seam, ...] = ()  # on the wire those that are active, and those that have failed
    tools: tuple[FoundTool, ...] = ()  # in the order in which they were found
    #: Why the discovery of plain functions that a request offers as tools is off; "" where it is on.
    discovery_off_reason: str = ""


def merge_run_seams(before: RunSeams | UnsetType, now: RunSeams) -> RunSeams:
    """Merge newly sent seams and tools into a run's known ones.

    Args:
        before: The known seams and tools; UNSET: none.
        now: The seams and tools that the agent sent. Messages of parallel calls may arrive out of order,
            so that tools of `before` may be missing here.
    """
    if before is UNSET:
        return now
    return RunSeams(
        seams=now.seams,
        tools=tuple(dict.fromkeys((*before.tools, *now.tools))),
        discovery_off_reason=now.discovery_off_reason,
    )
