"""`agentstepper step`: steps agents from a terminal, or through a pipe."""

from __future__ import annotations

import json
import os
import select
import sys
import termios
from argparse import Namespace
from collections import deque
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_runtime_dir

from ..discover import Endpoint, RuntimeFile, running_core, ui_endpoint
from ..errors import DiscoveryError
from . import FAILED, INTERRUPTED, OK
from .editing import edit
from .inbox import Inbox
from .keys import Keys
from .link import Happening, Link
from .screen import Screen, wants_colour
from .session import Session

#: Where `agentstepper serve` takes UIs unless told otherwise.
DEFAULT_URL: Final = "ws://127.0.0.1:4567"


def run(given: Namespace) -> int:
    """Run the command.

    Args:
        given: What the command line set.

    Returns:
        The exit code.
    """
    try:
        core = core_to_step(given)
    except DiscoveryError as error:
        print(f"agentstepper step: {error}", file=sys.stderr)
        return FAILED
    inbox: Inbox[Happening] = Inbox()
    link = Link(core, inbox.put)
    keyboard = Keyboard(sys.stdin.fileno())
    session = Session(_screen(), link.send, given.run, keyboard.forget)
    keys = Keys(session, edit if sys.stdin.isatty() else None)
    link.start()
    try:
        _converse(keyboard, inbox, session, keys)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        link.close()
        inbox.close()
    return FAILED if session.failed else OK


def _screen() -> Screen:
    out = sys.stdout
    if hasattr(out, "reconfigure"):
        out.reconfigure(errors="backslashreplace")  # not every terminal speaks UTF-8
    return Screen(out, colour=wants_colour(out), terminal=out.isatty() and sys.stdin.isatty())


def _converse(keyboard: Keyboard, inbox: Inbox[Happening], session: Session, keys: Keys) -> None:
    """Take turns between what is typed and what happens, until the person has enough.

    What was typed comes first: it is meant for what stands on the screen. A line waits for the Core,
    and for the answer to the one before.
    """
    while not session.over:
        listens = session.met and not session.waits
        if listens and keyboard.lines:
            keys.line(keyboard.lines.popleft())
        elif listens and keyboard.ended:
            session.over = True
        elif listens and _is_typed(keyboard, inbox):
            keyboard.read()
        else:
            for happening in inbox.wait():
                session.happen(happening)


def _is_typed(keyboard: Keyboard, inbox: Inbox[Happening]) -> bool:
    """Wait for whatever comes first, and tell whether it is the keyboard."""
    sources: list[Keyboard | Inbox[Happening]] = [keyboard, inbox]
    ready, _, _ = select.select(sources, [], [])
    return keyboard in ready


class Keyboard:
    """The lines of a terminal or a pipe, as they come.

    Args:
        descriptor: Where they are read.
    """

    def __init__(self, descriptor: int) -> None:
        self.lines: deque[str] = deque()
        self.ended = False
        self._descriptor = descriptor
        self._rest = b""

    def fileno(self) -> int:
        """Readable when something was typed."""
        return self._descriptor

    def forget(self) -> None:
        """Drop what was typed at a terminal before now. What comes through a pipe stays."""
        if os.isatty(self._descriptor):
            self.lines.clear()
            self._rest = b""
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def read(self) -> None:
        """Read what was typed; the last line may end without a line end."""
        typed = os.read(self._descriptor, 65536)
        *lines, self._rest = (self._rest + typed).split(b"\n")
        if not typed:
            self.ended = True
            lines = [self._rest] if self._rest else []
        self.lines.extend(line.decode(errors="replace") for line in lines)


def core_to_step(given: Namespace) -> Endpoint:
    """Find the Core: the one that `--url` names, else the one that agents here would find.

    Args:
        given: What the command line set.

    Raises:
        DiscoveryError: Several run, and nothing says which is meant.
    """
    if given.url:
        return ui_endpoint(given.url, given.token)
    core = running_core()
    if core is not None and core.ui_url:
        return ui_endpoint(core.ui_url, given.token)
    if core is not None and core.base_url:
        url = core.url.removesuffix("agent") + "ui"
        return Endpoint(url, given.token or _login_token(core))
    return ui_endpoint(DEFAULT_URL, given.token)


def _login_token(core: RuntimeFile) -> str | None:
    """The token that a Jupyter server asks people for, as its own runtime file tells this user."""
    file = Path(jupyter_runtime_dir()) / f"jpserver-{core.pid}.json"
    try:
        token = json.loads(file.read_text()).get("token")
    except (OSError, ValueError, AttributeError):
        return None
    return token if isinstance(token, str) and token else None
