"""The data folder, and its three tokens, readable by this user alone."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Final, NamedTuple

from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir, jupyter_runtime_dir

#: The files in a data folder that keep the agent token, the control token and the worker token.
AGENT_TOKEN_FILE: Final = "agent-token"
CONTROL_TOKEN_FILE: Final = "control-token"
WORKER_TOKEN_FILE: Final = "worker-token"
_LOCK_FILE: Final = "tokens.lock"
#: The characters that a header allows: a damaged file may have others.
_TOKEN_PATTERN: Final = re.compile(r"[!-~]+")


class CoreTokens(NamedTuple):
    """The tokens of one Core; unknown tokens are empty.

    Args:
        agent: The token of agents: it lets them add runs, and control nothing.
        control: The token of views and of programs that control agents.
        worker: The token of workers.
    """

    agent: str = ""
    control: str = ""
    worker: str = ""


#: The tokens of a Core whose tokens are unknown.
NO_TOKENS: Final = CoreTokens()


def data_dir() -> Path:
    """Return the default folder of runs, workspaces and the Core's tokens."""
    return Path(jupyter_data_dir()) / "agentstepper"


def load_core_tokens(folder: Path | None, configured_tokens: CoreTokens) -> CoreTokens:
    """The tokens that a Core requires. They outlive restarts, so that all programs can reconnect.

    Args:
        folder: The Core's data folder, which stores the tokens; None: they are only in memory.
        configured_tokens: The tokens that a person chose; empty ones are generated.

    Raises:
        ValueError: A token can't be sent, or two are the same.
    """
    stored = CoreTokens() if folder is None else read_tokens(folder)
    _check_characters(configured_tokens)
    chosen = [
        one or other for one, other in zip(configured_tokens, stored, strict=True) if one or other
    ]
    if len(set(chosen)) < len(chosen):
        raise ValueError(
            "The agent token, the control token and the worker token must differ, since "
            "each grants different rights. Set three different tokens."
        )
    if folder is None:
        return CoreTokens(*(each or generate_token() for each in configured_tokens))
    return CoreTokens(
        agent=load_or_create_token(folder, AGENT_TOKEN_FILE, configured_tokens.agent),
        control=load_or_create_token(folder, CONTROL_TOKEN_FILE, configured_tokens.control),
        worker=load_or_create_token(folder, WORKER_TOKEN_FILE, configured_tokens.worker),
    )


def _check_characters(tokens: CoreTokens) -> None:
    for token in tokens:
        if token and not _TOKEN_PATTERN.fullmatch(token):
            raise ValueError(
                "The token has characters that aren't allowed. Use printable ASCII "
                "characters without spaces."
            )


def read_tokens(folder: Path) -> CoreTokens:
    """Read the tokens of a data folder."""
    return CoreTokens(
        *(
            read_token(folder, each) or ""
            for each in (AGENT_TOKEN_FILE, CONTROL_TOKEN_FILE, WORKER_TOKEN_FILE)
        )
    )


def generate_token() -> str:
    """A token that can't be guessed, and doesn't begin as a command's option does."""
    return secrets.token_hex(32)


def load_or_create_token(
    folder: Path | None = None, file: str = AGENT_TOKEN_FILE, configured_token: str = ""
) -> str:
    """Set and return a token of a data folder: the given one, else the stored one, else a new one.

    Args:
        folder: The data folder; None: `data_dir()`.
        file: The token's file: `AGENT_TOKEN_FILE`, `CONTROL_TOKEN_FILE` or `WORKER_TOKEN_FILE`.
        configured_token: A token that replaces the stored one.
    """
    folder = data_dir() if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    from filelock import FileLock  # takes a while, and agents make no tokens

    with FileLock(folder / _LOCK_FILE, mode=0o600):  # of two that start at once, one makes it
        stored = read_token(folder, file)
        token = configured_token or stored or generate_token()
        if token != stored:
            draft = folder / f"{file}.{secrets.token_hex(4)}.tmp"
            write_private_file(draft, token + "\n")
            draft.replace(folder / file)
    return token


def read_token(folder: Path | None = None, file: str = AGENT_TOKEN_FILE) -> str | None:
    """Read a token of a data folder; None where the folder has none.

    Args:
        folder: The data folder; None: `data_dir()`.
        file: The token's file: `AGENT_TOKEN_FILE`, `CONTROL_TOKEN_FILE` or `WORKER_TOKEN_FILE`.
    """
    try:
        token = ((data_dir() if folder is None else folder) / file).read_text().strip()
    except (OSError, UnicodeDecodeError):  # a damaged one can't be sent
        return None
    return token if _TOKEN_PATTERN.fullmatch(token) else None


def write_private_file(path: Path, text: str) -> None:
    """Write a new file that only this user can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def list_private_folders() -> tuple[Path, ...]:
    """Jupyter's folders that hold tokens and settings, without links; no command may see them."""
    found = (jupyter_runtime_dir(), jupyter_data_dir(), jupyter_config_dir())
    return tuple(Path(each).resolve() for each in found)
