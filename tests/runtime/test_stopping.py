import signal
import threading

import numpy as np
import pytest

from anystream.connectors.memory import MemorySink, MemorySource
from anystream.runtime import DeadlineShare, Engine, stop_on_signals
from runtime.harness import simulated_engine
from runtime.models import Threshold


def test_after_a_stop_the_records_that_were_taken_are_classified_and_acknowledged():
    times = np.arange(1000) * 0.002
    engine, sink, _, _ = simulated_engine(times, scheduler=DeadlineShare(), capacity=1000)
    engine.watch(lambda turn: engine.stop() if turn.summary.answered >= 100 else None)
    summary = engine.run()
    assert 100 <= summary.answered < 1000
    assert summary.taken == summary.answered == len(sink)
    assert engine.source._source.acknowledged == summary.taken


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_engine_gracefully(number):
    before = signal.getsignal(number)
    engine, sink, _, _ = simulated_engine(np.arange(1000) * 0.002, scheduler=DeadlineShare(), capacity=1000)
    engine.watch(
        lambda turn: signal.raise_signal(number) if 50 <= turn.summary.answered < 900 and not engine.stopping else None
    )
    with stop_on_signals(engine):
        summary = engine.run()
    assert summary.taken == len(sink) < 1000
    assert signal.getsignal(number) is before


def test_an_idle_engine_in_another_thread_can_be_stopped():
    class SilentSource(MemorySource):
        done = False

        def wait(self, seconds):
            started.set()

    started = threading.Event()
    engine = Engine(Threshold(), SilentSource(np.empty((0, 1))), MemorySink())
    worker = threading.Thread(target=engine.run)
    worker.start()
    started.wait(10.0)
    engine.stop()
    worker.join(10.0)
    assert not worker.is_alive()
