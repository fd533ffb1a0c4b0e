"""The pictures that are shown to people: told by their first bytes, whatever their name says."""

from __future__ import annotations

from typing import Final

#: Bytes of a picture that is shown, at most.
MAX_IMAGE_BYTES: Final = 10 * 1024 * 1024
#: Bytes of its beginning that tell a picture's type.
SIGNATURE_BYTES: Final = 16
_SIGNATURES: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
#: The types that are shown. SVG isn't one: it is a document, with scripts.
MEDIA_TYPES: Final = frozenset({*_SIGNATURES.values(), "image/webp"})


def detect_image_type(data: bytes) -> str | None:
    """The media type that bytes have by their first ones; None where they are no picture that is shown.

    Args:
        data: The bytes, or their beginning.
    """
    for signature, media_type in _SIGNATURES.items():
        if data.startswith(signature):
            return media_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
