"""The hashes by which a recording's events are found again."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Final

from ..sdk.json_text import dump_json
from ..sdk.secret_masks import SecretMask

#: As the SDK's hashes: docs/design/0023-scopes.md.
_DIGEST_BYTES: Final = 16


class ContentHasher:
    """Hashes the JSON text of requests.

    Without a key, what is hashed is the text as it is stored: masked, and without what the patterns
    match. So that is done to both the recorded and the actual request.

    Args:
        key: The key of the run's hashes; None: requests are hashed without one.
        volatile: Regular expressions of what is taken out before; only without a key.

    Raises:
        re.error: A pattern can't be understood.
    """

    def __init__(self, key: bytes | None, volatile: tuple[str, ...] = ()) -> None:
        self.key = key
        self._volatile = [re.compile(pattern) for pattern in volatile]

    def hash(self, text: str | bytes) -> str:
        """The hash of a request's JSON text, in hex."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogatepass")
        if self.key is None:
            text = self.normalize(text)
        data = text.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=_DIGEST_BYTES, key=self.key or b"").hexdigest()

    def normalize(self, text: str) -> str:
        """What is hashed of a request's JSON text without a key."""
        text = dump_json(json.loads(SecretMask().json(text)))
        for pattern in self._volatile:
            text = pattern.sub("", text)
        return text
