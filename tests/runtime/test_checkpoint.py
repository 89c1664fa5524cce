import os
import re
import signal

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.memory import MemoryDeadLetters, MemoryLabels, MemorySink, MemorySource
from anystream.model_file.fingerprint import read_fingerprint
from anystream.runtime import (
    BackgroundLearner,
    CheckpointError,
    CheckpointFolder,
    Engine,
    FixedBudget,
    InlineLearner,
    LabelMatcher,
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
            sink.rewind(None)  # a file would be emptied
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
    names = {re.sub("[0-9]+", "#", path.name) for path in (tmp_path / "c").iterdir()}
    assert names == {"checkpoint-#.safetensors", "checkpoint-#-model.safetensors", "lock"}


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


def run_with_checkpoints(folder, n=100, **options):
    """Classify records with a checkpoint after every ten; return the folder."""
    X, y = data(n)
    checkpoint = CheckpointFolder(folder, every_records=10, every_s=1e9, **options)
    model = BayesTreeClassifier().fit(X, y)
    Engine(model, MemorySource(X), MemorySink(), checkpoint=checkpoint, scheduler=FixedBudget(1), max_records=10).run()
    return checkpoint


def names_in(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "lock")


def change_byte(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def test_a_folder_without_a_checkpoint_has_no_state(tmp_path):
    with CheckpointFolder(tmp_path / "new") as folder:
        assert folder.load() is None


def test_the_last_checkpoints_stay_and_a_model_that_does_not_change_is_written_once(tmp_path):
    checkpoint = run_with_checkpoints(tmp_path, keep=2)
    last = max(int(re.search("[0-9]+", name)[0]) for name in names_in(tmp_path))
    assert names_in(tmp_path) == sorted(
        ["checkpoint-1-model.safetensors", f"checkpoint-{last - 1}.safetensors", f"checkpoint-{last}.safetensors"]
    )
    assert checkpoint.load().summary["answered"] == 100


def test_files_of_others_in_the_folder_stay(tmp_path):
    theirs = ["model-1.safetensors", "checkpoint-x.safetensors", "arrays-1.safetensors", "checkpoint-0.safetensors"]
    for name in theirs:
        (tmp_path / name).write_bytes(b"mine")
    run_with_checkpoints(tmp_path).clear()
    assert names_in(tmp_path) == sorted(theirs)


@pytest.mark.parametrize("place", [3, 40, -1, -2000])
def test_a_changed_byte_is_found_and_the_checkpoint_before_it_is_used(tmp_path, place):
    reports = []
    run_with_checkpoints(tmp_path, report=reports.append)
    *_, before, last = sorted(tmp_path.glob("checkpoint-*[0-9].safetensors"), key=lambda path: int(path.stem[11:]))
    change_byte(last, place)
    with CheckpointFolder(tmp_path, report=reports.append) as folder:
        assert folder.load().summary["answered"] < 100
    (report,) = reports
    assert last.name in report
    assert f"checkpoint {before.stem[11:]} is used" in report


def test_every_changed_byte_of_a_checkpoint_is_found(tmp_path):
    run_with_checkpoints(tmp_path, keep=1)
    (path,) = tmp_path.glob("checkpoint-*[0-9].safetensors")
    size = path.stat().st_size
    for place in range(0, size, 97):
        change_byte(path, place)
        with (
            CheckpointFolder(tmp_path) as folder,
            pytest.raises(CheckpointError, match=r"every checkpoint is damaged: .*; begin anew with --restart"),
        ):
            folder.load()
        change_byte(path, place)
    with CheckpointFolder(tmp_path) as folder:
        assert folder.load().summary["answered"] == 100


def test_a_damaged_or_exchanged_model_is_found(tmp_path):
    run_with_checkpoints(tmp_path, keep=1)
    (path,) = tmp_path.glob("*-model.safetensors")
    whole = path.read_bytes()
    change_byte(path, -1)
    with pytest.raises(CheckpointError, match="differs from its checksum"):
        CheckpointFolder(tmp_path).load()
    BayesTreeClassifier().fit(*data(50, seed=9)).save(path)
    with pytest.raises(CheckpointError, match="is not the model of the checkpoint"):
        CheckpointFolder(tmp_path).load()
    path.unlink()
    with pytest.raises(CheckpointError, match="No such file"):
        CheckpointFolder(tmp_path).load()
    path.write_bytes(whole)
    with CheckpointFolder(tmp_path) as folder:
        assert folder.load() is not None


def test_a_folder_is_locked_from_loading_to_the_end_of_the_run(tmp_path):
    first = run_with_checkpoints(tmp_path)
    with CheckpointFolder(tmp_path) as second:
        second.load()
        for use in (first.load, first.clear, first.lock):
            with pytest.raises(CheckpointError, match=r"another run \(process [0-9]+\) uses this folder"):
                use()
    first.load()
    first.close()


def test_a_lock_ends_with_its_process(tmp_path):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        folder = CheckpointFolder(tmp_path)
        folder.lock()
        os.write(write, b"locked")
        signal.pause()
        os._exit(1)
    try:
        os.read(read, 6)
        with pytest.raises(CheckpointError, match=f"process {child}"):
            CheckpointFolder(tmp_path).load()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(read)
    os.close(write)
    with CheckpointFolder(tmp_path) as folder:
        assert folder.load() is None


def test_a_checkpoint_of_another_run_is_refused_with_the_difference(tmp_path):
    run_with_checkpoints(tmp_path, belongs_to={"--budget": 5, "model": "abc"})
    for belongs_to, difference in (
        ({"--budget": 7, "model": "abc"}, "with --budget 5, this run has 7; give the same, or begin anew"),
        ({"--budget": 5, "model": "abc", "--label": "x"}, "with --label none, this run has 'x'"),
        ({"--budget": 5, "model": "abd"}, "with another model; give the one that the run began with"),
    ):
        with pytest.raises(CheckpointError, match=difference):
            CheckpointFolder(tmp_path, belongs_to=belongs_to).load()
    (model,) = tmp_path.glob("*-model.safetensors")
    for fingerprint in ("abc", read_fingerprint(model)):  # the model as it was given, or as it was saved
        with CheckpointFolder(tmp_path, belongs_to={"--budget": 5, "model": fingerprint}) as folder:
            assert folder.load() is not None


def test_a_run_does_not_continue_with_other_records_or_labels(tmp_path):
    X, y = data(60)

    def engine(records, pairs, folder):
        return Engine(
            InlineLearner(BayesTreeClassifier(n_jobs=1).fit(X, y)),
            MemorySource(records),
            MemorySink(),
            labels=MemoryLabels(pairs),
            checkpoint=folder,
        )

    pairs = [(i, int(y[i])) for i in range(60)]
    engine(X, pairs, CheckpointFolder(tmp_path)).run()
    other, swapped = X.copy(), [*pairs[1::-1], *pairs[2:]]
    other[3, 1] += 1e-12
    for records, labels in ((other, pairs), (X[:59], pairs), (X, swapped)):
        with CheckpointFolder(tmp_path) as folder, pytest.raises(CheckpointError, match="not those that the run has"):
            engine(records, labels, folder).resume(folder.load())
    folder = CheckpointFolder(tmp_path)
    grown = engine(np.vstack([X, X[:5]]), [*pairs, (60, 0)], folder)
    grown.resume(folder.load())
    assert grown.run().answered == 65


def test_many_megabytes_of_keys_and_many_waiting_labels_fit_into_a_checkpoint(tmp_path):
    X, y = data(20)
    keys = [f"{i:04}" + "k" * 1_000_000 for i in range(20)]
    pairs = [(f"later {i}", i % 3) for i in range(200_000)]

    def engine(folder):
        return Engine(
            InlineLearner(BayesTreeClassifier(n_jobs=1).fit(X, y)),
            MemorySource(X, key=np.array(keys, dtype=object)),
            MemorySink(),
            labels=MemoryLabels(pairs),
            matcher=LabelMatcher(200_000),
            checkpoint=folder,
            max_text=2_000_000,
        )

    assert engine(CheckpointFolder(tmp_path)).run().checkpoint_error == ""
    folder = CheckpointFolder(tmp_path)
    resumed = engine(folder)
    resumed.resume(folder.load())
    assert resumed.matcher.pending_labels == 200_000
    assert resumed.matcher.pending_records == 20
    folder.close()


def test_an_interval_out_of_range_is_refused(tmp_path):
    with pytest.raises(ValueError, match="every_records is 0"):
        CheckpointFolder(tmp_path, every_records=0)
    with pytest.raises(ValueError, match="every_s is 0"):
        CheckpointFolder(tmp_path, every_s=0.0)
    with pytest.raises(ValueError, match="keep is 0"):
        CheckpointFolder(tmp_path, keep=0)
