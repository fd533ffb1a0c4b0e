"""What every test of models runs under."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def without_certificates() -> Iterator[None]:
    """Let clients read no file of certificates: what tests ask serves plain HTTP.

    Each client of httpx reads one, for 20 ms. A client that used TLS would trust nobody.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl.SSLContext, "load_verify_locations", lambda *given, **named: None)
        yield
