"""Damaged checkpoints: the next start ends as if nothing had happened, or refuses and changes nothing."""

import os
import random
import shutil
from pathlib import Path

from attack.cases import Failure
from attack.disturbed import Disturbed
from attack.failing_calls import Fault, failing_calls
from attack.runs import ClassifyCommand, LearningStream, Run, compare, in_child, run_undisturbed


def make(folder: Path) -> "Checkpoints":
    return Checkpoints(folder)


class Checkpoints(Disturbed):
    """A run that is killed; then some file of its checkpoint folder is damaged, and it is started again."""

    RUNS = (LearningStream, ClassifyCommand)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, [(Fault.KILL_BEFORE, False)])
        self.n_cases = None

    def run(self, number: int, dice: random.Random) -> None:
        which, call, name, fault, _ = dice.choice(self.cases)
        run, folder, output = self.runs[which], self.new_folder(), self.folder / "output"

        def work() -> None:
            with failing_calls(folder, fault, call, call):
                run.start(folder)

        os.waitpid(in_child(work, output), 0)
        files = sorted(path for path in (folder / "checkpoint").glob("*") if path.is_file())
        if not files:
            return
        damaged = dice.choice(files)
        how = damage(damaged, dice)
        what = f"{run.name}, killed at call {call} ({name}), {damaged.name} {how}: "
        try:
            self.check_restart(run, folder, output, self.expected[which])
        except Failure as failure:
            raise Failure(what + str(failure)) from None

    def check_restart(self, run: Run, folder: Path, output: Path, expected: dict[str, bytes]) -> None:
        """Start the run again, and once more without its checkpoint if it was refused."""
        before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        status = os.waitpid(in_child(lambda: run.start(folder), output), 0)[1]
        text = output.read_text(errors="replace")
        if os.WIFSIGNALED(status):
            raise Failure(f"ended by signal {os.WTERMSIG(status)}: {text}")
        if os.WEXITSTATUS(status) == 0:
            compare(run, folder, expected)
            return
        if run.prints_one_line and (os.WEXITSTATUS(status) != 2 or "Traceback" in text):
            raise Failure(f"ended with code {os.WEXITSTATUS(status)}: {text}")
        after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        if before != after:
            changed = sorted(name for name in before | after if before.get(name) != after.get(name))
            raise Failure(f"refused, but changed {changed}: {text}")
        shutil.rmtree(folder / "checkpoint")
        for name in after:
            (folder / name).unlink()
        run_undisturbed(run, folder, output)
        compare(run, folder, expected)


def damage(path: Path, dice: random.Random) -> str:
    """Damage a file, and return what was done."""
    data = bytearray(path.read_bytes())
    match dice.randrange(6):
        case 0:
            path.unlink()
            return "removed"
        case 1:
            size = dice.randrange(len(data) + 1)
            path.write_bytes(data[:size])
            return f"cut to {size} of {len(data)} bytes"
        case 2 if digits := [i for i, byte in enumerate(data) if chr(byte).isdigit()]:
            at = dice.choice(digits)
            data[at] = ord("0") + (data[at] - ord("0") + dice.randint(1, 9)) % 10
            path.write_bytes(data)
            return f"with another digit at {at}"
        case 3 if len(data) > 512:
            at = dice.randrange(len(data) - 512)
            data[at : at + 512] = bytes(512)
            path.write_bytes(data)
            return f"with zeros from {at}"
        case _ if data:
            at, bit = dice.randrange(len(data)), dice.randrange(8)
            data[at] ^= 1 << bit
            path.write_bytes(data)
            return f"with bit {bit} of byte {at} changed"
    return "as it was"
