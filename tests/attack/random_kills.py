"""SIGKILL at random moments, several times in a row: the last start ends as if nothing had happened."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

from attack.cases import Attack, Failure
from attack.runs import RUNS, Run, compare, in_child, run_undisturbed


def make(folder: Path) -> Attack:
    return RandomKills(folder)


class RandomKills(Attack):
    """One run, killed one to four times."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        inputs = folder / "inputs"
        inputs.mkdir()
        self.runs: list[Run] = [kind(inputs) for kind in RUNS]
        self.expected: list[dict[str, bytes]] = []
        self.seconds: list[float] = []
        for run in self.runs:
            target = self.new_folder(run)
            started = time.monotonic()
            run_undisturbed(run, target, folder / "output")
            self.seconds.append(time.monotonic() - started)
            self.expected.append(run.results(target))

    def run(self, number: int, dice: random.Random) -> None:
        which = number % len(self.runs)
        run, output = self.runs[which], self.folder / "output"
        folder = self.new_folder(run)
        delays_s = [dice.uniform(0.0, 1.1) * self.seconds[which] for _ in range(dice.randint(1, 4))]
        try:
            for delay_s in delays_s:
                child = in_child(lambda: run.start(folder), output)
                time.sleep(delay_s)
                os.kill(child, signal.SIGKILL)
                status = os.waitpid(child, 0)[1]
                if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
                    raise Failure(f"ended with code {os.WEXITSTATUS(status)}:\n{output.read_text()}")
                run.check_between(folder)
            run_undisturbed(run, folder, output)
            compare(run, folder, self.expected[which])
        except Failure as failure:
            raise Failure(f"{run.name}, killed after {delays_s} s: {failure}") from None

    def new_folder(self, run: Run) -> Path:
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        run.prepare(folder)
        return folder
