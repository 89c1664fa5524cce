"""A disk that is full, fails or writes in part, at every call that changes a file: a line names it, nothing is lost."""

from pathlib import Path

from attack.cases import Attack
from attack.disturbed import Disturbed
from attack.failing_calls import Fault

FAULTS = [
    (Fault.NO_SPACE, False),
    (Fault.NO_SPACE, True),
    (Fault.INPUT_OUTPUT_ERROR, False),
    (Fault.INPUT_OUTPUT_ERROR, True),
    (Fault.SHORT_WRITE, False),
]


def make(folder: Path) -> Attack:
    return Disturbed(folder, FAULTS)
