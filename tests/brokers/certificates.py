"""Certificates and credentials for brokers that accept nobody without them, made with openssl."""

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from brokers.servers import UnavailableError

EXTENSIONS = "basicConstraints=CA:FALSE\nsubjectAltName=IP:127.0.0.1,DNS:localhost\n"


class Credentials(NamedTuple):
    """An authority, a certificate that it has signed (for server and clients alike), a user and a password."""

    ca: Path
    cert: Path
    key: Path
    user: str = "anystream"
    password: str = "correct-horse-7301"

    def options(self):
        """Options of an address."""
        return {"tls": 1, "ca": self.ca, "cert": self.cert, "cert_key": self.key}


def make_credentials(folder):
    """Credentials whose files are in a folder."""
    if shutil.which("openssl") is None:
        raise UnavailableError("openssl is not installed")
    ca, ca_key, cert, key, request = (folder / name for name in ("ca.pem", "ca.key", "cert.pem", "cert.key", "csr"))
    extensions = folder / "extensions"
    extensions.write_text(EXTENSIONS)
    _run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority",
         "-keyout", ca_key, "-out", ca)  # fmt: skip
    _run("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=anystream", "-keyout", key, "-out", request)
    _run("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "2",
         "-extfile", extensions, "-out", cert)  # fmt: skip
    key.chmod(0o644)  # mosquitto and Redis read it as a user of their own
    return Credentials(ca, cert, key)


def _run(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
