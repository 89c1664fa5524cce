"""Disturbance of runs at a call that changes a file."""

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from attack.cases import Attack, Failure
from attack.failing_calls import NEVER, Fault, failing_calls
from attack.runs import RUNS, Run, compare, in_child, run_undisturbed


class Disturbed(Attack):
    """Every call of every run that changes a file, with every fault.

    Parameters
    ----------
    folder : path
        An empty folder for files.
    faults : sequence of (Fault, bool)
        What is done at a call, and whether to all later calls as well.
    """

    RUNS: ClassVar[Sequence[type[Run]]] = RUNS

    def __init__(self, folder: Path, faults: Sequence[tuple[Fault, bool]]) -> None:
        super().__init__(folder)
        inputs = folder / "inputs"
        inputs.mkdir()
        self.runs: list[Run] = [kind(inputs) for kind in self.RUNS]
        self.expected: list[dict[str, bytes]] = []
        self.cases: list[tuple[int, int, str, Fault, bool]] = []
        for i, run in enumerate(self.runs):
            calls = self.count_calls(run)
            self.cases += [(i, n, call, *fault) for n, call in enumerate(calls) for fault in faults]
        self.n_cases = len(self.cases)

    def count_calls(self, run: Run) -> list[str]:
        """Run once undisturbed, keep the results, and return the calls."""
        folder, output, log = self.new_folder(), self.folder / "output", self.folder / "calls"
        log.unlink(missing_ok=True)
        run.prepare(folder)

        def work() -> None:
            with failing_calls(folder, Fault.COUNT, NEVER, NEVER, log):
                run.start(folder)

        status = os.waitpid(in_child(work, output), 0)[1]
        if status != 0:
            raise Failure(f"{run.name} ended with status {status}:\n{output.read_text()}")
        self.expected.append(run.results(folder))
        return [line.partition(" ")[2] for line in log.read_text().splitlines()]

    def run(self, number: int, dice: random.Random) -> None:
        which, call, name, fault, lasting = self.cases[number]
        run, folder, output = self.runs[which], self.new_folder(), self.folder / "output"
        run.prepare(folder)

        def work() -> None:
            with failing_calls(folder, fault, call, NEVER if lasting else call):
                run.start(folder)

        status = os.waitpid(in_child(work, output), 0)[1]
        what = f"{run.name}, {fault.name}{' from then on' if lasting else ''} at call {call} ({name}): "
        try:
            self.check_end(run, status, output.read_text(errors="replace"), fault)
            run.check_between(folder)
            run_undisturbed(run, folder, output)
            compare(run, folder, self.expected[which])
        except Failure as failure:
            raise Failure(what + str(failure)) from None
        except Exception as error:
            raise Failure(f"{what}{error!r}") from error

    def check_end(self, run: Run, status: int, output: str, fault: Fault) -> None:
        """Raise Failure unless the disturbed process ended as documented."""
        if os.WIFSIGNALED(status):
            if fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER):
                return
            raise Failure(f"ended by signal {os.WTERMSIG(status)}:\n{output}")
        if os.WEXITSTATUS(status) == 0 or not run.prints_one_line:
            return
        if os.WEXITSTATUS(status) != 1 or "Traceback" in output:
            raise Failure(f"ended with code {os.WEXITSTATUS(status)}:\n{output}")
        if not any(str(self.folder) in line and "errno" not in line.lower() for line in output.splitlines()):
            raise Failure(f"the message does not name the file: {output}")

    def new_folder(self) -> Path:
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder
