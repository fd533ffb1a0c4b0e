"""Starts one command and ends with it.

Three processes: the *front* is what the agent sees. It passes signals on and ends as the command ended.
The *keeper* is its child: each orphan among the command's processes becomes a child of the keeper, so
the keeper finds and kills daemons, too. The command is the keeper's child. When the front is killed the
kernel tells the keeper; when the agent is killed its end of the lifeline closes.

SIGTERM asks the command's processes to end and kills them after the time of grace; SIGQUIT kills them.
"""

from __future__ import annotations

import marshal
import os
import signal

from . import command, keeper, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .orders import Orders

_FORWARDED = (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT, signal.SIGHUP)


def main(descriptor: int) -> None:
    """Start the command that the orders name, and end as it ends.

    Args:
        descriptor: A file whose content is the orders, as `marshal` writes them.
    """
    with open(descriptor, "rb") as file:
        orders: Orders = marshal.load(file)
    kernel.die_with_parent(signal.SIGQUIT)
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)  # until there is who can be told
    front = os.getpid()
    pid = os.fork()
    if pid == 0:
        _end_as(keeper.keep(orders, front))
    for each in _FORWARDED:
        signal.signal(each, lambda number, _: os.kill(pid, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    os.close(orders["lifeline"])
    _, status = os.waitpid(pid, 0)
    _end_as(status)


def _end_as(status: int) -> NoReturn:
    """End this process as another one ended: with its exit code, or by its signal."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        command.forbid_core_files()
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)
