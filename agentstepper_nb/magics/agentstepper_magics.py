"""The magics themselves: they read their line and hand on."""

from __future__ import annotations

import argparse
import shlex
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
    """A parser whose errors are the magic's `UsageError`s."""

    def error(self, message: str) -> NoReturn:
        self.refuse(f"{message}.")

    def refuse(self, why: str) -> NoReturn:
        """Reject a line, with the usage."""
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
_step.add_argument("--freeze", action="store_true")
_again = _step.add_mutually_exclusive_group()
_again.add_argument("--fork", metavar="RUN@ROW")
_again.add_argument("--replay", metavar="RUN")
_step.add_argument("-h", "--help", action="store_true", help=argparse.SUPPRESS)

_agentstepper = _Parser(
    prog="%agentstepper",
    add_help=False,
    usage="%(prog)s [--kernel | --input | --export FILE [--run ID|NAME] | sessions | fleet | "
    "chat NAME | doctor | seams | nest on | "
    "check COMMAND | break … | breakpoints | price … | prices | help]",
)
_agentstepper.add_argument("what", nargs="?")
_agentstepper.add_argument("how", nargs="?")
_agentstepper.add_argument("--kernel", action="store_true")
_agentstepper.add_argument("--input", action="store_true", dest="by_input")
_agentstepper.add_argument("--export", metavar="FILE")
_agentstepper.add_argument("--run", metavar="ID|NAME")
_agentstepper.add_argument("-h", "--help", action="store_true")
#: The commands without arguments.
_COMMANDS_WITHOUT_ARGUMENTS: Final = ("sessions", "fleet", "doctor", "seams", "help")
_COMMANDS_WITH_ARGUMENT: Final = ("nest", "on")
#: The first words of lines that aren't options, but sentences: `breakpoints` reads them.
_RULES: Final = ("break", "breakpoints", "price", "prices")
#: All words that may come first on a line, except options.
COMMAND_NAMES: Final = (
    *_RULES,
    *_COMMANDS_WITHOUT_ARGUMENTS,
    *_COMMANDS_WITH_ARGUMENT[:1],
    "chat",
    "check",
)


def _drop_recorded_options(line: str) -> str:
    """Remove from a line of `%%step` what its start method stores already: the recording, `--freeze`."""
    kept: list[str] = []
    given = iter(split_line(line))
    for word in given:
        if word in ("--fork", "--replay"):
            next(given, None)
        elif word != "--freeze" and not word.startswith(("--fork=", "--replay=")):
            kept.append(word)
    return shlex.join(kept)


def _check(words: argparse.Namespace) -> None:
    """Check that a line of `%agentstepper` has exactly one valid command.

    Raises:
        UsageError: The line has an unknown command, or several.
    """
    what = words.what
    if what is not None and what not in (
        *_COMMANDS_WITHOUT_ARGUMENTS,
        *_COMMANDS_WITH_ARGUMENT[:1],
    ):
        like = did_you_mean(what, COMMAND_NAMES)
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


def _fleet() -> None:
    from .view_magic import show_fleet

    show_fleet()


def _doctor() -> None:
    from ..doctor import format_report

    print(format_report())


def _seams() -> None:
    from ..sdk import make_newest_report

    print(make_newest_report())


def _nest() -> None:
    from .nested_event_loops import nest_event_loops

    print(nest_event_loops())


#: The functions of the commands that `_check` accepts, except `help`.
_COMMANDS: Final[dict[str, Callable[[], None]]] = {
    "sessions": _sessions,
    "fleet": _fleet,
    "doctor": _doctor,
    "seams": _seams,
    "nest": _nest,
}


def _show(words: argparse.Namespace) -> None:
    from .view_magic import show_newest_run, step_by_input

    if words.by_input:
        step_by_input()
    else:
        show_newest_run(in_kernel=words.kernel)


def _help(parser: _Parser, magic: Any) -> str:
    """Format a magic's usage, and the description of each line."""
    return f"{parser.format_usage()}\n{cleandoc(magic.__doc__).replace('``', '')}"


@magics_class
class AgentStepperMagics(Magics):
    """`%agentstepper` and `%%step`."""

    @line_magic
    def agentstepper(self, line: str) -> Any:
        """Show the debugger's view, or say what is connected to what.

        ``%agentstepper`` shows the view, with the newest run of this kernel selected. Where the
        kernel's Jupyter server has no Core, this starts a Core in the kernel.

        ``%agentstepper --kernel`` starts a Core in the kernel in any case. Agents that start from now
        on connect to this Core.

        ``%agentstepper --input`` steps the agents of the kernel's Core by ``input()``, in a front end
        without a view.

        ``%agentstepper --export FILE`` writes the newest run of the kernel's Core, which has its runs
        only in memory, to a ``.run`` file. ``--run ID|NAME`` names another run.

        ``%agentstepper sessions`` shows the background agents and their conversations.

        ``%agentstepper fleet`` shows all agents at once: counts, halted runs, errors.

        ``%agentstepper chat NAME`` shows a chat. NAME is a variable with a Chat, a function or a
        connector, or the name of an installed connector, such as ``coding``.

        ``%agentstepper doctor`` shows what is connected to what, and what is wrong.

        ``%agentstepper seams`` shows which libraries' calls halt here without a change to the agent,
        and which method found each tool of the newest run.

        ``%agentstepper nest on`` applies nest_asyncio2 (or nest_asyncio), so that ``asyncio.run``
        works on the kernel's main thread. A cell under ``%%step`` doesn't need this.

        ``%agentstepper break before tool run_tests where args.path == "src"`` sets a breakpoint, at
        which agents halt. Options follow: ``hit 3``, ``once``, ``log``, ``for PROGRAM`` or
        ``all agents``. Other places are ``after llm gpt-*``, ``after error``, ``tokens 50000``,
        ``cost 0.05``, ``repeated 3`` (in a row, or ``overall``) and ``touches src/*.py``. Without
        ``for`` and ``all agents``, the breakpoint is for the program that this kernel ran last, or for
        all agents where the kernel ran none.

        ``%agentstepper breakpoints`` lists breakpoints with their numbers.
        ``break enable|disable|delete NUMBER`` changes a breakpoint. ``break dry-run NUMBER``, or
        ``break dry-run`` and a breakpoint, shows where it would have hit in past runs.

        ``%agentstepper check "pytest -q"`` runs a command in the folder of this kernel's newest run, and
        records with the run how the command ended: the view shows it where the run ends.

        ``%agentstepper price MODEL INPUT OUTPUT`` sets the price of a million tokens in US dollars,
        from which costs are estimated where the provider sends none. ``%agentstepper prices`` lists
        the prices.

        ``%agentstepper help`` shows this text. Put a name of several words in quotes.
        """
        if line.split()[:1] and line.split()[0] in _RULES:
            from .break_command import run_break_command

            return run_break_command(line)
        if line.split()[:1] == ["check"]:
            from .check_command import run_check_command

            print(run_check_command(line))
            return None
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

        ``%%step [NAME] [--main | --background | --input] [--workspace DIR] [--freeze] [--fork
        RUN@ROW | --replay RUN]``

        The view appears above the output. The variable ``dbg`` holds the cell's run, which ends with
        the cell. An AgentStepper that the cell creates without an address is that run.

        The cell runs on a thread of its own, so that ``asyncio.run``, ``anyio.run`` and top-level
        ``await`` work. An interrupt withdraws the halt points that wait, and raises KeyboardInterrupt.

        NAME is the run's name, in quotes where it has spaces; the default is the notebook's name.
        ``--workspace DIR`` names the agent's folder. ``--main`` runs the cell on the kernel's main
        thread, for code that needs it; ``asyncio.run``, ``anyio.run`` and top-level ``await`` don't
        work there.

        ``--background`` leaves the kernel free for other cells: the cell returns at once and continues.
        Its output and its end still appear under it. An interrupt doesn't reach the cell; Halt and Stop
        in the view do. ``dbg`` is the run of the newest cell: copy it to another variable where several
        cells run at once.

        ``--input`` asks by ``input()`` at each halt, in a front end without a view. In a terminal this
        is the default.

        ``--fork RUN@ROW`` runs the cell again on what RUN recorded, and halts at that row of its
        timeline; ``--replay RUN`` runs it on the whole recording. An empty cell takes the source of the
        recorded one. The names are this kernel's, as they are now.

        ``--freeze`` lets the cell see a time and random numbers that a replay can repeat. The cell of a
        frozen run is frozen again by ``--fork`` and ``--replay``.
        """
        __tracebackhide__ = True
        from .cell_mode import CellMode
        from .cell_replay import prepare_replay
        from .step_magic import run_cell

        words = _step.read(line)
        if words.help:
            print(_help(_step, AgentStepperMagics.step))
            return None
        assert self.shell is not None  # only loose Magics have none
        how = CellMode(words.on_main, words.background, words.by_input)
        replay = prepare_replay(cell, words.fork, words.replay)
        return run_cell(
            self.shell,
            cell if replay is None else replay.source,
            name=words.name,
            mode=how,
            workspace=words.workspace,
            line=_drop_recorded_options(line),
            replay=replay,
            freezes=words.freeze,
        )
