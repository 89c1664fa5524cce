"""What can be wrong with a model file, in words."""

import reprlib

RESTORE = "restore the file from a copy or save the model again"


class Unfit(Exception):  # noqa: N818  never leaves the package: a ModelFileError, which names the path, replaces it
    """What is wrong with the content of a file, and what to do."""

    def __init__(self, fault: str, remedy: str = RESTORE) -> None:
        super().__init__(f"{fault}; {remedy}")
        self.fault = fault


_clipped = reprlib.Repr()
_clipped.maxstring = _clipped.maxother = 80
short = _clipped.repr
