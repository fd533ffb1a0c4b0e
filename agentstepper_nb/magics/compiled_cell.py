"""The source of a cell, compiled and run as IPython would, on whichever thread."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_COROUTINE
from itertools import takewhile
from traceback import extract_tb
from types import CodeType, TracebackType
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell


@dataclass(frozen=True)
class CompiledCell:
    """A compiled cell.

    Args:
        shell: The shell with the cell's variables.
        name: The cell's file name in tracebacks.
        code_objects: The statements, and the expression whose value is the cell's.
        is_output_silenced: Whether a semicolon at the cell's end hides that value.
    """

    shell: InteractiveShell
    name: str
    code_objects: tuple[CodeType, ...]
    is_output_silenced: bool = False

    @property
    def has_top_level_await(self) -> bool:
        """Whether the cell awaits outside of functions, and so needs an event loop of its own."""
        return any(part.co_flags & CO_COROUTINE for part in self.code_objects)

    def run(self) -> Any:
        """Run the cell on this thread, and return the value of its last expression.

        A cell with top-level `await` is run by `asyncio.run`; any other may call that itself.
        """
        __tracebackhide__ = True
        try:
            if self.has_top_level_await:
                return asyncio.run(self._run_awaiting())
            return self._run()
        except BaseException as error:
            error.__traceback__ = self._own(error.__traceback__)
            raise

    def line_of(self, error: BaseException) -> int | None:
        """The cell's line where an exception was raised, numbered as in the notebook."""
        lines = [
            entry.lineno for entry in extract_tb(error.__traceback__) if entry.filename == self.name
        ]
        return lines[-1] if lines else None

    def traceback_of(self, error: BaseException) -> str:
        """An exception as IPython shows it."""
        show = _typed(self.shell).InteractiveTB
        lines = show.structured_traceback(type(error), error, error.__traceback__)
        return str(show.stb2text(lines))

    def _run(self) -> Any:
        value = None
        for part in self.code_objects:
            value = self._eval(part)
        return value

    async def _run_awaiting(self) -> Any:
        value = None
        for part in self.code_objects:
            value = self._eval(part)
            if part.co_flags & CO_COROUTINE:
                value = await value
        return value

    def _eval(self, part: CodeType) -> Any:
        return eval(part, self.shell.user_global_ns, self.shell.user_ns)

    def _own(self, traceback: TracebackType | None) -> TracebackType | None:
        """Cut a traceback to the part from the cell's own code on."""
        while traceback is not None and traceback.tb_frame.f_code not in self.code_objects:
            traceback = traceback.tb_next
        return traceback


def compile_cell(shell: InteractiveShell, source: str) -> CompiledCell:
    """Compile the body of a cell magic.

    Magics and `!commands` inside work, and line numbers are those of the whole cell.

    Raises:
        SyntaxError: As in IPython.
    """
    # The magic's own line, and the empty ones below it, which IPython leaves out.
    text = "\n" * (1 + _empty_lines(source)) + _typed(shell).transform_cell(source)
    number = len(shell.user_ns["In"]) - 1  # this cell's
    name = shell.compile.cache(text, number, raw_code=text)
    with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
        tree = _typed(shell).transform_ast(shell.compile.ast_parse(text, filename=name))
        parts = tuple(_compile(shell, tree, name))
        return CompiledCell(shell, name, parts, _ends_in_semicolon(text))


def _empty_lines(source: str) -> int:
    """Count the empty lines at the begin."""
    return sum(1 for _ in takewhile(str.isspace, source.splitlines(keepends=True)))


def _compile(shell: InteractiveShell, tree: ast.Module, name: str) -> Iterator[CodeType]:
    """Compile the statements as one code object, and the last expression as one with its value."""
    statements = list(tree.body)
    last = statements.pop() if statements and isinstance(statements[-1], ast.Expr) else None
    yield _typed(shell).compile(ast.Module(statements, type_ignores=[]), name, "exec")
    if isinstance(last, ast.Expr):
        yield _typed(shell).compile(ast.Expression(last.value), name, "eval")


_ends_in_semicolon: Any = DisplayHook.semicolon_at_end_of_expression


def _typed(shell: InteractiveShell) -> Any:
    """Return the shell without types: its methods have none, or too strict ones."""
    return shell
