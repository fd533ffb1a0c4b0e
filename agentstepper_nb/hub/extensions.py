"""Extensions of a Core: commands for UIs, event types, summaries, effect checks."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from msgspec import Struct

from ..core import EventTypeInfo, EventTypeRegistry, Summarizer
from ..core.effects import EffectCheck, EffectChecks, load_effect_checks
from ..core.effects.checks import CheckFunction
from ..entry_point_loader import EntryPointLoader
from ..errors import CommandError, ProtocolError
from ..protocol import ui
from ..protocol.data_model import Actor, AgentActivity, EventKind, HaltPoint
from ..protocol.envelope import MessageTable
from ..protocol.field_types import EVENT_NAME, EVENT_NAME_RULE

#: The entry points of installed extensions; each names an `Extension`.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.extensions"

CommandBody = TypeVar("CommandBody", bound=Struct)
#: Executes a command on the Core's loop, which it must not block, and may return an answer. Its first
#: argument is the `Hub`, which is in a higher layer and so isn't named here.
CommandHandler = Callable[[Any, CommandBody], Awaitable[Struct | None]]


@dataclass(frozen=True)
class ExtensionCommand:
    """A command that UIs of version 2 may send.

    Args:
        body: The class of the command's body.
        handler: Executes the command.
        requires_control: Whether the command changes something; then a view that may only watch is
            refused.
    """

    body: type[Struct]
    handler: CommandHandler[Any]
    requires_control: bool


class Extension:
    """A package's additions to a Core: commands, event types, summaries and effect checks.

    ::

        extension = Extension("rag")
        extension.event_type("retrieval", actor=Actor.SYSTEM)

    Name the extension as an entry point of the group `agentstepper_nb.extensions`, and each Core
    loads it at its start; or pass it to `AgentStepperCore(extensions=[…])`.

    Args:
        name: The extension's name in the log.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands: dict[str, ExtensionCommand] = {}
        self.event_types: dict[str, EventTypeInfo] = {}
        self.summarizers: list[Summarizer] = []
        self.effect_checks: list[EffectCheck] = []

    def command(
        self, name: str, body: type[CommandBody], *, control: bool = True
    ) -> Callable[[CommandHandler[CommandBody]], CommandHandler[CommandBody]]:
        """Decorate the function that executes a command of UIs.

        The function is called as `await handler(hub, body)`. A Struct that it returns is sent as a
        message that has the command's name. None is answered by `ok`, a CommandError or
        ProtocolError by `error`.

        Args:
            name: The command's name on the wire.
            body: The class that the command's body is decoded to.
            control: Whether the command changes something; then a view that may only watch is
                refused.

        Raises:
            ValueError: The extension has a command of this name already.
        """

        def add(handler: CommandHandler[CommandBody]) -> CommandHandler[CommandBody]:
            _add(self.commands, name, ExtensionCommand(body, handler, control), "command")
            return handler

        return add

    def event_type(
        self,
        name: str,
        *,
        actor: Actor = Actor.TOOLS,
        state: AgentActivity = AgentActivity.TOOL_EXECUTING,
    ) -> None:
        """Define how the custom events of a type are shown.

        Agents may use types that no extension defines.

        Args:
            name: The type's name, as in `dbg.event(name, …)`.
            actor: The actor that the agent addresses at the event's begin and that answers at its
                end.
            state: The agent's state during the event.

        Raises:
            ValueError: The name isn't a lower-case word, or the extension has a type of this name
                already.
        """
        if not EVENT_NAME.fullmatch(name):
            raise ValueError(f"{name!r} isn't a valid event type: {EVENT_NAME_RULE}")
        _add(self.event_types, name, EventTypeInfo(actor, state), "event type")

    def summarizer(
        self, kind: EventKind | None = None, name: str | None = None
    ) -> Callable[[Summarizer], Summarizer]:
        """Decorate a function that returns a halt point's summary, or None to pass.

        It is called if the agent gave no summary, before a summary is made by rule, each time that
        a row is sent. So it must be fast, and return the same summary for the same halt point. If
        it returns None or raises an exception, the next such function is called; the log has the
        first traceback.

        Args:
            kind: Call it only for events of this kind.
            name: Call it only for events of this name: a tool, a model, a custom event's type.
        """

        def add(summarize: Summarizer) -> Summarizer:
            def matching_summarizer(halt_point: HaltPoint) -> str | None:
                if kind in (None, halt_point.kind) and name in (None, halt_point.name):
                    return summarize(halt_point)
                return None

            self.summarizers.append(matching_summarizer)
            return summarize

        return add

    def effect_check(self, name: str, title: str) -> Callable[[CheckFunction], CheckFunction]:
        """Decorate a check of a tool's claim against its effect; an `EffectInput` is its input.

        The check is called at the end of each tool call. It returns the mismatch as a text or an
        `EffectMark`, or None. If it raises an exception, the call gets no mark of it, and the log
        has the first traceback. A check with the name of a built-in one replaces that one. To make
        agents' breakpoints know the check as well, name an `EffectCheck` as an entry point of the
        group `agentstepper_nb.effect_checks`.

        Args:
            name: The check's name, by which it is switched off: a lower-case word, digits and
                underscores.
            title: What the check compares, in words.

        Raises:
            ValueError: The name isn't such a word.
        """
        if not EVENT_NAME.fullmatch(name):
            raise ValueError(f"{name!r} isn't a valid name of a check: {EVENT_NAME_RULE}")

        def add(check: CheckFunction) -> CheckFunction:
            self.effect_checks.append(EffectCheck(name, title, check))
            return check

        return add


#: Names effect checks that are off, with commas between them.
DISABLED_CHECKS_VARIABLE: Final = "AGENTSTEPPER_EFFECT_CHECKS_OFF"


def read_disabled_checks() -> frozenset[str]:
    """The effect checks that the environment switches off, by name."""
    named = os.environ.get(DISABLED_CHECKS_VARIABLE, "").split(",")
    return frozenset(name.strip() for name in named if name.strip())


def load_extensions(log: logging.Logger) -> list[Extension]:
    """The extensions that installed packages name. One that can't be loaded is logged and left out."""
    found: list[Extension] = []
    named = EntryPointLoader[Extension](ENTRY_POINT_GROUP, "extension", _check)
    named.load_each(lambda _, extension: found.append(extension), log)
    return found


def _check(made: object) -> None:
    if not isinstance(made, Extension):
        raise TypeError(
            f"the entry point names a {type(made).__name__}, not an "
            "agentstepper_nb.extend.Extension."
        )


class Extensions:
    """The extensions of one Core, combined.

    Args:
        extensions: The extensions, in the order of their calls. None: the installed ones; if the names
            of one conflict with another's, the later one is logged and left out.
        log: Receives the failures.
        disabled_checks: The names of effect checks that are off.

    Raises:
        ValueError: Two of the given extensions use the same name, or one uses a name of the Core.
    """

    def __init__(
        self,
        extensions: Iterable[Extension] | None,
        log: logging.Logger,
        disabled_checks: frozenset[str] = frozenset(),
    ) -> None:
        self._effect_checks: list[EffectCheck] = []
        self._failed_checks: set[str] = set()  # and the log was told
        self.commands: dict[str, ExtensionCommand] = {}
        self._types: dict[str, EventTypeInfo] = {}
        self._summarizers: list[tuple[str, Summarizer]] = []
        self._failed_summarizers: set[Summarizer] = set()  # and the log was told
        self._log = log
        if extensions is not None:
            for extension in extensions:
                self._add_extension(extension)
        else:
            for extension in load_extensions(log):
                try:
                    self._add_extension(extension)
                except ValueError as error:
                    log.error("The extension %s is left out: %s", extension.name, error)
        bodies = {name: command.body for name, command in self.commands.items()}
        #: The messages that UIs of version 2 may send.
        self.from_ui: MessageTable = ui.from_ui.extended(bodies)
        checks = EffectChecks(
            (*(load_effect_checks() if extensions is None else ()), *self._effect_checks),
            lambda: disabled_checks,
            self._log_failed_check,
        )
        self.event_registry = EventTypeRegistry(self._types, self._summarize, checks)

    @contextmanager
    def explain_failure(self, name: str) -> Iterator[None]:
        """A context in which a command is executed: unexpected exceptions are logged.

        Args:
            name: The command's name.

        Raises:
            CommandError: `extension_failed`, in place of an unexpected exception.
        """
        try:
            yield
        except (CommandError, ProtocolError):
            raise
        except Exception:
            self._log.exception("The command %s of an extension failed.", name)
            raise CommandError(
                "extension_failed",
                f"The command {name} of an extension failed. The Core's log has the traceback.",
            ) from None

    def _add_extension(self, extension: Extension) -> None:
        # A command's answer goes by its name, so that what the Core tells is taken as well.
        known = {*self.commands, *ui.from_ui.types, *ui.to_ui.types}
        clashes = known & extension.commands.keys()
        clashes |= self._types.keys() & extension.event_types.keys()
        if clashes:
            names = ", ".join(sorted(clashes))
            raise ValueError(
                f"The extension {extension.name} uses names that exist already: {names}. "
                "Rename them in the extension."
            )
        self.commands |= extension.commands
        self._types |= extension.event_types
        self._effect_checks += extension.effect_checks
        self._summarizers += [(extension.name, each) for each in extension.summarizers]

    def _log_failed_check(self, name: str) -> None:
        if name not in self._failed_checks:
            self._failed_checks.add(name)
            self._log.exception("The effect check %s failed.", name)

    def _summarize(self, halt_point: HaltPoint) -> str | None:
        for name, summarizer in self._summarizers:
            try:
                summary = summarizer(halt_point)
                if summary is not None and not isinstance(summary, str):
                    raise TypeError(
                        f"A summarizer returned {type(summary).__name__}. It must return "
                        "a text or None."
                    )
            except Exception:
                # It may fail at each of a thousand rows.
                if summarizer not in self._failed_summarizers:
                    self._failed_summarizers.add(summarizer)
                    self._log.exception("A summarizer of the extension %s failed.", name)
                continue
            if summary:
                return summary
        return None


def _add(table: dict[str, Any], name: str, value: Any, what: str) -> None:
    if name in table:
        raise ValueError(f"This extension has the {what} {name} already. Choose another name.")
    table[name] = value
