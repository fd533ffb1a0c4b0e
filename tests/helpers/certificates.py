"""Certificates of a test's own authority, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class SignedCertificate(NamedTuple):
    """A certificate and its key, each a file in PEM."""

    certfile: Path
    keyfile: Path


class CertificateAuthority:
    """Signs certificates.

    Args:
        folder: For its files.

    Attributes:
        file: What clients trust it by.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / "authority.pem"
        self._key = folder / "authority.key"
        extensions = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign")
        _run_openssl("test authority", self._key, self.file, extensions)

    def sign(self, name: str, *hosts: str) -> SignedCertificate:
        """A certificate for hosts, as `DNS:core.example` or `IP:127.0.0.1`.

        Args:
            name: The name of its files.
            hosts: The hosts that it names.
        """
        made = SignedCertificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        extensions = (f"subjectAltName={','.join(hosts)}", "basicConstraints=CA:FALSE")
        authority = ("-CA", str(self.file), "-CAkey", str(self._key))
        _run_openssl(name, made.keyfile, made.certfile, extensions, authority)
        return made


def _run_openssl(
    name: str, key: Path, out: Path, extensions: tuple[str, ...], options: tuple[str, ...] = ()
) -> None:
    added = [word for each in extensions for word in ("-addext", each)]
    files = ["-keyout", str(key), "-out", str(out)]
    command = ["openssl", "req", "-x509", *_NEW_KEY, "-days", "2", "-subj", f"/CN={name}"]
    subprocess.run([*command, *files, *added, *options], check=True, capture_output=True)
