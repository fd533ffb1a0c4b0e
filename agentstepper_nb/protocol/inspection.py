"""The stack and the locals of an agent that waits at a halt point: asked live, and never stored.

A view asks the Core, the Core asks the agent, and the agent's process answers. The answer goes to the
view that asked alone. docs/design/0025-stepping.md.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from .field_types import Count, Id, Reason

#: Children that one page of variables has at most.
PAGE_SIZE = 100

_Path = Annotated[tuple[Count, ...], Meta(max_length=100)]
_Text = Annotated[str, Meta(max_length=10_000)]
_PageSize = Annotated[int, Meta(ge=1, le=PAGE_SIZE)]


class SourceLocation(Struct, frozen=True, kw_only=True):
    """A line of the agent's code."""

    file: Annotated[str, Meta(max_length=4096)]  # absolute, or as Python names it: "<stdin>"
    line: Count
    function: Annotated[str, Meta(max_length=1000)] = ""
    cell: Count | UnsetType = UNSET  # of a notebook's cell: its execution count


# ---- what is asked ----------------------------------------------------------------------------------


class StackRequest(Struct, frozen=True, kw_only=True, tag="stack", tag_field="kind"):
    """Answered by `StackSnapshot`."""


class VariablesRequest(Struct, frozen=True, kw_only=True, tag="variables", tag_field="kind"):
    """Answered by `VariablesPage`: children of a frame, of one of its variables, or of a result."""

    frame: Count
    result: Count | UnsetType = UNSET  # of an `Evaluation`: then the path begins at its value
    path: _Path = ()  # the child's index at each level
    start: Count = 0
    count: _PageSize = PAGE_SIZE


class EvaluationRequest(Struct, frozen=True, kw_only=True, tag="evaluate", tag_field="kind"):
    """Answered by `Evaluation`."""

    frame: Count
    expression: _Text


class CompletionRequest(Struct, frozen=True, kw_only=True, tag="complete", tag_field="kind"):
    """Answered by `CompletionList`."""

    frame: Count
    text: _Text
    cursor: Count  # characters before it


class PdbRequest(Struct, frozen=True, kw_only=True, tag="pdb", tag_field="kind"):
    """Enter pdb in the agent's own frame once the halt point is answered; answered by `PdbReady`."""


InspectionRequest = (
    StackRequest | VariablesRequest | EvaluationRequest | CompletionRequest | PdbRequest
)

# ---- what is answered -------------------------------------------------------------------------------


class SourceLines(Struct, frozen=True, kw_only=True):
    """The lines of a file around one of them."""

    first: Count  # the number of the first of these
    lines: tuple[str, ...]


class StackFrame(Struct, frozen=True, kw_only=True):
    """One frame of a thread or task that waits."""

    location: SourceLocation
    is_own: bool  # the agent's own code: neither a library's nor this package's
    source: SourceLines | UnsetType = UNSET  # where it could be read


class StackSnapshot(Struct, frozen=True, kw_only=True, tag="stack", tag_field="kind"):
    """The Python stack of what waits at a halt point."""

    frames: tuple[StackFrame, ...]  # innermost first; a frame is named by its index
    thread: str  # the name of the thread, or of the task
    is_task: bool = False  # its frames end where the event loop's begin
    omitted: Count = 0  # outermost frames that aren't among them
    pdb_refusal: str | None = None  # why pdb can't be entered here


class Variable(Struct, frozen=True, kw_only=True):
    """A name, an item or an attribute, and its value in short."""

    name: str
    value: str  # a repr, cut
    type: str
    children: Count = 0
    masked: bool = False  # the value is a secret, or a part of it


class VariablesPage(Struct, frozen=True, kw_only=True, tag="variables", tag_field="kind"):
    """Children, from `start` on."""

    variables: tuple[Variable, ...]
    start: Count
    total: Count


class Evaluation(Struct, frozen=True, kw_only=True, tag="evaluation", tag_field="kind"):
    """The result of an evaluated expression."""

    value: Variable | None = None  # None where it raised
    result: Count | UnsetType = UNSET  # by which its children are asked for
    error: str | None = None  # what it raised
    output: str = ""  # what it printed


class CompletionList(Struct, frozen=True, kw_only=True, tag="completions", tag_field="kind"):
    """Completions for a part of an expression."""

    start: Count  # of that part, in characters
    end: Count
    matches: tuple[str, ...]


class PdbReady(Struct, frozen=True, kw_only=True, tag="pdb_ready", tag_field="kind"):
    """The agent enters pdb at its own next line, once the halt point is answered."""

    where: str  # where it asks, for a person


InspectionResult = StackSnapshot | VariablesPage | Evaluation | CompletionList | PdbReady

# ---- Core to agent, and back ------------------------------------------------------------------------


class InspectHaltPoint(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """A person looks at what waits at a halt point. Sent to agents whose hello has `inspects`."""

    request: Id
    halt_point: Id
    what: InspectionRequest


class HaltPointInspected(Struct, frozen=True, kw_only=True):
    """Answers `InspectHaltPoint`."""

    request: Id
    result: InspectionResult | None = None
    refusal: Reason | None = None  # why there is none, for a person


# ---- view to Core -----------------------------------------------------------------------------------


class GetStack(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answered by `StackSnapshot`; as all of these refused by `inspection_refused`."""

    run: str
    halt_point: str


class GetVariables(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answered by `VariablesPage`. Fields as in `VariablesRequest`."""

    run: str
    halt_point: str
    frame: Count
    result: Count | UnsetType = UNSET
    path: _Path = ()
    start: Count = 0
    count: _PageSize = PAGE_SIZE


class EvaluateExpression(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answered by `Evaluation`. It runs in the agent's process, beside the thread that waits."""

    run: str
    halt_point: str
    frame: Count
    expression: _Text


class CompleteExpression(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answered by `CompletionList`."""

    run: str
    halt_point: str
    frame: Count
    text: _Text
    cursor: Count


class EnterPdb(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answer the halt point as a step does, and let the agent enter pdb; answered by `PdbReady`."""

    run: str
    halt_point: str
    revision: int


InspectionCommand = GetStack | GetVariables | EvaluateExpression | CompleteExpression | EnterPdb
#: The names of these in the envelope, in the table of the view's messages and in the Core's.
COMMANDS: dict[str, type[Struct]] = {
    "get_stack": GetStack,
    "get_variables": GetVariables,
    "evaluate": EvaluateExpression,
    "complete": CompleteExpression,
    "enter_pdb": EnterPdb,
}
ANSWERS: dict[str, type[Struct]] = {
    "stack": StackSnapshot,
    "variables": VariablesPage,
    "evaluated": Evaluation,
    "completions": CompletionList,
    "pdb_ready": PdbReady,
}
