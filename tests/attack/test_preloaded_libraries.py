"""The preloaded libraries make the calls fail that they are told to, and no others."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from attack.failing_allocations import each_failing_allocation, run_with_failing_allocations
from attack.failing_calls import NEVER, Fault, failing_calls
from attack.preload import compiler, preloaded

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="needs Linux and a C++ compiler"),
    pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="has its own malloc"),
]


def test_every_allocation_of_the_native_core_can_be_made_to_fail():
    done = run_with_failing_allocations(__file__)
    assert done.returncode == 0, done.stderr
    made, raised, learned = map(int, done.stdout.split())
    assert made > 10
    assert raised > 0.9 * made  # work that can be postponed may swallow the error
    assert raised + learned == made + 1


def fit_with_failing_allocations() -> None:
    """Print how many allocations a fit makes, and how many fits raised MemoryError and how many did not."""
    import numpy as np

    from anystream.subspace import LocustClassifier

    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    cases = []
    for case in each_failing_allocation():
        cases.append(case)
        with case:
            LocustClassifier().fit(X, y)
    raised = sum(case.raised is not None for case in cases)
    print(cases[0].made, raised, len(cases) - raised)


CALLS = ["open", "write", "fsync", "rename"]  # of write_files, in this order


def write_files(folder: Path, fault: Fault, first: int, last: int) -> None:
    """Make the four calls below the folder, each of them one of CALLS, with a fault; write elsewhere as well."""
    with failing_calls(folder, fault, first, last, folder.with_name("log")):
        for place in (folder.parent, folder):
            file = os.open(place / "file", os.O_WRONLY | os.O_CREAT)
            print("wrote", os.write(file, b"12345678"), flush=True)
            os.fsync(file)
            os.close(file)
            os.rename(place / "file", place / "other")


def run_with_fault(tmp_path, fault, first, last):
    """Return a process that ran `write_files`, the files that it left, and the calls that it made."""
    folder = tmp_path / "folder"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-P", __file__, str(folder), str(int(fault)), str(first), str(last)],
        env=preloaded("failing_calls.cpp"),
        capture_output=True,
        text=True,
        check=False,
    )
    left = {file.name: file.read_bytes() for file in folder.iterdir()}
    return done, left, [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()]


def test_the_calls_below_a_folder_are_counted_and_succeed(tmp_path):
    done, left, calls = run_with_fault(tmp_path, Fault.COUNT, 0, NEVER)
    assert done.returncode == 0, done.stderr
    assert left == {"other": b"12345678"}
    assert [next(name for name in CALLS if name in call) for call in calls] == CALLS


@pytest.mark.parametrize(("fault", "number"), [(Fault.NO_SPACE, errno.ENOSPC), (Fault.INPUT_OUTPUT_ERROR, errno.EIO)])
@pytest.mark.parametrize("call", range(len(CALLS)))
def test_one_call_fails_and_the_ones_before_it_have_happened(tmp_path, fault, number, call):
    done, left, calls = run_with_fault(tmp_path, fault, call, call)
    assert done.returncode == 1
    assert f"[Errno {number}]" in done.stderr
    assert len(calls) == call + 1
    assert left == [{}, {"file": b""}, {"file": b"12345678"}, {"file": b"12345678"}][call]


@pytest.mark.parametrize("call", range(len(CALLS)))
def test_the_process_is_killed_before_or_after_one_call(tmp_path, call):
    before_and_after = [{}, {"file": b""}, {"file": b"12345678"}, {"file": b"12345678"}, {"other": b"12345678"}]
    for after in (False, True):
        fault = Fault.KILL_AFTER if after else Fault.KILL_BEFORE
        (tmp_path / fault.name).mkdir()
        done, left, _ = run_with_fault(tmp_path / fault.name, fault, call, call)
        assert done.returncode == -signal.SIGKILL
        assert left == before_and_after[call + after]


def test_a_short_write_writes_half(tmp_path):
    done, left, _ = run_with_fault(tmp_path, Fault.SHORT_WRITE, 1, 1)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["wrote", "8", "wrote", "4"]
    assert left == {"other": b"1234"}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_files(Path(sys.argv[1]), Fault(int(sys.argv[2])), int(sys.argv[3]), int(sys.argv[4]))
    else:
        fit_with_failing_allocations()
