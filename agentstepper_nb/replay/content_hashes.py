"""The hashes by which a recording's events are found again."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Final

from ..sdk.json_text import dump_json
from ..sdk.payload import SecretMask

#: The size of the SDK's hashes; see docs/design/0023-scopes.md.
_DIGEST_BYTES: Final = 16


class ContentHasher:
    """Hashes the JSON text of requests.

    Without a key, the hash is of the stored text: masked, and without the matches of the patterns. Both
    the recorded and the actual request are converted to this text.

    Args:
        key: The key of the run's hashes; None: requests are hashed without a key.
        volatile: Regular expressions whose matches are removed first; only without a key.

    Raises:
        re.error: A pattern isn't a regular expression.
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
        """Convert a request's JSON text to the text that is hashed without a key."""
        text = dump_json(json.loads(SecretMask().json(text)))
        for pattern in self._volatile:
            text = pattern.sub("", text)
        return text
