"""What other packages add to a Core: commands for UIs, event types, summaries."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from msgspec import Struct

from ..core import EventTypeInfo, EventTypeRegistry, Summarizer
from ..entry_point_loader import EntryPointLoader
from ..protocol import ui
from ..protocol.data_model import Actor, AgentActivity, EventKind, HaltPoint
from ..protocol.envelope import MessageTable
from ..protocol.field_types import EVENT_NAME, EVENT_NAME_RULE

#: The entry points of installed extensions; each names an `Extension`.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.extensions"

CommandBody = TypeVar("CommandBody", bound=Struct)
#: Carries out a command on the Core's loop, which it must not block, and may give an answer. Its first
#: argument is the `Hub`, which stands above this module and isn't named here.
CommandHandler = Callable[[Any, CommandBody], Awaitable[Struct | None]]


@dataclass(frozen=True)
class ExtensionCommand:
    """A command that UIs of version 2 may give.

    Args:
        body: The class of its body.
        handler: Carries it out.
        requires_control: Whether it changes something, so that who may only watch is refused.
    """

    body: type[Struct]
    handler: CommandHandler[Any]
    requires_control: bool


class Extension:
    """What one package adds.

    ::

        extension = Extension("rag")
        extension.event_type("retrieval", actor=Actor.SYSTEM)

    Name it as an entry point of the group `agentstepper_nb.extensions`, and each Core that starts has
    it; or hand it to `AgentStepperCore(extensions=[…])`.

    Args:
        name: How the log calls it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands: dict[str, ExtensionCommand] = {}
        self.event_types: dict[str, EventTypeInfo] = {}
        self.summarizers: list[Summarizer] = []

    def command(
        self, name: str, body: type[CommandBody], *, control: bool = True
    ) -> Callable[[CommandHandler[CommandBody]], CommandHandler[CommandBody]]:
        """Decorate what carries out a command of UIs.

        It is called as `await handler(hub, body)`. The Struct that it gives travels as a message named
        after the command; None is answered by `ok`, a CommandError or ProtocolError by `error`.

        Args:
            name: The command's name on the wire.
            body: The class that its body is decoded to.
            control: Whether it changes something, so that who may only watch is refused.

        Raises:
            ValueError: The extension has a command of this name.
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
        """Say how the custom events of a type are told. Agents may use types that nobody registered.

        Args:
            name: The type's name, as in `dbg.event(name, …)`.
            actor: Whom the agent turns to at its begin, and who answers at its end.
            state: What the agent does in between.

        Raises:
            ValueError: The name isn't a lower-case word, or the extension has a type of this name.
        """
        if not EVENT_NAME.fullmatch(name):
            raise ValueError(f"{name!r} isn't a valid event type: {EVENT_NAME_RULE}")
        _add(self.event_types, name, EventTypeInfo(actor, state), "event type")

    def summarizer(
        self, kind: EventKind | None = None, name: str | None = None
    ) -> Callable[[Summarizer], Summarizer]:
        """Decorate a function that gives one line on a halt point, or None to leave it to the next.

        It is asked after the agent's own summary and before one is made by rule, each time that a row
        is told: it has to be quick, and to give the same line for the same halt point. Where it raises,
        the next is asked, and the log has the first traceback.

        Args:
            kind: Ask only on events of this kind.
            name: Ask only on events of this name: a tool, a model, a custom event's type.
        """

        def add(summarize: Summarizer) -> Summarizer:
            def matching_summarizer(halt_point: HaltPoint) -> str | None:
                if kind in (None, halt_point.kind) and name in (None, halt_point.name):
                    return summarize(halt_point)
                return None

            self.summarizers.append(matching_summarizer)
            return summarize

        return add


def load_extensions(log: logging.Logger) -> list[Extension]:
    """The extensions that installed packages name. One that can't be loaded is logged and left out."""
    found: list[Extension] = []
    named = EntryPointLoader[Extension](ENTRY_POINT_GROUP, "extension", _check)
    named.load_each(lambda _, extension: found.append(extension), log)
    return found


def _check(made: object) -> None:
    if not isinstance(made, Extension):
        raise TypeError(
            "the entry point names a {type(made).__name__}, not an "
            "agentstepper_nb.extend.Extension."
        )


class Extensions:
    """The extensions of one Core, taken together.

    Args:
        extensions: They are asked in this order. None takes those that are installed; of those, one
            that another's names stand against is logged and left out.
        log: Gets what fails.

    Raises:
        ValueError: Two of those given name the same, or one names what the Core has itself.
    """

    def __init__(self, extensions: Iterable[Extension] | None, log: logging.Logger) -> None:
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
        #: What UIs of version 2 may send.
        self.from_ui: MessageTable = ui.from_ui.extended(bodies)
        self.event_registry = EventTypeRegistry(self._types, self._summarize)

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
        self._summarizers += [(extension.name, each) for each in extension.summarizers]

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
