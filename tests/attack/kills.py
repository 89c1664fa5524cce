"""SIGKILL before and after every call that changes a file: the next start ends as if nothing had happened."""

from pathlib import Path

from attack.cases import Attack
from attack.disturbed import Disturbed
from attack.failing_calls import Fault


def make(folder: Path) -> Attack:
    return Disturbed(folder, [(Fault.KILL_BEFORE, False), (Fault.KILL_AFTER, False)])
