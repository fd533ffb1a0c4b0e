"""The magics themselves: they read their line and hand on."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_magic,
    magics_class,
    output_can_be_silenced,
)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are the magic's."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. {self.format_usage().strip()}")

    def read(self, line: str) -> argparse.Namespace:
        """Read a magic's line; quotes keep spaces together."""
        try:
            return self.parse_args(shlex.split(line))
        except ValueError as error:  # a quote that isn't closed
            self.error(str(error))


_step = _Parser(prog="%%step", add_help=False)
_step.add_argument("name", nargs="?", default="")
_step.add_argument("--main", action="store_true")
_step.add_argument("--workspace", metavar="DIR")

_agentstepper = _Parser(prog="%agentstepper", add_help=False, usage="%(prog)s [nest on]")
_agentstepper.add_argument("what", nargs="?", choices=["nest"])
_agentstepper.add_argument("how", nargs="?", choices=["on"])


@magics_class
class AgentStepperMagics(Magics):
    """`%agentstepper` and `%%step`."""

    @line_magic
    def agentstepper(self, line: str) -> None:
        """Show the debugger's view, or let `asyncio.run` work in cells.

        ``%agentstepper`` shows the view, with the newest run of this kernel selected.

        ``%agentstepper nest on`` applies nest_asyncio2 (or nest_asyncio), so that ``asyncio.run``
        works on the kernel's main thread; a cell under ``%%step`` needs no such thing.
        """
        words = _agentstepper.read(line)
        if words.what is None:
            from .step import show_newest

            show_newest()
        elif words.how is None:
            _agentstepper.error("say `nest on`")
        else:
            from .nest import apply

            print(apply())

    @output_can_be_silenced
    @cell_magic
    def step(self, line: str, cell: str) -> Any:
        """Run the cell as an agent that can be stepped: ``%%step [NAME] [--main] [--workspace DIR]``.

        The view is shown above the output, the cell's run is bound to ``dbg`` and ends with the cell.
        An AgentStepper that the cell makes without an address is that run.

        The cell runs on a thread of its own, so that ``asyncio.run``, ``anyio.run`` and top-level
        ``await`` work. An interrupt takes back what waits and raises KeyboardInterrupt.

        NAME is the run's name; the notebook's where none is given. ``--workspace DIR`` names the
        folder that the agent works on. ``--main`` keeps the cell on the kernel's main thread, for code
        that has to be there; the three above don't work then.
        """
        __tracebackhide__ = True
        from .step import run_cell

        words = _step.read(line)
        assert self.shell is not None  # only loose Magics have none
        return run_cell(
            self.shell, cell, name=words.name, on_main=words.main, workspace=words.workspace
        )
