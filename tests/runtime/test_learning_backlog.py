"""A model that learns more slowly than labels come: the engine waits for it, or drops labels and counts them."""

import threading
from itertools import pairwise

import numpy as np
import pytest

from anystream.connectors.memory import MemoryDeadLetters, MemoryLabels, MemorySink, MemorySource
from anystream.neighbors import AnytimeNeighborsClassifier
from anystream.runtime import BackgroundLearner, Engine, FixedBudget, InlineLearner, LabelMatcher, RecordQueue, Records
from runtime.models import Recorder


class Gated(Recorder):
    """Learns nothing until the gate is open."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()

    def snapshot(self):
        return self

    def partial_fit(self, X, y):
        self.gate.wait()
        self.classes_ = np.union1d(self.classes_, y)
        super().partial_fit(X, y)


class Backlog(BackgroundLearner):
    """Records the longest backlog."""

    longest = 0

    def submit(self, records):
        super().submit(records)
        self.longest = max(self.longest, self._n_unlearned)


def run(model, overflow, *, n=3000, later=False, open_when):
    X = -np.arange(float(n))[:, None]
    labels = [i % 2 for i in range(n)]
    learner = Backlog(model, share=1.0, capacity=200, overflow=overflow)

    def observe(turn):
        if open_when(turn):
            model.gate.set()

    engine = Engine(
        learner,
        MemorySource(X, None if later else labels),
        MemorySink(),
        scheduler=FixedBudget(1),
        queue=RecordQueue(100),
        within_s=1000.0,
        labels=MemoryLabels(list(enumerate(labels))) if later else None,
        matcher=LabelMatcher(50),
        observer=observe,
    )
    return engine.run(), learner


@pytest.mark.parametrize("later", [False, True], ids=["with records", "later"])
def test_a_full_learner_stops_the_intake_but_not_the_answers_and_nothing_is_lost(later):
    model = Gated()
    answered = []

    def idle(turn):  # everything that was taken is answered, and nothing more is taken
        answered.append(turn.summary.answered)
        return turn.batch_size == 0

    summary, learner = run(model, "block", later=later, open_when=idle)
    assert answered[-1] == 3000 == summary.answered == summary.on_time
    assert 200 <= min(count for count, after in pairwise(answered) if count == after) < 3000
    assert learner.longest <= 200 + 100 + 2 * 50
    assert sorted(model.learned, reverse=True) == [(-float(i), i % 2) for i in range(3000)]
    assert summary.learning_blocked_s > 0.0
    assert summary.to_json()["learning_blocked_s"] >= 0.0
    assert summary.learning_dropped == 0


def test_a_full_learner_that_drops_never_stops_the_intake_and_the_drops_are_counted():
    model = Gated()
    summary, learner = run(model, "drop", open_when=lambda turn: turn.summary.answered == 3000)
    assert summary.answered == 3000
    assert learner.longest <= 200
    assert summary.learning_dropped == summary.to_json()["learning_dropped"] == 3000 - len(model.learned) >= 2600
    assert learner.learned == len(model.learned)
    assert summary.learning_blocked_s == 0.0


def test_an_error_of_a_full_learner_ends_the_run():
    class Broken(Gated):
        def partial_fit(self, X, y):
            self.gate.wait()
            raise MemoryError("full")

    with pytest.raises(MemoryError, match="full"):
        run(Broken(), "block", open_when=lambda turn: turn.batch_size == 0)


def test_a_model_of_its_maximum_size_learns_no_more_and_what_it_misses_is_counted():
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    X = rng.normal(size=(20_000, 2)) + 3.0 * y[:, None]
    model = AnytimeNeighborsClassifier(n_jobs=1).fit(X[:100], y[:100])
    limit = 3 * model.memory_bytes_
    learner = BackgroundLearner(model, share=1.0, capacity=100, max_model_bytes=limit)
    engine = Engine(
        learner, MemorySource(X, y.tolist()), MemorySink(), scheduler=FixedBudget(1), queue=RecordQueue(100)
    )
    summary = engine.run()
    assert summary.answered == 20_000
    assert limit <= learner.model.memory_bytes_ < 2.5 * limit  # memory grows by doubling
    assert summary.learning_oversized == summary.to_json()["learning_oversized"] > 0
    assert summary.learning_oversized + learner.learned == 20_000


def test_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="max_model_bytes is 0"):
        BackgroundLearner(Gated(), max_model_bytes=0)
    with pytest.raises(ValueError, match="capacity is 0"):
        BackgroundLearner(Gated(), capacity=0)
    with pytest.raises(ValueError, match="overflow is 'lose'; use one of block, drop"):
        BackgroundLearner(Gated(), overflow="lose")
    for learner in (InlineLearner, BackgroundLearner):
        with pytest.raises(ValueError, match="max_classes is 0"):
            learner(Gated(), max_classes=0)


@pytest.mark.parametrize("make", [InlineLearner, BackgroundLearner])
def test_a_stream_adds_new_classes_up_to_a_maximum_and_the_others_are_dead_letters(make):
    model = Gated()
    model.gate.set()
    dead_letters = MemoryDeadLetters()
    n = 100
    source = MemorySource(-np.arange(float(n))[:, None], list(range(n)))
    engine = Engine(make(model, max_classes=10), source, MemorySink(), dead_letters=dead_letters)
    summary = engine.run()
    assert summary.answered == n
    assert sorted({label for _, label in model.learned}) == list(range(10))
    assert summary.learning_rejected == len(dead_letters.rejected) == 90
    assert dead_letters.rejected[0].reason == (
        "the label is 10, a new class, and the model has 10 classes; allowed are 10"
    )
    assert dead_letters.rejected[0].key == 10


def test_classes_that_the_model_has_already_are_always_learned():
    model = Gated()
    model.gate.set()
    learner = InlineLearner(model, max_classes=1)
    learner.submit(Records.from_features([[1.0], [2.0], [3.0]], label=[0, 1, 2]))
    learner.close()
    assert model.learned == [(1.0, 0), (2.0, 1)]
