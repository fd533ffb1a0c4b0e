"""The magics themselves: they read their line and hand on."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from inspect import cleandoc
from typing import Any, Final, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_magic,
    magics_class,
    output_can_be_silenced,
)

from ..suggestions import did_you_mean
from .line_splitting import split_line


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are the magic's."""

    def error(self, message: str) -> NoReturn:
        self.refuse(f"{message}.")

    def refuse(self, why: str) -> NoReturn:
        """Refuse a line, and say how it is written."""
        raise UsageError(f"{why} {self.format_usage().strip()}")

    def read(self, line: str) -> argparse.Namespace:
        """Read a magic's line; quotes keep spaces together."""
        try:
            given = split_line(line)
        except UsageError as error:
            self.refuse(str(error))
        found, unknown = self.parse_known_args(given)
        for word in unknown:
            if word.startswith("-"):
                like = did_you_mean(word, self._option_string_actions)
                self.refuse(f"There is no option {word}.{like}")
            self.refuse(f"“{word}” isn't expected here. Put a name of several words in quotes.")
        return found


_step = _Parser(prog="%%step", add_help=False)
_step.add_argument("name", nargs="?", default="")
_how = _step.add_mutually_exclusive_group()
_how.add_argument("--main", action="store_true", dest="on_main")
_how.add_argument("--background", action="store_true")
_how.add_argument("--input", action="store_true", dest="by_input")
_step.add_argument("--workspace", metavar="DIR")
_step.add_argument("-h", "--help", action="store_true", help=argparse.SUPPRESS)

_agentstepper = _Parser(
    prog="%agentstepper",
    add_help=False,
    usage="%(prog)s [--kernel | --input | --export FILE [--run ID|NAME] | sessions | chat NAME | "
    "doctor | nest on | "
    "break … | breakpoints | price … | prices | help]",
)
_agentstepper.add_argument("what", nargs="?")
_agentstepper.add_argument("how", nargs="?")
_agentstepper.add_argument("--kernel", action="store_true")
_agentstepper.add_argument("--input", action="store_true", dest="by_input")
_agentstepper.add_argument("--export", metavar="FILE")
_agentstepper.add_argument("--run", metavar="ID|NAME")
_agentstepper.add_argument("-h", "--help", action="store_true")
#: The words that may stand alone, and the only one that another follows.
_COMMANDS_WITHOUT_ARGUMENTS: Final = ("sessions", "doctor", "help")
_COMMANDS_WITH_ARGUMENT: Final = ("nest", "on")
#: The first words of lines that aren't options, but sentences: `breakpoints` reads them.
_RULES: Final = ("break", "breakpoints", "price", "prices")


def _check(words: argparse.Namespace) -> None:
    """See that a line of `%agentstepper` says one thing.

    Raises:
        UsageError: It says none that there is, or several.
    """
    what = words.what
    if what is not None and what not in (
        *_COMMANDS_WITHOUT_ARGUMENTS,
        *_COMMANDS_WITH_ARGUMENT[:1],
    ):
        like = did_you_mean(
            what, (*_COMMANDS_WITHOUT_ARGUMENTS, *_COMMANDS_WITH_ARGUMENT[:1], *_RULES, "chat")
        )
        _agentstepper.refuse(f"There is no command “{what}”.{like}")
    asked = (words.kernel, words.by_input, words.export is not None, what is not None)
    pair = (what, words.how) == _COMMANDS_WITH_ARGUMENT
    if sum(asked) > 1 or ((what in _COMMANDS_WITH_ARGUMENT or words.how is not None) and not pair):
        _agentstepper.error("Say one of these")
    if words.run is not None and words.export is None:
        _agentstepper.error("--run needs --export. Use one of these")


def _sessions() -> None:
    from .view_magic import show_sessions

    show_sessions()


def _doctor() -> None:
    from ..doctor import format_report

    print(format_report())


def _nest() -> None:
    from .nested_event_loops import nest_event_loops

    print(nest_event_loops())


#: What the words do that `_check` lets through, but for `help`.
_COMMANDS: Final[dict[str, Callable[[], None]]] = {
    "sessions": _sessions,
    "doctor": _doctor,
    "nest": _nest,
}


def _show(words: argparse.Namespace) -> None:
    from .view_magic import show_newest_run, step_by_input

    if words.by_input:
        step_by_input()
    else:
        show_newest_run(in_kernel=words.kernel)


def _help(parser: _Parser, magic: Any) -> str:
    """How a magic is written, and what each line does."""
    return f"{parser.format_usage()}\n{cleandoc(magic.__doc__).replace('``', '')}"


@magics_class
class AgentStepperMagics(Magics):
    """`%agentstepper` and `%%step`."""

    @line_magic
    def agentstepper(self, line: str) -> Any:
        """Show the debugger's view, or say what is connected to what.

        ``%agentstepper`` shows the view, with the newest run of this kernel selected. Where the
        kernel's Jupyter server has no Core, one is started in the kernel.

        ``%agentstepper --kernel`` has one started in the kernel whatever else there is; agents that
        connect from now on are there.

        ``%agentstepper --input`` steps the agents of that Core by ``input()``, where no view can be.

        ``%agentstepper --export FILE`` writes the newest run of that Core to a ``.run`` file: it keeps
        its runs in the kernel's memory alone. ``--run ID|NAME`` names another run.

        ``%agentstepper sessions`` shows the agents that run on their own, and their conversations.

        ``%agentstepper chat NAME`` shows a chat: NAME is a variable with a Chat, a function or a
        connector, or the name of an installed connector, as ``coding``.

        ``%agentstepper doctor`` explains what is connected to what, and what is wrong.

        ``%agentstepper nest on`` applies nest_asyncio2 (or nest_asyncio), so that ``asyncio.run``
        works on the kernel's main thread; a cell under ``%%step`` needs no such thing.

        ``%agentstepper break before tool run_tests where args.path == "src"`` lets agents halt there
        while they continue; behind it ``hit 3``, ``once``, ``log``, ``for PROGRAM`` or
        ``all agents``. Other places are ``after llm gpt-*``, ``after error``, ``tokens 50000``,
        ``cost 0.05``, ``repeated 3`` (in a row, or ``overall``) and ``touches src/*.py``. It is for the
        program that this kernel ran last, or for all agents where it ran none.

        ``%agentstepper breakpoints`` lists breakpoints with their numbers,
        ``break enable|disable|delete NUMBER`` changes one, and ``break dry-run NUMBER``, or
        ``break dry-run`` and the words of one, tells where it would have hit in past runs.

        ``%agentstepper price MODEL INPUT OUTPUT`` says what a million tokens cost in US dollars, by
        which the costs are estimated that no provider tells. ``%agentstepper prices`` lists prices.

        ``%agentstepper help`` shows this. A name of several words stands in quotes.
        """
        if line.split()[:1] and line.split()[0] in _RULES:
            from .break_command import command

            return command(line)
        if line.split()[:1] == ["chat"]:
            from .chat_magic import show_chat

            assert self.shell is not None  # only loose Magics have none
            return show_chat(self.shell.user_ns, split_line(line)[1:])
        words = _agentstepper.read(line)
        _check(words)
        if words.help or words.what == "help":
            print(_help(_agentstepper, AgentStepperMagics.agentstepper))
        elif words.what is not None:
            _COMMANDS[words.what]()
        elif words.export is not None:
            from .run_export import export_run

            print(export_run(words.export, words.run))
        else:
            _show(words)
        return None

    @output_can_be_silenced
    @cell_magic
    def step(self, line: str, cell: str) -> Any:
        """Run the cell as an agent that can be stepped.

        ``%%step [NAME] [--main | --background | --input] [--workspace DIR]``

        The view is shown above the output, the cell's run is bound to ``dbg`` and ends with the cell.
        An AgentStepper that the cell makes without an address is that run.

        The cell runs on a thread of its own, so that ``asyncio.run``, ``anyio.run`` and top-level
        ``await`` work. An interrupt takes back what waits and raises KeyboardInterrupt.

        NAME is the run's name, in quotes where it has spaces; the notebook's where none is given.
        ``--workspace DIR`` names the folder that the agent works on. ``--main`` keeps the cell on the
        kernel's main thread, for code that has to be there; the three above don't work then.

        ``--background`` leaves the kernel free for other cells: this one returns at once and goes on.
        Its output, and what becomes of it, still appear under it. An interrupt doesn't reach it,
        Breakpoint does. ``dbg`` is the newest cell's run: give it another name first where cells run at
        once.

        ``--input`` asks by ``input()`` at each halt, where no view can be: in a terminal, as it does
        there without being told.
        """
        __tracebackhide__ = True
        from .cell_mode import CellMode
        from .step_magic import run_cell

        words = _step.read(line)
        if words.help:
            print(_help(_step, AgentStepperMagics.step))
            return None
        assert self.shell is not None  # only loose Magics have none
        how = CellMode(words.on_main, words.background, words.by_input)
        return run_cell(self.shell, cell, name=words.name, how=how, workspace=words.workspace)
