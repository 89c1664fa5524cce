"""Fingerprints of model files."""

import hashlib
import os


def read_fingerprint(path: str | os.PathLike[str]) -> str:
    """Return a hash of a model file's header, which holds the metadata and the checksums of all arrays.

    Equal models have equal fingerprints. The arrays are not read: `read_model` compares them with the checksums.
    """
    with open(path, "rb") as file:
        start = file.read(8)
        header = file.read(min(int.from_bytes(start, "little"), os.fstat(file.fileno()).st_size))
    return hashlib.sha256(start + header).hexdigest()
