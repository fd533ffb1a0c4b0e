"""Commands of a view of version 2: reads, and changes of the debugger."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import UNSET, Struct

from ..core import EventTypeRegistry, Output, make_debug_row, make_row
from ..errors import CommandError
from ..protocol import ui as v2
from ..protocol.data_model import EventKind, HaltPoint, TimelineRow
from ..protocol.edit_rules import DeleteEditRule, SetEditRule
from ..protocol.fork_trees import ListForks
from ..protocol.overview import GetOverview
from ..protocol.records import RunHistory
from ..protocol.run_queries import SearchResults
from ..store.base import strip_contents
from . import pagination
from .fork_trees import list_forks
from .overviews import read_overview
from .run_profile import read_model_info, read_profile
from .run_service import RunService
from .views import RequestedEdit

#: Commands on pending halt points, which are executed in order.
Decision = (
    v2.StepRun
    | v2.ContinueRun
    | v2.ApproveCall
    | v2.DenyCall
    | v2.SkipCall
    | v2.RaiseError
    | v2.GuidePrompt
    | v2.SetEdit
)
#: The commands that change nothing.
ViewQuery = (
    v2.ReadRun
    | v2.ListRuns
    | v2.GetRows
    | v2.GetCommits
    | v2.GetMessage
    | v2.GetChange
    | v2.ExportRun
    | v2.SearchRuns
    | v2.GetStore
    | v2.GetProfile
    | v2.GetModelInfo
    | GetOverview
    | ListForks
)


# ---- to the debugger ----------------------------------------------------------------------------------


def find_edit(hub: RunService, command: Decision) -> RequestedEdit | None:
    """Find a command's edit, which the agent must validate first.

    Raises:
        CommandError: `stale`, `cannot_guide`: the guide doesn't fit into the prompt.
    """
    if isinstance(command, v2.DenyCall | v2.SkipCall | v2.RaiseError):
        return None
    edit = command.edit
    if isinstance(command, v2.GuidePrompt):
        edit = hub.commands.answers.make_guided_edit(
            command.run, command.halt_point, command.revision, command.text, edit
        )
    if edit is None or command.halt_point is None:
        return None
    return RequestedEdit(command.run, command.halt_point, edit, command.revision)


def decide(hub: RunService, command: Decision) -> list[Output]:
    """Execute a command on a pending halt point."""
    match command:
        case v2.SkipCall() | v2.RaiseError() | v2.GuidePrompt():
            return _answer(hub, command)
    commands, at = hub.commands, hub.clock()
    match command:
        case v2.StepRun(run=run, halt_point=named, revision=seen, edit=edit):
            return commands.step(run, at, named, seen, edit, command.target or None)
        case v2.ContinueRun(run=run, halt_point=named, revision=seen, edit=edit):
            return commands.resume(run, at, named, seen, edit)
        case v2.ApproveCall(run=run, halt_point=named, revision=seen, edit=edit):
            said = {"always": command.always, "confirmed": command.confirmed}
            return commands.approve(run, at, named, seen, edit, **said)
        case v2.DenyCall(run=run, halt_point=named, revision=seen, reason=reason):
            return commands.deny(run, at, named, seen, reason)
        case v2.SetEdit(run=run, halt_point=named, revision=seen, edit=edit):
            return commands.edit(run, named, edit, seen, sticky=command.sticky is True)


def _answer(hub: RunService, command: v2.SkipCall | v2.RaiseError | v2.GuidePrompt) -> list[Output]:
    answers, at = hub.commands.answers, hub.clock()
    match command:
        case v2.SkipCall(run=run, halt_point=named, revision=seen, result=result):
            return answers.skip(run, at, named, seen, result)
        case v2.RaiseError(run=run, halt_point=named, revision=seen, message=message):
            return answers.raise_error(run, at, named, seen, message, command.type)
        case v2.GuidePrompt(run=run, halt_point=named, revision=seen, text=text, edit=edit):
            return answers.guide(run, named, seen, text, edit)


def change(hub: RunService, command: Struct) -> list[Output]:
    """Change a run or a rule; nothing where the command does neither."""
    commands = hub.commands
    match command:
        case v2.HaltRun(run=run):
            return commands.halt(run)
        case v2.StopRun(run=run):
            return commands.stop(run, hub.clock())
        case v2.RenameRun(run=run, name=name):
            return commands.rename(run, name)
        case v2.TagRun(run=run, tags=tags):
            return commands.tag(run, tags)
    return change_rule(hub, command)


def change_rule(hub: RunService, command: Struct) -> list[Output]:
    """Execute a command that changes a rule for all runs; returns no outputs for other commands."""
    rules = hub.commands.rules
    match command:
        case v2.SetBreakpoint(breakpoint=breakpoint):
            return rules.set_breakpoint(breakpoint)
        case v2.DeleteBreakpoint(breakpoint=breakpoint_id):
            return rules.delete_breakpoint(breakpoint_id)
        case SetEditRule(rule=rule):
            return rules.set_edit_rule(rule)
        case DeleteEditRule(rule=rule_id):
            return rules.delete_edit_rule(rule_id)
        case v2.SetPrices(prices=prices):
            return rules.set_prices(prices)
    return []


# ---- reading ------------------------------------------------------------------------------------------


async def read_whole_run(hub: RunService, command: v2.ReadRun) -> v2.RunOpened:
    """Read a run, without contents.

    Raises:
        CommandError: `unknown_run`.
        DamagedRunError: The stored run is damaged.
    """
    history = await hub.history(command.run)
    # On a thread: to sum up long contents takes a while, in which others would wait.
    return await asyncio.to_thread(make_opened_run, history, hub.event_registry)


async def _runs(hub: RunService, command: v2.ListRuns) -> v2.RunsListed:
    return pagination.list_runs_before(await hub.wait_listed(), command.before, command.limit)


async def _search(hub: RunService, command: v2.SearchRuns) -> SearchResults:
    return await hub.search(command.query, command.run, command.limit)


async def _store(hub: RunService, command: v2.GetStore) -> v2.StoreChanged:
    return v2.StoreChanged(store=await hub.store.info())


async def _message(hub: RunService, command: v2.GetMessage) -> v2.MessageBody:
    found = await hub.find_row(command.run, command.message)
    if isinstance(found, HaltPoint):
        return v2.MessageBody(
            run=command.run,
            message=command.message,
            revision=found.revision,
            data=found.data,
            edit=found.edit,
            sticky=found.sticky,
            is_strict_json=found.is_strict_json,
            approval=found.approval,
            reason=found.reason,
            always=found.always,
            traceback=found.traceback,
            supplied=found.supplied,
            raised=found.raised,
            guides=found.guides,
            edit_rules=found.edit_rules or UNSET,
            schema=found.schema,
        )
    return v2.MessageBody(
        run=command.run,
        message=command.message,
        revision=1,
        data=found.data or "null",
        edit=None,
        is_strict_json=True,
    )


async def _change(hub: RunService, command: v2.GetChange) -> v2.ChangeBody:
    hub.run(command.run)
    try:
        commit = await hub.store.commit(command.run, command.commit)
    except Exception:
        hub.run(command.run)  # deleted meanwhile
        raise
    for change in commit.changes if commit else ():
        if change.path == command.path:
            return v2.ChangeBody(
                run=command.run, commit=command.commit, path=change.path, body=change.body
            )
    raise CommandError(
        "unknown_content", "This run has no such commit or file. Open the run again.", command.run
    )


async def _export(hub: RunService, command: v2.ExportRun) -> v2.RunExported:
    name, data = await hub.export(command.run, command.format)
    if command.format == "archive":
        data = base64.b64encode(data)
    return v2.RunExported(name=name, data=data.decode("ascii"), format=command.format)


#: The handler of each type of `ViewQuery`. Handlers raise CommandError `unknown_run` or
#: `unknown_content`, ProtocolError `invalid_search` or `invalid_message` (too many rows), and
#: DamagedRunError if the stored run is damaged.
QUERY_HANDLERS: Final[
    dict[type[ViewQuery], Callable[[RunService, Any], Awaitable[v2.CoreToUi]]]
] = {
    v2.ReadRun: read_whole_run,
    v2.ListRuns: _runs,
    v2.GetRows: pagination.read_page,
    v2.GetCommits: pagination.read_commits,
    v2.GetMessage: _message,
    v2.GetChange: _change,
    v2.ExportRun: _export,
    v2.SearchRuns: _search,
    v2.GetStore: _store,
    v2.GetProfile: read_profile,
    v2.GetModelInfo: read_model_info,
    GetOverview: read_overview,
    ListForks: list_forks,
}


def make_opened_run(history: RunHistory, event_registry: EventTypeRegistry) -> v2.RunOpened:
    """Make the message with a whole run, without contents.

    Args:
        history: The run.
        event_registry: The event types and summaries that extensions add.
    """
    return v2.RunOpened(
        run=history.run,
        rows=make_rows(history, event_registry),
        commits=tuple(strip_contents(commit) for commit in history.commits),
        notes=history.notes,
    )


def make_rows(history: RunHistory, event_registry: EventTypeRegistry) -> tuple[TimelineRow, ...]:
    """A run's rows, in order."""
    made = [make_row(halt_point, event_registry) for halt_point in history.halt_points]
    made += [
        make_debug_row(event) for event in history.events if event.kind is EventKind.DEBUG_MESSAGE
    ]
    return tuple(sorted(made, key=lambda each: each.seq))
