"""Native work in a thread with a progress bar."""

import signal
import subprocess
import sys

import pytest

from anystream import progress
from anystream.progress import run_with_progress


def test_the_result_of_the_work_is_returned():
    assert run_with_progress(lambda done, stop: (done.value, stop.is_set()), total=1, description="test") == (0, False)


def test_an_error_of_the_work_is_raised_in_the_calling_thread():
    def fail(done, stop):
        raise ValueError("the work failed")

    with pytest.raises(ValueError, match="the work failed"):
        run_with_progress(fail, total=1, description="test")


def test_an_interrupt_stops_the_work(monkeypatch):
    stopped = []

    def work(done, stop):
        while not stop.is_set():
            pass
        stopped.append(True)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(progress, "BAR_DELAY_S", 0.01)
    monkeypatch.setattr(sys, "stderr", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr(progress, "_show_bar", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_with_progress(work, total=1, description="test")
    assert stopped == [True]


INTERRUPTED_WORK = """
import signal, time
from anystream.progress import run_interruptibly

def work():
    time.sleep(1.0)
    print("ended", flush=True)

signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    run_interruptibly(work)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers for signals")
def test_a_process_waits_at_its_exit_for_work_that_cannot_be_stopped():
    command = [sys.executable, "-P", "-c", INTERRUPTED_WORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["interrupted", "ended"]
