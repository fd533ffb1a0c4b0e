"""Clients' verification of a Core that uses TLS (`wss://`), and the errors of a failed one."""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from ..errors import DiscoveryError
from .addresses import is_same_url, to_websocket_url
from .core_info import list_announced_cores
from .core_lookup import URL_VARIABLE
from .process_cores import list_process_cores

#: A file of certificate authorities (PEM) that are trusted beside the system's.
CA_FILE_VARIABLE: Final = "AGENTSTEPPER_CA_FILE"
#: A file with the very certificate (PEM) of the Core that AGENTSTEPPER_URL names.
CERTIFICATE_VARIABLE: Final = "AGENTSTEPPER_CERTIFICATE"

_PEM_BLOCK: Final = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
#: OpenSSL's codes for a certificate that names another host, or another address.
_OTHER_HOST_CODES: Final = frozenset({62, 64})


def make_tls_context(url: str) -> ssl.SSLContext | None:
    """Make the TLS context that verifies a WebSocket URL's server; None for `ws://`, without TLS.

    A Core of this user or process tells its own certificate, and a worker's environment does: no other
    certificate is accepted there, whatever host it names. Of every other Core the certificate must name
    the URL's host, and come from an authority of the system's or of AGENTSTEPPER_CA_FILE.

    Args:
        url: The URL that the client connects to.

    Raises:
        DiscoveryError: A file of certificates can't be read.
    """
    if not url.startswith("wss://"):
        return None
    own = find_certificate(url)
    if own:
        return _make_pinned_context(Path(own))
    context = ssl.create_default_context()
    ca_file = os.environ.get(CA_FILE_VARIABLE)
    if ca_file:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:  # an SSLError, where the file has no certificate, is one
            raise _make_file_error(ca_file, error) from None
    return context


def find_certificate(url: str) -> str:
    """The file with the certificate of the Core at a URL; "" where no Core there publishes one.

    Args:
        url: The Core's URL for agents, workers, UIs or clients.
    """
    if not url.startswith("wss://"):
        return ""
    for core in (*list_process_cores(), *list_announced_cores()):
        if core.certificate and any(_is_same_port(url, each) for each in (core.url, core.ui_url)):
            return core.certificate
    named = os.environ.get(URL_VARIABLE, "")
    return os.environ.get(CERTIFICATE_VARIABLE, "") if named and _is_same_port(url, named) else ""


def explain_tls_error(url: str, error: Exception) -> str | None:
    """Explain to a person why TLS with a server failed; None where the error isn't of TLS.

    Args:
        url: The server's WebSocket URL.
        error: The error that connecting raised.
    """
    match error:
        case ssl.SSLCertVerificationError() if error.verify_code in _OTHER_HOST_CODES:
            return (
                f"The certificate of the server at {url} names another host: "
                f"{error.verify_message} Use a host that the certificate names."
            )
        case ssl.SSLCertVerificationError():
            return (
                f"The certificate of the server at {url} isn't trusted: {error.verify_message}. "
                f"Set {CA_FILE_VARIABLE} to the file of the authority that signed it."
            )
        case ssl.SSLError():
            return (
                f"The server at {url} doesn't speak TLS as expected ({error.reason or error}). "
                "Use ws:// for a Core that was started without --certfile."
            )
    return None


def read_first_certificate(file: Path) -> str:
    """The first certificate of a PEM file: a server's own stands before those that signed it.

    Args:
        file: The file.

    Raises:
        DiscoveryError: The file can't be read, or has no certificate.
    """
    try:
        found = _PEM_BLOCK.search(file.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise _make_file_error(str(file), error) from None
    if found is None:
        raise _make_file_error(str(file), ValueError("it has no certificate in PEM"))
    return found[0]


def _make_pinned_context(file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # this certificate is the Core's, whatever it names
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=read_first_certificate(file))
    return context


def _make_file_error(file: str, error: Exception) -> DiscoveryError:
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return DiscoveryError(
        f"The certificates in {file} can't be used: {why}. Check the file, and {CA_FILE_VARIABLE}."
    )


def _is_same_port(url: str, other: str) -> bool:
    """Whether two URLs lead to one port of one host, whatever their paths."""
    try:
        ports = [urlsplit(to_websocket_url(each)) for each in (url, other)]
    except ValueError:
        return False
    return is_same_url(*(f"{each.scheme}://{each.netloc}" for each in ports))
