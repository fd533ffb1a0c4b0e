"""The file with the keys that sign chat tokens, and with revocations. Several processes share the file.

The file is in the data folder, readable by this user only, and is replaced atomically. Readers need no
lock; writers hold a lock against other processes and threads.
"""

from __future__ import annotations

import logging
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final
from uuid import uuid4

import msgspec
from filelock import FileLock
from msgspec import Meta, Struct
from msgspec.structs import replace

from ... import typed_json
from ...errors import StoreError
from ...protocol.field_types import Id, Time

#: The files in a data folder: the keys, and the lock of changes.
KEYS_FILE: Final = "chat-keys.json"
_LOCK_FILE: Final = "chat-keys.lock"
#: Bytes of a key: as many as HS256's hash has.
KEY_BYTES: Final = 32
#: The permissions of other users, none of which the file may have.
_OTHERS_PERMISSIONS: Final = stat.S_IRWXG | stat.S_IRWXO
#: Bytes of the file that are read.
_MAX_FILE_BYTES: Final = 16 * 1024 * 1024

_log: Final = logging.getLogger("agentstepper_nb.chat")

#: A value that differs between two versions of the file, without reading the file.
_Stamp = tuple[int, int, int]


class TokenKey(Struct, frozen=True, kw_only=True, rename={"expires_at": "until"}):
    """A key."""

    id: Id
    secret: Annotated[bytes, Meta(min_length=KEY_BYTES)]
    expires_at: Time = 0.0  # when the last token ends that it signed


class TokenKeys(Struct, frozen=True, kw_only=True):
    """The contents of the file."""

    issuer: Id  # this installation
    keys: Annotated[tuple[TokenKey, ...], Meta(min_length=1)]  # the last one signs
    revoked: dict[Id, Time] = {}  # tokens, with when they end in any case
    #: Revoked sessions: tokens issued until the first time are invalid; all have expired by the second.
    sessions: dict[Id, tuple[Time, Time]] = {}

    @property
    def signing_key(self) -> TokenKey:
        """The key that signs."""
        return self.keys[-1]

    def find(self, id: object) -> TokenKey | None:
        """A key by its id."""
        return next((each for each in self.keys if each.id == id), None)

    def without_expired(self, now: float) -> TokenKeys:
        """Return a copy without keys and revocations that no valid token can need."""
        old = tuple(each for each in self.keys[:-1] if each.expires_at > now)
        return replace(
            self,
            keys=(*old, self.signing_key),
            revoked={id: until for id, until in self.revoked.items() if until > now},
            sessions={id: span for id, span in self.sessions.items() if span[1] > now},
        )


def make_key() -> TokenKey:
    """Make a random key."""
    return TokenKey(id=secrets.token_hex(8), secret=secrets.token_bytes(KEY_BYTES))


class KeyFile:
    """The keys of one data folder. Used from any thread.

    Args:
        folder: The data folder; made where it isn't there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / KEYS_FILE
        self._read: tuple[_Stamp, TokenKeys] | None = None  # replaced as one

    def read(self) -> TokenKeys | None:
        """Read the file; None: there is no file.

        Raises:
            StoreError: The file is damaged, or can't be read.
        """
        try:
            stamp = _stamp(self._path.stat())
            known = self._read
            if known is None or known[0] != stamp:
                known = self._read = self._load()
        except FileNotFoundError:
            return None
        except StoreError:
            raise
        except OSError as error:
            raise self._useless(str(error)) from None
        return known[1]

    def update(self, change: Callable[[TokenKeys], TokenKeys]) -> TokenKeys:
        """Replace what the file holds; with none there, first keys are made.

        Args:
            change: Gives what it is to hold, of what it holds.

        Raises:
            StoreError: It is damaged, or can't be read or written.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(self._folder / _LOCK_FILE, mode=0o600):
                before = self.read()
                after = change(before or TokenKeys(issuer=str(uuid4()), keys=(make_key(),)))
                if after != before:
                    self._write(msgspec.json.format(msgspec.json.encode(after)))
        except StoreError:
            raise
        except OSError as error:
            raise self._useless(str(error)) from None
        return after

    def _load(self) -> tuple[_Stamp, TokenKeys]:
        # To open a pipe would wait for who writes into it.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self._path, flags)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise self._useless("the path is not a regular file")
            if found.st_mode & _OTHERS_PERMISSIONS:
                self._shut(descriptor)
            stamp = _stamp(found)
            try:
                return stamp, typed_json.decode(file.read(_MAX_FILE_BYTES), TokenKeys)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise self._useless(str(error)) from None

    def _write(self, content: bytes) -> None:
        """Written aside and moved into place: a reader never meets half a file, nor does a power cut."""
        draft = self._folder / f"{KEYS_FILE}.{secrets.token_hex(4)}.tmp"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            draft.replace(self._path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def _shut(self, descriptor: int) -> None:
        """Let nobody else read it: somebody changed its mode. Some file systems have none."""
        with suppress(OSError):
            os.fchmod(descriptor, 0o600)
            if not os.fstat(descriptor).st_mode & _OTHERS_PERMISSIONS:
                _log.warning(
                    "Other users could read %s until now. If one of them may have read "
                    "the keys, make new ones: chat.rotate_keys(drop_old=True).",
                    self._path,
                )

    def _useless(self, why: str) -> StoreError:
        return StoreError(
            f"The keys of chat tokens in {self._path} can't be used: {why.rstrip('.')}. Move the file "
            "away: new keys are made, and the tokens issued so far are refused."
        )


def _stamp(status: os.stat_result) -> _Stamp:
    return (status.st_ino, status.st_mtime_ns, status.st_size)
