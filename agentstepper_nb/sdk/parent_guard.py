"""Started between `spawn` and its program: ends the child with its parent, and becomes it.

Run as a script, by a Python without site-packages: nothing of this package can be imported here.
"""

import ctypes
import os
import signal
import sys

#: From <sys/prctl.h>: sets the signal that this process gets when its parent ends, however that ends.
_PR_SET_PDEATHSIG = 1

_CANNOT_RUN = 126


def main() -> None:
    """Become the program that the arguments name, after the parent's process id."""
    parent, *program = sys.argv[1:]
    # Python ignores these two, and what is ignored stays so in the program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if not tie_to_parent(int(parent)):
        return
    try:
        os.execvp(program[0], program)
    except OSError as error:
        print(f"{program[0]} can't be run: {error.strerror}.", file=sys.stderr)
        sys.exit(_CANNOT_RUN)


def tie_to_parent(parent: int) -> bool:
    """Let this process, and the program that it becomes, be ended by SIGTERM when its parent ends.

    Args:
        parent: The parent's process id.

    Returns:
        Whether the parent still runs.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    return os.getppid() == parent


if __name__ == "__main__":
    main()
