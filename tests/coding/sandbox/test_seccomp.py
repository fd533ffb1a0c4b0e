"""Seccomp filters, run by this machine's kernel, and their tables against its headers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentstepper_nb.coding.sandbox import seccomp
from tests.coding.sandbox.scenes import ROOT
from tests.coding.sandbox.without_userns import without_userns

HEADERS = [
    (0, Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")),
    (1, Path("/usr/include/asm-generic/unistd.h")),
]

supported = pytest.mark.skipif(
    not (sys.platform == "linux" and seccomp.is_supported()), reason="no filter for this machine"
)

# Each line of what it prints: a call, and the error that it met.
CALLS = """
import ctypes, errno, fcntl, os, socket, sys
from tests.coding.sandbox.without_userns import install
from agentstepper_nb.coding.sandbox.seccomp import ALWAYS_REFUSED, SYSCALL_NUMBERS, SyscallRefusal
libc = ctypes.CDLL(None, use_errno=True)

def show(name, code):
    print(name, errno.errorcode[ctypes.get_errno()] if code == -1 else "ok")

def family(number):
    try:
        socket.socket(number, socket.SOCK_DGRAM).close()
        print("family", number, "ok")
    except OSError as error:
        print("family", number, errno.errorcode[error.errno])

internet = socket.AF_INET, socket.AF_INET6
install((*ALWAYS_REFUSED, SyscallRefusal(("socket",), 0, "none of", internet, 97)))
show("unshare", libc.unshare(0x10000000))
show("unshare files", libc.unshare(0x400))
column = int(os.uname().machine == "aarch64")
show("keyctl", libc.syscall(SYSCALL_NUMBERS["keyctl"][column], 0, 0))
show("clone3", libc.syscall(SYSCALL_NUMBERS["clone3"][column], 0, 0))
show("setns", libc.setns(0, 0))
show("TIOCSTI", libc.ioctl(0, 0x5412, b"x"))
show("TIOCLINUX", libc.ioctl(0, 0x541C, b"x"))
show("TIOCSTI with more bits", libc.ioctl(0, ctypes.c_ulong(0x1_0000_5412), b"x"))
show("FIONCLEX", libc.ioctl(0, 0x5450))
family(socket.AF_UNIX)
family(socket.AF_INET)
family(socket.AF_INET6)
family(16)
import subprocess
print("child", subprocess.run(["/bin/true"]).returncode)
"""

REFUSED = """\
unshare EPERM
unshare files ok
keyctl ENOSYS
clone3 ENOSYS
setns EPERM
TIOCSTI EPERM
TIOCLINUX EPERM
TIOCSTI with more bits EPERM
FIONCLEX ok
family 1 EAFNOSUPPORT
family 2 ok
family 10 ok
family 16 EAFNOSUPPORT
child 0
"""


@supported
def test_the_kernel_refuses_what_the_filter_says() -> None:
    done = subprocess.run([sys.executable, "-c", CALLS], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (REFUSED, "")


@supported
def test_no_user_namespace_can_be_made_where_they_are_refused() -> None:
    asks = [sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))"]
    refused = subprocess.run(without_userns(*asks), cwd=ROOT, capture_output=True, text=True)
    assert (refused.stdout, refused.stderr) == ("-1\n", "")


@supported
def test_calls_by_another_table_end_the_process() -> None:
    number = 39 | 0x40000000  # getpid, as x32 numbers it
    asks = (
        "from tests.coding.sandbox.without_userns import install; install(());"
        f"import ctypes; ctypes.CDLL(None).syscall({number}); print('alive')"
    )
    done = subprocess.run([sys.executable, "-c", asks], cwd=ROOT, capture_output=True, text=True)
    alive = seccomp.platform.machine() != "x86_64"  # on others there is no such table
    assert (done.stdout == "alive\n", done.returncode == 0) == (alive, alive)


@pytest.mark.parametrize(("column", "header"), HEADERS, ids=["x86_64", "aarch64"])
def test_the_numbers_are_those_of_the_kernels_headers(column: int, header: Path) -> None:
    if not header.exists():
        pytest.skip(f"{header} isn't installed here")
    text = header.read_text()
    numbers = re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", text)
    known = {name: int(number) for name, number in numbers}
    # A header of an older kernel doesn't know the newest calls.
    newest = max(known.values())
    for name, columns in seccomp.SYSCALL_NUMBERS.items():
        number = columns[column]
        assert known.get(name) == number or (number or 0) > newest, name


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_filter_ends_by_allowing_and_refuses_foreign_architectures(machine: str) -> None:
    code = seccomp.assemble_filter(seccomp.ALWAYS_REFUSED, machine)
    instructions = [code[at : at + 8] for at in range(0, len(code), 8)]
    assert instructions[2][4:] == (0x80000000).to_bytes(4, sys.byteorder)  # kill
    assert instructions[-1][4:] == (0x7FFF0000).to_bytes(4, sys.byteorder)  # allow
    with pytest.raises(KeyError):
        seccomp.assemble_filter(seccomp.ALWAYS_REFUSED, "riscv64")
