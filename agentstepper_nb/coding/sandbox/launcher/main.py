"""Starts one command and ends with it.

Three processes: the *front* is what the agent sees. It passes signals on and ends as the command ended.
The *keeper* is its child: each orphan among the command's processes becomes a child of the keeper, so
the keeper finds and kills daemons, too. The command is the keeper's child. When the front is killed the
kernel tells the keeper; when the agent is killed its end of the lifeline closes.

SIGTERM asks the command's processes to end and kills them after the time of grace; SIGQUIT kills them.
"""

from __future__ import annotations

import errno
import marshal
import os
import resource
import select
import signal
import time

from . import kernel

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn

    from .launch_spec import LaunchSpec


# As shells have them: the program can't be run; there is none. And as env(1): who starts it failed.
_NOT_STARTED, _NOT_EXECUTABLE, _NOT_FOUND = 125, 126, 127
# Where there may be any number, as macOS has it.
_MAX_DESCRIPTORS = 1 << 20
# Python ignores these two for itself; programs expect that they end a program.
_DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ)


def exec_command(spec: LaunchSpec, supervisor_pid: int) -> NoReturn:
    """Become the command. Failures are printed, as a shell prints them.

    Args:
        spec: How it is started.
        supervisor_pid: The parent's process id.
    """
    code = _NOT_STARTED
    try:
        _prepare(spec, supervisor_pid)
        code = _NOT_EXECUTABLE
        os.execv(spec["program"], spec["argv"])
    except BaseException as error:
        if code == _NOT_EXECUTABLE and getattr(error, "errno", None) == errno.ENOENT:
            code = _NOT_FOUND
        why = getattr(error, "strerror", None) or repr(error)
        message = f"agentstepper: {spec['argv'][0]!r} was not started: {why}\n"
        os.write(2, message.encode("utf-8", "surrogateescape"))
    os._exit(code)


def forbid_core_files() -> None:
    """Keep this process from writing a core file when a signal ends it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _prepare(spec: LaunchSpec, supervisor_pid: int) -> None:
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != supervisor_pid:
        os._exit(_NOT_STARTED)
    for each in _DEFAULTS:
        signal.signal(each, signal.SIG_DFL)
    os.setsid()
    for folder in spec.get("cgroups", ()):
        _join(folder)
    forbid_core_files()
    for limited, limit in spec.get("rlimits", ()):
        _lower(limited, limit)
    if "landlock" in spec:
        kernel.forbid_new_privileges()
        kernel.drop_capabilities()
        kernel.restrict_access(spec["landlock"])
    _close_all_but(spec.get("pass_fds", []))
    if "seccomp" in spec:
        kernel.install_seccomp_filter(spec["seccomp"])


def _join(folder: str) -> None:
    """Move this process to a control group."""
    descriptor = os.open(f"{folder}/cgroup.procs", os.O_WRONLY)
    try:
        os.write(descriptor, b"0")
    finally:
        os.close(descriptor)


def _lower(limited: int, limit: int) -> None:
    """Lower a resource's limit; one that is lower already stays."""
    _, hard = resource.getrlimit(limited)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(limited, (limit, limit))


def _close_all_but(wanted: list[int]) -> None:
    """Close all descriptors but the standard streams and those that the program inherits."""
    start = 3
    for each in sorted(wanted):
        os.closerange(start, each)
        os.set_inheritable(each, True)
        start = each + 1
    os.closerange(start, min(os.sysconf("SC_OPEN_MAX"), _MAX_DESCRIPTORS))


_WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGQUIT)
# Seconds until what can't be killed is left: a program of another user, one that waits for a dead disk.
_KILL_TIMEOUT_S = 10.0


def supervise_command(spec: LaunchSpec, launcher_pid: int) -> int:
    """Start the command, wait for its end, and end all that it started.

    Args:
        spec: How the command is started.
        launcher_pid: The parent's process id.

    Returns:
        How the command ended, as `waitpid` has it.
    """
    os.setsid()  # who kills the front's group doesn't kill its keeper
    signal_pipe = _open_signal_pipe()
    kernel.become_subreaper()
    kernel.die_with_parent(signal.SIGQUIT)
    if os.getppid() != launcher_pid:
        os._exit(1)
    supervisor_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        _reset_signals()
        exec_command(spec, supervisor_pid)
    processes = ProcessTree(pid)
    _wait(processes, signal_pipe, spec["parent_death_fd"], spec["grace_s"])
    _end(processes, signal_pipe)
    _report_memory_kill(spec.get("cgroups", []))
    return signal.SIGKILL if processes.status is None else processes.status


class ProcessTree:
    """A command with all that descends from it. All are descendants of this process.

    Args:
        first: The process id of the command.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        #: How the command ended, as `waitpid` has it; None while it runs.
        self.status: int | None = None
        self._stopped: set[int] = set()

    def reap(self) -> bool:
        """Bury those that have ended; says whether anybody is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._first:
                self.status = status

    def send_signal(self, signal_number: int) -> None:
        """Send a signal to all."""
        found = find_descendants(os.getpid())
        if not found and self.status is None:  # a system without /proc: the command's own group
            found = {-self._first}
        for pid in found:
            _send(pid, signal_number)

    def kill(self) -> None:
        """Kill all that are there now; first they are stopped, so that none of them starts another."""
        while fresh := find_descendants(os.getpid()) - self._stopped:
            for pid in fresh:
                _send(pid, signal.SIGSTOP)
            self._stopped |= fresh
            if len(self._stopped) > 100_000:  # they come faster than they can be stopped
                break
        self._stopped.clear()
        self.send_signal(signal.SIGKILL)


def find_descendants(root: int) -> set[int]:
    """The living descendants of a process; none on a system without /proc."""
    children: dict[int, list[int]] = {}
    for pid, parent in _living():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        new = [each for each in children.get(waiting.pop(), ()) if each not in found]
        found.update(new)
        waiting += new
    return found


def _living() -> list[tuple[int, int]]:
    """Each living process of this machine, with its parent."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        if name.isdecimal() and (parent := _parent(name)) is not None:
            found.append((int(name), parent))
    return found


def _parent(pid: str) -> int | None:
    """The parent of a process; None where the process has ended."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        # `PID (NAME) STATE PARENT …`, and a name may hold spaces and parentheses.
        state, parent = os.read(descriptor, 4096).rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)
    return None if state in (b"Z", b"X") else int(parent)


def _wait(processes: ProcessTree, signal_pipe: int, parent_death_fd: int, grace_s: float) -> None:
    """Wait until the command ends, or until it is to be killed."""
    deadline: float | None = None
    while processes.reap() and processes.status is None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return
        ready, _, _ = select.select([signal_pipe, parent_death_fd], [], [], left)
        signals = os.read(signal_pipe, 4096) if signal_pipe in ready else b""
        if parent_death_fd in ready or signal.SIGQUIT in signals:
            return
        if signal.SIGTERM in signals and deadline is None:
            deadline = time.monotonic() + grace_s
            processes.send_signal(signal.SIGTERM)


def _end(processes: ProcessTree, signal_pipe: int) -> None:
    """Kill all that is left of a command."""
    until = time.monotonic() + _KILL_TIMEOUT_S
    while processes.reap() and time.monotonic() < until:
        processes.kill()
        if select.select([signal_pipe], [], [], 0.05)[0]:
            os.read(signal_pipe, 4096)


def _report_memory_kill(groups: list[str]) -> None:
    """Print it where the kernel ended a process for the limit of memory: nobody else says so."""
    for group in groups:
        for name in ("memory.events", "memory.oom_control"):
            if _count(f"{group}/{name}", b"oom_kill"):
                os.write(
                    2, b"agentstepper: a process was killed: the command's memory is limited.\n"
                )
                return


def _count(path: str, name: bytes) -> int:
    """A number in a file of lines `NAME NUMBER`; 0 where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return 0
    try:
        lines = [line.split() for line in os.read(descriptor, 4096).splitlines()]
    finally:
        os.close(descriptor)
    return next((int(line[1]) for line in lines if line[:1] == [name]), 0)


def _open_signal_pipe() -> int:
    """Have the numbers of signals written to a pipe, and give its end to read from."""
    signal_pipe, signal_pipe_end = os.pipe()
    os.set_blocking(signal_pipe_end, False)
    signal.set_wakeup_fd(signal_pipe_end, warn_on_full_buffer=False)
    for each in _WATCHED:
        signal.signal(each, lambda number, frame: None)
    # The front passes them on; the command's are its own.
    for each in (signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    return signal_pipe


def _reset_signals() -> None:
    """Have all signals do what they do in a new program."""
    signal.set_wakeup_fd(-1)
    for each in (*_WATCHED, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


_FORWARDED = (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT, signal.SIGHUP)


def main(descriptor: int) -> None:
    """Start the command that the orders name, and end as it ends.

    Args:
        descriptor: A file whose content is the orders, as `marshal` writes them.
    """
    with open(descriptor, "rb") as file:
        spec: LaunchSpec = marshal.load(file)
    kernel.die_with_parent(signal.SIGQUIT)
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)  # until there is who can be told
    launcher_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        _end_as(supervise_command(spec, launcher_pid))
    for each in _FORWARDED:
        signal.signal(each, lambda number, _: os.kill(pid, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    os.close(spec["parent_death_fd"])
    _, status = os.waitpid(pid, 0)
    _end_as(status)


def _end_as(status: int) -> NoReturn:
    """End this process as another one ended: with its exit code, or by its signal."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        forbid_core_files()
        if code != -signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)
