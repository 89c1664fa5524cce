import json

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.memory import MemoryDeadLetters, MemoryLabels, MemorySink, MemorySource
from anystream.runtime import (
    BackgroundLearner,
    CheckpointError,
    CheckpointFolder,
    Engine,
    FixedBudget,
    InlineLearner,
    MachineCost,
    RecordQueue,
    SimulatedClock,
    SimulatedModel,
)


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + 2.0 * labels[:, None], labels


class CrashError(Exception):
    pass


def crash_after(n_answered):
    def observe(turn):
        if n_answered is not None and turn.summary.answered >= n_answered:
            raise CrashError

    return observe


def test_a_run_that_crashes_anywhere_continues_even_if_records_overtake_each_other(tmp_path):
    """Deadlines of their own make records overtake each other; none is lost and none classified twice."""
    X, y = data(300)
    deadlines = np.random.default_rng(1).uniform(0.0, 1.0, 300) + np.arange(300) * 0.01

    def run(folder, crash_at=None):
        clock = SimulatedClock()
        checkpoint = CheckpointFolder(folder, every_records=7, every_s=1e9)
        state = checkpoint.load()
        model = BayesTreeClassifier(n_jobs=1).fit(*data(60, seed=2)) if state is None else state.model
        engine = Engine(
            InlineLearner(SimulatedModel(model, clock, MachineCost(1e-4, 1e-3, 1e-4)), every=5),
            MemorySource(X, y.tolist(), deadline=deadlines),
            sink,
            scheduler=FixedBudget(3),
            queue=RecordQueue(40),
            checkpoint=checkpoint,
            clock=clock,
            max_records=3,
            observer=crash_after(crash_at),
        )
        if state is None:
            sink.rewind(0)  # a file would be emptied
        else:
            engine.resume(state)
        return engine.run()

    sink = MemorySink()
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / ".anystream-0123456789abcdef.tmp").write_bytes(b"a model that was being written")
    for crash_at in (4, 30, 31, 100, 222, 290):
        with pytest.raises(CrashError):
            run(tmp_path / "c", crash_at)
    summary = run(tmp_path / "c")
    assert sorted(sink.column("key").tolist()) == list(range(300))
    assert summary.taken == summary.answered == summary.labelled == summary.judged == 300
    assert len(list((tmp_path / "c").iterdir())) == 3, "one checkpoint and nothing else"


def test_pending_labels_their_counts_and_unlearned_records_survive_a_crash(tmp_path):
    X, y = data(60)
    pairs = [(f"r{i}", int(y[i])) for i in range(0, 60, 2)] + [("unknown", 1)]

    def run(folder, sink, crash_at=None):
        checkpoint = CheckpointFolder(folder, every_records=10, every_s=1e9)
        state = checkpoint.load()
        model = BayesTreeClassifier(n_jobs=1).fit(*data(60, seed=2)) if state is None else state.model
        learner = InlineLearner(model, every=25)
        engine = Engine(
            learner,
            MemorySource(X, key=[f"r{i}" for i in range(60)]),
            sink,
            scheduler=FixedBudget(3),
            labels=MemoryLabels(pairs),
            dead_letters=MemoryDeadLetters(),
            checkpoint=checkpoint,
            max_records=10,
            observer=crash_after(crash_at),
        )
        if state is not None:
            engine.resume(state)
        return engine.run(), learner

    calm, fire = MemorySink(), MemorySink()
    expected, calm_learner = run(tmp_path / "calm", calm)
    for crash_at in (20, 40):
        with pytest.raises(CrashError):
            run(tmp_path / "fire", fire, crash_at)
    found, fire_learner = run(tmp_path / "fire", fire)
    names = [name for name in expected.state() if name.startswith(("label", "unlabelled"))]
    assert {name: getattr(found, name) for name in names} == {name: getattr(expected, name) for name in names}
    assert (found.labels_received, found.labels_matched, found.labels_pending, found.unlabelled_pending) == (
        31,
        30,
        1,
        30,
    )
    assert fire_learner.learned == calm_learner.learned == 30
    np.testing.assert_array_equal(fire.column("proba"), calm.column("proba"))


def test_a_run_can_continue_with_another_kind_of_learner(tmp_path):
    X, y = data(40)
    checkpoint = CheckpointFolder(tmp_path)
    model = BayesTreeClassifier().fit(X, y)
    Engine(model, MemorySource(X[:20]), MemorySink(), checkpoint=checkpoint).run()
    state = checkpoint.load()
    learner = BackgroundLearner(state.model)
    engine = Engine(learner, MemorySource(X, y.tolist()), MemorySink(), checkpoint=checkpoint)
    engine.resume(state)
    assert engine.run().answered == 40
    assert learner.learned == 20


def test_a_folder_without_a_checkpoint_or_with_a_damaged_one(tmp_path):
    folder = CheckpointFolder(tmp_path)
    assert folder.load() is None
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"cannot be read .* remove the folder to start from scratch"):
        folder.load()
    (tmp_path / "state.json").write_text(json.dumps({"version": 99}))
    with pytest.raises(CheckpointError, match="version 99"):
        folder.load()
    (tmp_path / "state.json").write_text(json.dumps({"version": 2}))
    with pytest.raises(CheckpointError, match="cannot be read"):
        folder.load()


def test_only_the_files_of_the_last_checkpoint_stay(tmp_path):
    X, y = data(100)
    model = BayesTreeClassifier().fit(X, y)
    checkpoint = CheckpointFolder(tmp_path, every_records=10, every_s=1e9, notes={"mine": 1})
    Engine(model, MemorySource(X), MemorySink(), checkpoint=checkpoint, scheduler=FixedBudget(1), max_records=10).run()
    assert len(list(tmp_path.iterdir())) == 3
    assert checkpoint.load().summary["answered"] == 100


def test_an_interval_out_of_range_is_refused(tmp_path):
    with pytest.raises(ValueError, match="every_records is 0"):
        CheckpointFolder(tmp_path, every_records=0)
    with pytest.raises(ValueError, match="every_s is 0"):
        CheckpointFolder(tmp_path, every_s=0.0)
