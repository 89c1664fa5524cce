"""Errors about the content of a model file."""

import reprlib

RESTORE = "restore the file from a copy or save the model again"


class InvalidContent(Exception):  # noqa: N818  internal: a ModelFileError, which names the path, replaces it
    """Invalid content of a file: what is wrong, and what to do."""

    def __init__(self, fault: str, remedy: str = RESTORE) -> None:
        super().__init__(f"{fault}; {remedy}")
        self.fault = fault


_clipped = reprlib.Repr()
_clipped.maxstring = _clipped.maxother = 80
short = _clipped.repr
