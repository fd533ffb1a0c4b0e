"""The module that each Python of a program under `agentstepper run` imports first, by its PYTHONPATH.

It runs in each Python that the program starts, of any version and with any packages: it raises nothing,
and imports only the standard library.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

_PID = "AGENTSTEPPER_ATTACHED_PID"
_DISCOVERS = "AGENTSTEPPER_DISCOVERS_TOOLS"


def _import_next() -> None:
    """Run the sitecustomize that this module shadows."""
    here = Path(__file__).parent
    sys.path[:] = [path for path in sys.path if Path(path) != here]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import_module("sitecustomize")
    except ImportError:
        if this is not None:
            sys.modules["sitecustomize"] = this


def _attach() -> None:
    is_program = os.environ.get(_PID) == str(os.getpid())
    try:
        auto = import_module("agentstepper_nb.auto")
        from agentstepper_nb.instrument import terminal_notices
    except ImportError as error:
        if is_program:  # not each Python that it starts
            print(
                f"agentstepper run: the program runs without the debugger, since {sys.executable} can't "
                f"import agentstepper_nb: {error}. Install agentstepper_nb there.",
                file=sys.stderr,
            )
        return
    if os.environ.get(_DISCOVERS):
        auto.enable(discovers_tools=True)
    if is_program and sys.stderr.isatty():  # between pipes the output is the program's alone
        terminal_notices.print_notices()


_import_next()
_attach()
