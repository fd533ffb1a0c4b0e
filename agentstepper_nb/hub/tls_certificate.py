"""The certificate with which the standalone Core speaks TLS."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any, NamedTuple, Self


class TlsCertificate(NamedTuple):
    """A server's certificate and its key.

    Args:
        file: The certificate (PEM), with those that signed it behind it.
        context: By which a server speaks TLS.
    """

    file: Path
    context: ssl.SSLContext

    @classmethod
    def load(
        cls, certfile: str | os.PathLike[str] | None, keyfile: str | os.PathLike[str] | None
    ) -> Self | None:
        """Load a certificate; None where none is named.

        Args:
            certfile: The certificate's file (PEM).
            keyfile: The file of its private key (PEM), without a password; None: `certfile` has it.

        Raises:
            ValueError: A key is named without a certificate, or the files can't be used.
        """
        if certfile is None:
            if keyfile is not None:
                raise ValueError(
                    f"The key {os.fspath(keyfile)} was given without a certificate. Give both, by "
                    "--certfile and --keyfile."
                )
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(certfile, keyfile, password=_refuse_password)
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
            raise ValueError(
                f"The certificate {os.fspath(certfile)} can't be used with its key: {why}. Give "
                "files in PEM that belong together, and a key without a password."
            ) from None
        return cls(Path(certfile).absolute(), context)


def make_tls_options(
    certificate: TlsCertificate | None, handshake_timeout_s: float, close_timeout_s: float
) -> dict[str, Any]:
    """Make the TLS options of a listening server; empty without a certificate.

    Args:
        certificate: The server's certificate.
        handshake_timeout_s: Seconds for the TLS handshake.
        close_timeout_s: Seconds for the TLS shutdown.
    """
    if certificate is None:
        return {}
    return {
        "ssl": certificate.context,
        "ssl_handshake_timeout": handshake_timeout_s,
        "ssl_shutdown_timeout": close_timeout_s,
    }


def _refuse_password() -> str:
    raise ValueError("the key has a password")
