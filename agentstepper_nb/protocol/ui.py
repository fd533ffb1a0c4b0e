"""Version 2 between a view and the Core.

Contents travel as JSON *text* inside JSON: a browser would lose large integers and `1.0` by parsing
them, so that it parses a copy to show and sends back text only where the person edited.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from .breakpoint_rules import BreakpointChanged as BreakpointChanged
from .breakpoint_rules import BreakpointGone as BreakpointGone
from .breakpoint_rules import BreakpointRule, Price
from .breakpoint_rules import DeleteBreakpoint as DeleteBreakpoint
from .breakpoint_rules import DryRunAnswer as DryRunAnswer
from .breakpoint_rules import DryRunBreakpoint as DryRunBreakpoint
from .breakpoint_rules import PricesChanged as PricesChanged
from .breakpoint_rules import SetBreakpoint as SetBreakpoint
from .breakpoint_rules import SetPrices as SetPrices
from .call_answers import GuidePrompt as GuidePrompt
from .call_answers import RaiseError as RaiseError
from .call_answers import SkipCall as SkipCall
from .data_model import ApprovalPrompt, Commit, Failure, FileBody, RowNote, Run, TimelineRow
from .delta_encoding import EncodedContent
from .edit_rules import EDIT_RULE_COMMANDS, EditRuleDefinition
from .edit_rules import EditRuleChanged as EditRuleChanged
from .edit_rules import EditRuleDryRun as EditRuleDryRun
from .edit_rules import EditRuleExported as EditRuleExported
from .edit_rules import EditRuleGone as EditRuleGone
from .envelope import MessageTable
from .field_types import Count, Reason
from .fork_trees import FORK_ANSWERS, FORK_COMMANDS, ForkAnswer
from .inspection import ANSWERS as INSPECTION_ANSWERS
from .inspection import COMMANDS as INSPECTION_COMMANDS
from .inspection import InspectionResult
from .overview import GetOverview, RunOverview
from .query_samples import SAMPLING_ANSWERS, SAMPLING_COMMANDS, SamplingAnswer
from .run_changes import DeleteRun as DeleteRun
from .run_changes import ExportRun as ExportRun
from .run_changes import ImportRun as ImportRun
from .run_changes import RenameRun as RenameRun
from .run_changes import RunExported as RunExported
from .run_changes import RunImported as RunImported
from .run_changes import TagRun as TagRun
from .run_changes import WriteNote as WriteNote
from .run_profile import GetModelInfo as GetModelInfo
from .run_profile import GetProfile as GetProfile
from .run_profile import ModelInfoList as ModelInfoList
from .run_profile import RunProfile as RunProfile
from .run_programs import RUN_PROGRAM_ANSWERS, RUN_PROGRAM_COMMANDS, RunProgramAnswer
from .run_queries import CloseRun as CloseRun
from .run_queries import CommitsPage as CommitsPage
from .run_queries import FindRows as FindRows
from .run_queries import GetCommits as GetCommits
from .run_queries import GetRows as GetRows
from .run_queries import ListRuns as ListRuns
from .run_queries import OpenRun as OpenRun
from .run_queries import ReadRun as ReadRun
from .run_queries import RowsFound as RowsFound
from .run_queries import RowsPage as RowsPage
from .run_queries import RunOpened as RunOpened
from .run_queries import RunsListed as RunsListed
from .run_queries import SearchResults as SearchResults
from .run_queries import SearchRuns as SearchRuns
from .start_methods import RunStartedAgain as RunStartedAgain
from .start_methods import StartAgain as StartAgain
from .step_targets import StepTarget
from .store_info import StoreInfo

# ---- view to Core: commands, each answered by `ok` or `error` with the command's id -----------------


class UiHello(Struct, frozen=True, kw_only=True):
    """Opens a connection; answered by the Core's hello."""

    version: int
    client: str  # the view's name and version


class GetMessage(Struct, frozen=True, kw_only=True):
    """Answered by `MessageBody`."""

    run: str
    message: str  # a row's id


class GetChange(Struct, frozen=True, kw_only=True):
    """Answered by `ChangeBody`."""

    run: str
    commit: str
    path: str


class StepRun(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answer the named halt point, or the oldest pending one; in CONTINUE: halt at the next.

    With `halt_point` and `revision`, the command is refused as stale where they aren't current. A
    halt point that asks for an approval is never answered by it: named, or where nothing else is
    pending, the command is refused by `needs_approval`.
    """

    run: str
    halt_point: str | None = None
    revision: int | None = None
    edit: str | None = None  # JSON text to set as the edit first; needs halt point and revision
    target: StepTarget | UnsetType = UNSET  # where it halts; UNSET: at the next of any scope


class ContinueRun(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Answer all pending halt points in order and go on without halting. Fields as in `StepRun`.

    Those that ask for an approval still wait: nobody approves what they haven't seen.
    """

    run: str
    halt_point: str | None = None
    revision: int | None = None
    edit: str | None = None


class ApproveCall(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Approve what a pending halt point asks; the run's mode stays.

    Where that is of high risk, the command is refused by `needs_confirmation` unless `confirmed`.
    """

    run: str
    halt_point: str
    revision: int
    edit: str | None = None  # JSON text to set as the edit first
    always: bool = False  # also from now on: the agent writes the rule
    confirmed: bool = False  # the person said so twice, by two different gestures


class DenyCall(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Don't let the call happen that a pending halt point begins; the run's mode stays."""

    run: str
    halt_point: str
    revision: int
    reason: Reason  # that the agent is told


class HaltRun(Struct, frozen=True, kw_only=True):
    """Halt at the next halt point."""

    run: str


class StopRun(Struct, frozen=True, kw_only=True):
    """Answer `stop` at the pending, or else at the next waiting halt point."""

    run: str


class SetEdit(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Set a pending halt point's edit, or take it back (`edit` null), without answering."""

    run: str
    halt_point: str
    revision: int
    edit: str | None
    sticky: bool | UnsetType = UNSET  # of a prompt: its messages are edited so in later ones, too


class GetStore(Struct, frozen=True, kw_only=True):
    """Answered by `StoreChanged`."""


#: Commands whose names are words of Python.
_KEYWORD_COMMANDS: Final[dict[str, type[Struct]]] = {"continue": ContinueRun, "raise": RaiseError}

from_ui = MessageTable(
    "unknown_command",
    hello=UiHello,
    open_run=OpenRun,
    close_run=CloseRun,
    read_run=ReadRun,
    list_runs=ListRuns,
    get_rows=GetRows,
    find_rows=FindRows,
    get_commits=GetCommits,
    get_message=GetMessage,
    get_change=GetChange,
    step=StepRun,
    **_KEYWORD_COMMANDS,
    approve=ApproveCall,
    deny=DenyCall,
    skip=SkipCall,
    guide=GuidePrompt,
    halt=HaltRun,
    stop=StopRun,
    edit=SetEdit,
    set_stop=SetBreakpoint,
    delete_stop=DeleteBreakpoint,
    try_stop=DryRunBreakpoint,
    set_prices=SetPrices,
    **EDIT_RULE_COMMANDS,
    rename_run=RenameRun,
    tag_run=TagRun,
    note=WriteNote,
    delete_run=DeleteRun,
    export_run=ExportRun,
    import_run=ImportRun,
    search=SearchRuns,
    get_store=GetStore,
    get_profile=GetProfile,
    get_model_info=GetModelInfo,
    get_overview=GetOverview,
    start_again=StartAgain,
    **FORK_COMMANDS,
    **INSPECTION_COMMANDS,
    **SAMPLING_COMMANDS,
    **RUN_PROGRAM_COMMANDS,
)

# ---- Core to view -----------------------------------------------------------------------------------


class CoreHello(Struct, frozen=True, kw_only=True, rename={"breakpoints": "stops"}):
    """Answers hello with a snapshot."""

    version: int
    core: str  # the Core's name and version
    control: bool  # whether this login may step and edit
    runs: tuple[Run, ...]  # oldest first: the last ones, and all that live
    more: Count  # older ones that aren't among them
    store: StoreInfo  # without its size
    breakpoints: tuple[BreakpointRule, ...]  # in the order in which they were made
    prices: tuple[Price, ...]
    edit_rules: tuple[EditRuleDefinition, ...] | UnsetType = UNSET  # in that order, if any


class RunChanged(Struct, frozen=True, kw_only=True):
    """A run is new or its header changed: it replaces the one before."""

    run: Run


class RunRemoved(Struct, frozen=True, kw_only=True):
    """A run was deleted."""

    run: str


class RowChanged(Struct, frozen=True, kw_only=True):
    """A row of an opened run is new or changed: it replaces the one of the same id."""

    run: str
    row: TimelineRow


class CommitAdded(Struct, frozen=True, kw_only=True):
    """A commit of an opened run; its changes without contents."""

    run: str
    commit: Commit


class NoteChanged(Struct, frozen=True, kw_only=True):
    """A note of an opened run is new, changed, or gone."""

    note: RowNote


class CommitChanged(Struct, frozen=True, kw_only=True):
    """A commit of an opened run was put into a sentence: it replaces the one of the same id."""

    run: str
    commit: Commit


class StoreChanged(Struct, frozen=True, kw_only=True):
    """The store's state; pushed when the store can't write, and when it can write again."""

    store: StoreInfo


class CommandDone(Struct, frozen=True, kw_only=True):
    """The command was carried out."""


class MessageBody(Struct, frozen=True, kw_only=True, rename={"is_strict_json": "strict"}):
    """Answers `GetMessage`."""

    run: str
    message: str
    revision: int
    data: str  # JSON text as the agent sent it; "" where it travels in pieces
    pieces: EncodedContent | None = None  # of this text
    edit: str | None  # JSON text; null where there is no edit
    sticky: bool | UnsetType = UNSET  # as `HaltPoint.sticky`
    is_strict_json: bool  # false: the text is not strict JSON (NaN, from version 1)
    approval: ApprovalPrompt | None = None  # what it asks, or asked, a person
    reason: str | None = None  # why it was denied
    always: bool = False  # it was approved, and from now on without being asked
    traceback: str = ""  # of the exception that ended the event
    supplied: str | UnsetType = UNSET  # as these of `HaltPoint`
    raised: Failure | UnsetType = UNSET
    guides: tuple[str, ...] | UnsetType = UNSET
    edit_rules: tuple[str, ...] | UnsetType = UNSET
    schema: str | UnsetType = UNSET


class ChangeBody(Struct, frozen=True, kw_only=True):
    """Answers `GetChange`."""

    run: str
    commit: str
    path: str
    body: FileBody | None  # null: binary or too large


class UiError(Struct, frozen=True, kw_only=True):
    """A command was refused; the frame's id says which."""

    code: str
    message: str
    run: str | None = None


CoreToUi = (
    CoreHello
    | BreakpointChanged
    | BreakpointGone
    | PricesChanged
    | DryRunAnswer
    | EditRuleChanged
    | EditRuleGone
    | EditRuleDryRun
    | EditRuleExported
    | RunsListed
    | RowsPage
    | RowsFound
    | CommitsPage
    | RunChanged
    | RunRemoved
    | RowChanged
    | CommitAdded
    | NoteChanged
    | CommitChanged
    | StoreChanged
    | CommandDone
    | RunOpened
    | MessageBody
    | ChangeBody
    | RunExported
    | RunImported
    | SearchResults
    | RunProfile
    | ModelInfoList
    | RunOverview
    | RunStartedAgain
    | ForkAnswer
    | InspectionResult
    | SamplingAnswer
    | RunProgramAnswer
    | UiError
)
to_ui = MessageTable(
    hello=CoreHello,
    stop=BreakpointChanged,
    stop_gone=BreakpointGone,
    prices=PricesChanged,
    stop_tried=DryRunAnswer,
    edit_rule=EditRuleChanged,
    edit_rule_gone=EditRuleGone,
    edit_rule_tried=EditRuleDryRun,
    edit_rule_exported=EditRuleExported,
    runs=RunsListed,
    rows=RowsPage,
    rows_found=RowsFound,
    commits=CommitsPage,
    run=RunChanged,
    run_gone=RunRemoved,
    row=RowChanged,
    commit=CommitAdded,
    note=NoteChanged,
    commit_changed=CommitChanged,
    store=StoreChanged,
    ok=CommandDone,
    run_opened=RunOpened,
    message=MessageBody,
    change=ChangeBody,
    run_exported=RunExported,
    run_imported=RunImported,
    found=SearchResults,
    profile=RunProfile,
    model_info=ModelInfoList,
    overview=RunOverview,
    started_again=RunStartedAgain,
    **FORK_ANSWERS,
    error=UiError,
    **INSPECTION_ANSWERS,
    **SAMPLING_ANSWERS,
    **RUN_PROGRAM_ANSWERS,
)
