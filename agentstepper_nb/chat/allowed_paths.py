"""`AllowedPaths`: the files that a chat may show, below its allowed folders.

Paths come from agents and aren't trusted. A path is resolved and must end below an allowed folder.
Then it is walked from that folder by descriptors, without following a link: a link that is made
meanwhile is refused like a path that leads outside.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import CommandError
from ..protocol.chat import ChatImage, ChatSourceText, Message, MessageType
from ..protocol.image_types import MAX_IMAGE_BYTES, detect_image_type
from ..sdk.drivers import run_in_thread

#: Bytes of a file whose text is shown.
MAX_TEXT_BYTES: Final = 1_000_000

_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class _Place(NamedTuple):
    """Where a path leads."""

    root: Path
    names: tuple[str, ...]  # below it, without links and `..`


class AllowedPaths:
    """The folders whose files a chat may show. Safe from any thread.

    Args:
        roots: The folders; none: no file is shown. Relative paths are below the first folder.

    Attributes:
        roots: The folders, with all links resolved.
    """

    def __init__(self, roots: Iterable[str | Path] = ()) -> None:
        found = (Path(root).expanduser().resolve() for root in roots)
        self.roots: tuple[Path, ...] = tuple(dict.fromkeys(found))

    def read_image(self, path: str | Path) -> ChatImage:
        """Read the bytes of an image file.

        Args:
            path: The path that an agent named.

        Raises:
            CommandError: `not_allowed`: the file isn't below the allowed folders, its bytes are no
                PNG, JPEG, GIF or WebP, or it is too large.
        """
        data = self._read(path, MAX_IMAGE_BYTES)
        media_type = detect_image_type(data)
        if media_type is None:
            raise _refused(path, "is not a PNG, JPEG, GIF or WebP picture")
        return ChatImage(media_type=media_type, data=data)

    def read_text(self, path: str | Path, max_bytes: int = MAX_TEXT_BYTES) -> ChatSourceText:
        """Read a text file.

        Args:
            path: The path that an agent named.
            max_bytes: The most bytes that the file may have.

        Raises:
            CommandError: `not_allowed`: the file isn't below the allowed folders, is no UTF-8 text,
                or is too large.
        """
        data = self._read(path, max_bytes)
        if b"\0" in data:
            raise _refused(path, "is not a text file")
        try:
            return ChatSourceText(text=data.decode())
        except UnicodeDecodeError:
            raise _refused(path, "is not UTF-8 text") from None

    def _read(self, path: str | Path, max_bytes: int) -> bytes:
        place = self._place(path)
        try:
            descriptor = _open(place)
        except OSError as error:
            raise _refused(path, f"can't be read: {error.strerror}") from None
        with os.fdopen(descriptor, "rb") as file:
            try:
                data = file.read(max_bytes + 1)
            except OSError as error:
                raise _refused(path, f"can't be read: {error.strerror}") from None
        if len(data) > max_bytes:
            raise _refused(path, f"is larger than {max_bytes} bytes")
        return data

    def _place(self, path: str | Path) -> _Place:
        if not self.roots:
            raise _refused(path, "can't be shown: this chat has no workspace and no allowed paths")
        try:
            full = Path(os.path.realpath(self.roots[0] / path))
        except (OSError, ValueError):  # ValueError: a NUL, or what no file system can name
            raise _refused(path, "is not a valid path") from None
        for root in self.roots:
            if full != root and full.is_relative_to(root):
                return _Place(root, full.relative_to(root).parts)
        raise _refused(path, "lies outside of the chat's allowed paths")


def _open(place: _Place) -> int:
    """A descriptor of a plain file, reached folder by folder.

    Raises:
        OSError: It isn't there, something on the way is a link by now, or it is no plain file.
    """
    folder = os.open(place.root, _FOLDER_FLAGS)
    try:
        for name in place.names[:-1]:
            below = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = below
        name = place.names[-1]
        # To open a device may do something already.
        _must_be_file(os.stat(name, dir_fd=folder, follow_symlinks=False))
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _must_be_file(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _must_be_file(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "not a regular file")


def _refused(path: str | Path, why: str) -> CommandError:
    shown = repr(str(path))
    if len(shown) > 200:
        shown = f"{shown[:99]}…{shown[-99:]}"
    return CommandError("not_allowed", f"{shown} {why}.")


async def read_message_image(message: Message, allowed: AllowedPaths) -> ChatImage:
    """Read the bytes of an IMAGE message.

    Raises:
        CommandError: `not_allowed`: the message is no image, or its file may not be shown.
    """
    if message.type == MessageType.IMAGE and message.data is not None:
        media_type = detect_image_type(message.data)
        if media_type is None:
            raise CommandError("not_allowed", "The picture's bytes aren't PNG, JPEG, GIF or WebP.")
        return ChatImage(media_type=media_type, data=message.data)
    if message.type == MessageType.IMAGE and message.path is not None:
        return await run_in_thread(partial(allowed.read_image, message.path))
    raise CommandError("not_allowed", "This message has no picture.")


async def read_message_source(message: Message, allowed: AllowedPaths) -> ChatSourceText:
    """Read the text of the file that a CODE message names.

    Raises:
        CommandError: `not_allowed`: the message names no file, or a file that may not be shown.
    """
    if message.type == MessageType.CODE and message.path is not None:
        return await run_in_thread(partial(allowed.read_text, message.path))
    raise CommandError("not_allowed", "This message names no file.")
