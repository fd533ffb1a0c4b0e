"""Programs of the pages, each in a process that is forked from one that has imported what they need.

A process that is started anew imports for longer than most of these programs run.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

#: Forks for each line of its input, and writes the exit code of what it has forked.
_FORKING: Final = """\
import ast, asyncio, atexit, gc, inspect, json, os, signal, sys, threading, traceback, types

def run(path):
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = os.path.abspath(path)
    with open(path) as file:
        code = compile(file.read(), main.__file__, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    try:
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(eval(code, vars(main)))
        else:
            exec(code, vars(main))
    except SystemExit as exited:
        if isinstance(exited.code, str):
            print(exited.code, file=sys.stderr)
            return 1
        return exited.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

for line in sys.stdin:
    told = json.loads(line)
    for name in told["imported"]:
        __import__(name)
    gc.freeze()  # else its collections copy all of this process
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
signal.alarm(told["timeout_s"])
os.environ.clear()
os.environ.update(told["environment"])
os.chdir(told["cwd"])
for number, name in enumerate((os.devnull, told["out"], told["errors"])):
    opened = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    os.dup2(opened, number)
    os.close(opened)
sys.argv = told["arguments"]
sys.orig_argv = [sys.executable, *sys.argv]
paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
folder = os.path.dirname(os.path.abspath(sys.argv[0]))
sys.path[:1] = [folder, *(path for path in paths if path not in sys.path)]
code = run(sys.argv[0])
# As Python ends, but that it leaves its memory as it is: to clear it would copy it, too.
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
"""


class ForkedPrograms:
    """Runs programs, one after another, whose top level may await.

    Args:
        environment: Of the process that is forked.
        folder: Where the outputs go.
        timeout_s: How long a program may take, in seconds.
    """

    def __init__(self, environment: Mapping[str, str], folder: Path, timeout_s: int) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._runs = 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKING],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, command: str, environment: Mapping[str, str], cwd: Path, *imported: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `python` or `agentstepper` with arguments, as a page prints it, to its end.

        Args:
            command: The line of the page.
            environment: All of its environment.
            cwd: The folder that it runs in.
            imported: What is imported before, for this program and all that follow.
        """
        called, *arguments = shlex.split(command)
        if called == "agentstepper":
            script = Path(sys.executable).with_name(called)
            arguments = [str(script), *arguments]
        else:
            assert called == "python"
        self._runs += 1
        out, errors = (self._folder / f"{self._runs}.{name}" for name in ("out", "errors"))
        told = {
            "imported": imported,
            "timeout_s": self._timeout_s,
            "environment": dict(environment),
            "cwd": str(cwd),
            "out": str(out),
            "errors": str(errors),
            "arguments": arguments,
        }
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(command, code, out.read_text(), errors.read_text())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
