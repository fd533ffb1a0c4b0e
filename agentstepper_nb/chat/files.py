"""The pictures and files that messages name, for who shows them.

Files are read on threads: a disk that hangs holds up no conversation.
"""

from __future__ import annotations

from functools import partial

from ..errors import CommandError
from ..protocol.chat import Message, MessageType, Picture, Source
from ..protocol.pictures import sniff
from ..sdk.pumps import in_thread
from .allowed_paths import AllowedPaths


async def picture_of(message: Message, allowed: AllowedPaths) -> Picture:
    """The bytes of an IMAGE.

    Raises:
        CommandError: `not_allowed`: it is no picture, or its file may not be shown.
    """
    if message.type == MessageType.IMAGE and message.data is not None:
        media_type = sniff(message.data)
        if media_type is None:
            raise CommandError("not_allowed", "The picture's bytes are no PNG, JPEG, GIF or WebP.")
        return Picture(media_type=media_type, data=message.data)
    if message.type == MessageType.IMAGE and message.path is not None:
        return await in_thread(partial(allowed.picture, message.path))
    raise CommandError("not_allowed", "This message has no picture.")


async def source_of(message: Message, allowed: AllowedPaths) -> Source:
    """The text of the file that a CODE names.

    Raises:
        CommandError: `not_allowed`: it names none, or one that may not be shown.
    """
    if message.type == MessageType.CODE and message.path is not None:
        return await in_thread(partial(allowed.text, message.path))
    raise CommandError("not_allowed", "This message names no file.")
