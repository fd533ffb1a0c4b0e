"""agentstepper_nb: the debugger for LLM agents that lives in the notebook.

Importing the package imports nothing else: each public name is imported on its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell

    from .breakpoints import (
        Breakpoint,
        EditRule,
        add_breakpoint,
        add_edit_rule,
        delete_price,
        dry_run,
        list_breakpoints,
        list_edit_rules,
        list_prices,
        set_price,
    )
    from .chat.chat import Chat
    from .errors import (
        AgentStepperError,
        AgentStopped,
        CommandError,
        ConnectionLostError,
        DiscoveryError,
        Divergence,
        InjectedError,
        NeedsApprovalError,
        NotJSONError,
        ProtocolError,
        RecordedError,
        StaleError,
        ToolDeniedError,
        WorkspaceError,
    )
    from .history import list_runs, load_run
    from .hub import AgentStepperCore
    from .instrument.entry_functions import entry
    from .replay import (
        WorkspaceMode,
        find_deciding_event,
        fork_run,
        put_back,
        replay_run,
    )
    from .runtime.client import Agents, AsyncAgents
    from .sdk import AgentStepper, Approval, AsyncAgentStepper
    from .widgets import DebuggerWidget
    from .widgets.chat_widget import ChatWidget
    from .widgets.fleet_widget import FleetWidget
    from .widgets.sessions_widget import SessionsWidget

    #: The folder that the current run works on, in a fork the fork's own; None where there is none.
    workspace: Path | None

__all__ = [
    "AgentStepper",
    "AgentStepperCore",
    "AgentStepperError",
    "AgentStopped",
    "Agents",
    "Approval",
    "AsyncAgentStepper",
    "AsyncAgents",
    "Breakpoint",
    "Chat",
    "ChatWidget",
    "CommandError",
    "ConnectionLostError",
    "DebuggerWidget",
    "DiscoveryError",
    "Divergence",
    "EditRule",
    "FleetWidget",
    "InjectedError",
    "NeedsApprovalError",
    "NotJSONError",
    "ProtocolError",
    "RecordedError",
    "SessionsWidget",
    "StaleError",
    "ToolDeniedError",
    "WorkspaceError",
    "WorkspaceMode",
    "__version__",
    "add_breakpoint",
    "add_edit_rule",
    "delete_price",
    "dry_run",
    "entry",
    "find_deciding_event",
    "fork_run",
    "list_breakpoints",
    "list_edit_rules",
    "list_prices",
    "list_runs",
    "load_run",
    "put_back",
    "replay_run",
    "set_price",
]

#: The module of each public name; all others of `__all__` are errors.
_HOMES = {
    "AgentStepper": ".sdk",
    "AgentStepperCore": ".hub",
    "Agents": ".runtime.client",
    "Approval": ".sdk",
    "AsyncAgentStepper": ".sdk",
    "AsyncAgents": ".runtime.client",
    "Chat": ".chat.chat",
    "ChatWidget": ".widgets.chat_widget",
    "DebuggerWidget": ".widgets",
    "FleetWidget": ".widgets.fleet_widget",
    "SessionsWidget": ".widgets.sessions_widget",
    "Breakpoint": ".breakpoints",
    "add_breakpoint": ".breakpoints",
    "delete_price": ".breakpoints",
    "list_prices": ".breakpoints",
    "entry": ".instrument.entry_functions",
    "load_run": ".history",
    "list_runs": ".history",
    "find_deciding_event": ".replay",
    "fork_run": ".replay",
    "put_back": ".replay",
    "replay_run": ".replay",
    "WorkspaceMode": ".replay",
    "set_price": ".breakpoints",
    "list_breakpoints": ".breakpoints",
    "EditRule": ".breakpoints",
    "add_edit_rule": ".breakpoints",
    "list_edit_rules": ".breakpoints",
    "dry_run": ".breakpoints",
}


def __getattr__(name: str) -> Any:
    if name == "workspace":  # another one in each run
        stepper = import_module(".sdk", __name__).find_current_stepper()
        return None if stepper is None else stepper.workspace
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, ".errors"), __name__), name)
    globals()[name] = value  # the next time it is found at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Register the magics, for `%load_ext agentstepper_nb`."""
    from .magics import load_ipython_extension as load

    load(ipython)
