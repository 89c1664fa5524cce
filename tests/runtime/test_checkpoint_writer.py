"""Checkpoints are saved beside the answers, and one that fails costs nothing but itself."""

import errno
import threading

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.memory import MemorySink, MemorySource
from anystream.runtime import BackgroundLearner, CheckpointFolder, Engine, FixedBudget, InlineLearner, SimulatedClock


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 2.0 * labels[:, None], labels


class GatedFolder(CheckpointFolder):
    """A folder on a disk that stops at the first checkpoint until the gate is opened."""

    def __init__(self, path):
        super().__init__(path, every_records=10, every_s=1e9, keep=1000)
        self.gate = threading.Event()
        self.saving = []

    def save(self, state):
        self.saving.append(state)
        assert self.gate.wait(20.0)
        super().save(state)


class FullDisk(CheckpointFolder):
    """A folder on a disk that is full for the checkpoints with these numbers, from 1."""

    def __init__(self, path, full, reports, **options):
        super().__init__(path, every_records=10, every_s=1e9, report=reports.append, **options)
        self.full = full
        self.n_saved = 0

    def save(self, state):
        self.n_saved += 1
        if self.n_saved in self.full:
            raise OSError(errno.ENOSPC, "No space left on device", str(self.path / "checkpoint"))
        super().save(state)


def engine_with(model, source, sink, folder, observer=None):
    return Engine(
        model,
        source,
        sink,
        scheduler=FixedBudget(2),
        checkpoint=folder,
        clock=SimulatedClock(),
        max_records=5,
        observer=observer,
    )


def test_records_are_classified_while_a_checkpoint_is_saved_and_acknowledged_when_it_is_on_disk(tmp_path):
    X, y = data(200)
    folder, source = GatedFolder(tmp_path), MemorySource(X)
    acknowledged = []

    def observe(turn):
        if turn.summary.answered >= 150 and not acknowledged:
            acknowledged.append(source.acknowledged)
            folder.gate.set()

    summary = engine_with(BayesTreeClassifier(n_jobs=1).fit(X, y), source, MemorySink(), folder, observe).run()
    assert summary.answered == 200
    assert acknowledged == [0], "140 records were classified after the checkpoint had begun, none was acknowledged"
    assert folder.saving[0].summary["answered"] == 10
    assert source.acknowledged == 200


@pytest.mark.parametrize("make_learner", [InlineLearner, BackgroundLearner])
def test_a_checkpoint_holds_one_instant_even_if_it_is_written_later(tmp_path, make_learner):
    """The model learns on while a checkpoint waits for the disk; the checkpoint has the model of its instant."""
    X, y = data(400)
    folder = GatedFolder(tmp_path)
    expected = []

    def observe(turn):
        if folder.saving and not expected:
            expected.append(folder.saving[0].model.predict_proba(X[:50], budget=3))
        if turn.summary.answered >= 300:
            folder.gate.set()

    learner = make_learner(BayesTreeClassifier(n_jobs=1).fit(*data(60, seed=2)))
    engine = engine_with(learner, MemorySource(X, y.tolist()), MemorySink(), folder, observe)
    engine.run()
    assert learner.learned == 400
    first = folder.saving[0]
    for path in tmp_path.glob("checkpoint-*[0-9].safetensors"):
        if path.name != "checkpoint-1.safetensors":
            path.unlink()
    with CheckpointFolder(tmp_path) as again:
        state = again.load()
    assert state.summary == first.summary
    assert state.learner["learned"] + len(state.learner["labels"]) == state.summary["answered"] < 300
    np.testing.assert_array_equal(state.model.predict_proba(X[:50], budget=3), expected[0])


def test_a_model_is_written_again_only_after_it_has_learned(tmp_path):
    X, y = data(100)
    labels = [int(label) if i < 50 else None for i, label in enumerate(y)]
    learner = InlineLearner(BayesTreeClassifier(n_jobs=1).fit(X, y), every=25)
    folder = CheckpointFolder(tmp_path, every_records=1, every_s=1e9, keep=1000)
    engine = engine_with(learner, MemorySource(X, labels), MemorySink(), folder)
    engine.watch(lambda turn: engine._writer._thread is None or engine._writer._thread.join())
    engine.run()
    states, models = (len(list(tmp_path.glob(f"checkpoint-*{end}.safetensors"))) for end in ("[0-9]", "-model"))
    assert (states > 6, models) == (True, 3), "as it was given, and after 25 and 50 records"


def test_a_checkpoint_that_fails_is_reported_and_does_not_end_the_run(tmp_path):
    X, y = data(100)
    reports, source, sink = [], MemorySource(X), MemorySink()
    folder = FullDisk(tmp_path, {2, 3}, reports)
    engine = engine_with(BayesTreeClassifier().fit(X, y), source, sink, folder)
    engine.watch(lambda turn: engine._writer._thread is None or engine._writer._thread.join())
    summary = engine.run()
    assert (summary.answered, len(sink), source.acknowledged) == (100, 100, 100)
    assert (summary.checkpoints_failed, summary.checkpoint_error) == (2, "")
    assert summary.to_json()["checkpoints_failed"] == 2
    assert len(reports) == 2
    assert reports[0].startswith("a checkpoint could not be saved: ")
    assert "No space left on device" in reports[0]
    assert str(tmp_path) in reports[0]


def test_records_after_the_last_checkpoint_that_was_saved_are_not_acknowledged(tmp_path):
    X, y = data(100)
    reports, source, sink = [], MemorySource(X, y.tolist()), MemorySink()
    folder = FullDisk(tmp_path, set(range(3, 1000)), reports)
    engine = engine_with(BayesTreeClassifier().fit(X, y), source, sink, folder)
    engine.watch(lambda turn: engine._writer._thread is None or engine._writer._thread.join())
    summary = engine.run()
    assert summary.answered == len(sink) == 100
    assert 0 < source.acknowledged < 100
    assert "No space left" in summary.checkpoint_error
    folder.full = set()
    state = folder.load()
    again = engine_with(state.model, MemorySource(X, y.tolist()), sink, folder)
    again.resume(state)
    assert again.run().answered == 100
    assert sorted(sink.column("key").tolist()) == list(range(100))


def test_answers_that_cannot_be_written_to_disk_end_the_run(tmp_path):
    class LostSink(MemorySink):
        def sync(self):
            raise OSError(errno.EIO, "Input/output error", "answers.jsonl")

    X, y = data(100)
    reports, source = [], MemorySource(X)
    folder = FullDisk(tmp_path, set(), reports)
    engine = engine_with(BayesTreeClassifier().fit(X, y), source, LostSink(), folder)
    with pytest.raises(OSError, match=r"Input/output error: 'answers.jsonl'"):
        engine.run()
    assert (source.acknowledged, reports, folder.load()) == (0, [], None)


def test_a_run_that_cannot_save_a_checkpoint_when_it_is_continued_does_not_begin(tmp_path):
    X, y = data(100)
    reports, sink = [], MemorySink()
    folder = FullDisk(tmp_path, set(), reports)
    engine_with(BayesTreeClassifier().fit(X, y), MemorySource(X[:50]), sink, folder).run()
    folder.n_saved, folder.full = 0, {1}
    state = folder.load()
    again = engine_with(state.model, MemorySource(X), sink, folder)
    again.resume(state)
    with pytest.raises(OSError, match="No space left"):
        again.run()
    assert len(sink) == 50


def test_a_run_killed_right_after_it_was_continued_loses_and_repeats_nothing(tmp_path):
    """A checkpoint saved before the records of the first run are read again still knows which of them are finished."""
    X, y = data(300)
    deadline = np.random.default_rng(1).uniform(0.0, 1.0, 300)
    model, sink = BayesTreeClassifier(n_jobs=1).fit(X, y), MemorySink()

    def stop_at(n):
        def observe(turn):
            if turn.summary.answered >= n:
                raise KeyboardInterrupt

        return observe

    for n in (100, 0, 0, 101, 160, 160, 0, 1000):
        folder = CheckpointFolder(tmp_path, every_records=10, every_s=1e9)
        state = folder.load()
        source = MemorySource(X, y.tolist(), deadline=deadline)
        engine = engine_with(model if state is None else state.model, source, sink, folder, stop_at(n))
        engine.queue.capacity = 200  # so that a run is stopped before everything was read again
        if state is not None:
            engine.resume(state)
        if n < 1000:
            with pytest.raises(KeyboardInterrupt):
                engine.run()
    summary = engine.run()
    assert sorted(sink.column("key").tolist()) == list(range(300))
    assert summary.taken == summary.answered == summary.labelled == 300


def test_a_run_that_was_stopped_is_complete_in_its_last_checkpoint_and_can_be_continued(tmp_path):
    X, y = data(300)
    sink, folder = MemorySink(), CheckpointFolder(tmp_path, every_s=1e9)
    engine = engine_with(BayesTreeClassifier().fit(X, y), MemorySource(X), sink, folder)
    engine.queue.capacity = 50
    engine.watch(lambda turn: engine.stop() if turn.summary.answered >= 100 else None)
    stopped = engine.run()
    assert 100 <= stopped.answered == stopped.taken == len(sink) < 300
    state = folder.load()
    assert (state.summary["answered"], state.intake["unfinished"]) == (stopped.answered, [])
    again = engine_with(state.model, MemorySource(X), sink, folder)
    again.resume(state)
    assert again.run().answered == 300
    assert sink.column("key").tolist() == list(range(300))
