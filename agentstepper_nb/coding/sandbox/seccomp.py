"""Assembles seccomp filters: programs by which the kernel refuses system calls."""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

#: ioctl requests that type into a terminal as if its person did.
TIOCSTI: Final = 0x5412
TIOCLINUX: Final = 0x541C

#: The flag of clone and unshare that makes a user namespace.
CLONE_NEWUSER: Final = 0x10000000
#: All of that kind: time, mount, cgroup, UTS, IPC, user, process and network namespaces.
ANY_NAMESPACE_FLAG: Final = (
    0x80 | 0x20000 | 0x02000000 | 0x04000000 | 0x08000000 | CLONE_NEWUSER | 0x60000000
)

# The kernel's AUDIT_ARCH_* of machines, by what `platform.machine` calls them.
_ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Calls of the x32 interface have this bit: another table, which no filter here knows.
_X32: Final = 0x40000000

#: System calls by name: their numbers on x86_64 and aarch64; None where a machine has no such call.
SYSCALL_NUMBERS: Final[dict[str, tuple[int | None, int | None]]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}

# Instructions of the filter's machine, as linux/filter.h names them, and where a call's data lies.
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_KILL, _ERROR, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000

_Instruction = tuple[int, int, int, int]


class SyscallRefusal(Struct, frozen=True):
    """System calls that fail.

    Args:
        calls: Their names in `SYSCALL_NUMBERS`.
        argument: The number of the argument that decides; None: the calls always fail. Its lower 32
            bits are looked at: the calls here have no more.
        test: Whether they fail when the argument is one of the values, none of them, or has a bit of
            the first value.
        values: What the argument is compared with.
        error: The error that a program sees.
    """

    calls: tuple[str, ...]
    argument: int | None = None
    comparison: Literal["one of", "none of", "any bit of"] = "one of"
    values: tuple[int, ...] = ()
    error: int = errno.EPERM


#: What no command needs, in any sandbox.
ALWAYS_REFUSED: Final = (
    SyscallRefusal(("ioctl",), 1, "one of", (TIOCSTI, TIOCLINUX)),
    SyscallRefusal(("unshare", "clone"), 0, "any bit of", (ANY_NAMESPACE_FLAG,)),
    # Its flags lie in memory, where no filter looks. Who gets this error calls `clone`.
    SyscallRefusal(("clone3",), error=errno.ENOSYS),
    # Through it sockets are made without `socket`. libuv does without.
    SyscallRefusal(("io_uring_setup", "io_uring_enter", "io_uring_register"), error=errno.ENOSYS),
    # The user's keys are no part of any namespace.
    SyscallRefusal(("add_key", "keyctl", "request_key"), error=errno.ENOSYS),
    SyscallRefusal(
        ("setns", "mount", "umount2", "pivot_root", "chroot", "mount_setattr", "move_mount")
    ),
    SyscallRefusal(("open_tree", "fsopen", "fsconfig", "fsmount", "fspick"), error=errno.ENOSYS),
    SyscallRefusal(("bpf", "perf_event_open", "userfaultfd", "open_by_handle_at", "fanotify_init")),
    SyscallRefusal(
        ("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module")
    ),
    SyscallRefusal(("reboot", "swapon", "swapoff", "acct", "quotactl", "syslog", "iopl", "ioperm")),
)


def is_supported(machine: str = platform.machine()) -> bool:
    """Whether filters can be assembled for a machine, as `platform.machine` names it."""
    return machine in _ARCHITECTURES


def assemble_filter(refusals: Sequence[SyscallRefusal], machine: str = platform.machine()) -> bytes:
    """Assemble a filter: an array of the kernel's `struct sock_filter`.

    A call by the numbers of another architecture ends the process.

    Args:
        refusals: What fails. All else is allowed.
        machine: The machine, as `platform.machine` names it.

    Raises:
        KeyError: No filter can be assembled for the machine, or a call's name isn't known.
    """
    architecture = _ARCHITECTURES[machine]
    column = list(_ARCHITECTURES).index(machine)
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine == "x86_64":
        program += [(_ANY_BIT, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for refusal in refusals:
        block = list(_block(refusal))
        for call in refusal.calls:
            number = SYSCALL_NUMBERS[call][column]
            if number is not None:
                program += [(_EQUAL, 0, len(block), number), *block]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *each) for each in program)


def _block(refusal: SyscallRefusal) -> Iterator[_Instruction]:
    """What runs where the call's number was found: fails, or goes on with the number loaded."""
    fail = (_RETURN, 0, 0, _ERROR | refusal.error)
    if refusal.argument is None:
        yield fail
        return
    yield (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * refusal.argument)
    left = len(refusal.values)
    for value in refusal.values:
        left -= 1
        match refusal.comparison:
            case "none of":
                yield (_EQUAL, left + 1, 0, value)
            case "one of":
                yield (_EQUAL, left, 0 if left else 1, value)
            case "any bit of":
                yield (_ANY_BIT, left, 0 if left else 1, value)
    yield fail
    yield (_LOAD, 0, 0, _NUMBER_AT)
