"""Native work in a thread with a progress bar."""

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
