"""What commands of a view of version 2 do to the debugger: the outputs to perform."""

from __future__ import annotations

from msgspec import Struct

from ..core import Output
from ..protocol import ui as v2
from ..protocol.edit_rules import DeleteEditRule, SetEditRule
from .run_service import RunService
from .views import RequestedEdit

#: Commands on what is pending, which stay in their order.
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


def find_edit(hub: RunService, command: Decision) -> RequestedEdit | None:
    """The edit that a command brings, which its agent is asked about first.

    Raises:
        CommandError: `stale`, `cannot_guide`: the guide fits into no prompt.
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
    """Carry out a command on what is pending."""
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
    """Change what people set for all runs; nothing where the command does not."""
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
