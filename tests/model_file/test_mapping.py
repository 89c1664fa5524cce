"""Mapped models whose files change in place: an error, never a signal, never a result from the changed file."""

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest

from anystream import AnytimeNeighborsClassifier, BayesTreeClassifier, ModelFileError, load
from anystream.drift import WCEA
from anystream.model_file import read_model, write_model

PLAIN = {"metric": None, "root_model": None, "bandwidth": "f0.1"}
MAPPED = {
    "Bayes tree": lambda: BayesTreeClassifier(**PLAIN),
    "Bayes tree with covariances": lambda: BayesTreeClassifier(covariance=2, **PLAIN),
    "ordered neighbours": lambda: AnytimeNeighborsClassifier(),
    "inverted neighbours": lambda: AnytimeNeighborsClassifier(search="inverted"),
    "Gower neighbours": lambda: AnytimeNeighborsClassifier(metric="gower"),
    "DTW neighbours": lambda: AnytimeNeighborsClassifier(metric="dtw"),
    "ensemble of Bayes trees": lambda: WCEA(BayesTreeClassifier(**PLAIN), chunk_size=100),
}


def labelled(n=400, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return random.normal(size=(n, 3)) + y[:, None], y


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.safetensors"
    BayesTreeClassifier(**PLAIN).fit(*labelled(3000)).save(path)
    return path


def write_in_place(path, position, data):
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(data)


@pytest.mark.parametrize("call", ["classify", "predict_one", "query", "staged"])
def test_a_truncated_file_raises_an_error_in_every_call(path, call):
    X, _ = labelled(5)
    model = load(path, mmap=True)
    calls = {
        "classify": lambda: model.classify(X, budget=10**6),
        "predict_one": lambda: model.predict_one(dict(enumerate(X[0]))),
        "query": lambda: model.query(X[0]),
        "staged": lambda: list(model.staged_predict(X, stages=[1, 10])),
    }
    calls[call]()
    os.truncate(path, 0)
    for _ in range(2):
        with pytest.raises(ModelFileError, match="the file was changed while it was mapped; load the model again"):
            calls[call]()


def test_a_file_truncated_during_a_call_gives_an_error_and_no_result(path, monkeypatch):
    X, _ = labelled(50)
    model = load(path, mmap=True)
    classify_records = BayesTreeClassifier.classify_records

    def truncate_first(self, records, budget):
        os.truncate(path, 0)
        return classify_records(self, records, budget)

    monkeypatch.setattr(BayesTreeClassifier, "classify_records", truncate_first)
    with pytest.raises(ModelFileError, match=r"changed while it was mapped|damaged"):
        model.predict_proba(X, budget=10**6)


def test_pages_of_a_truncated_file_are_zeros(tmp_path):
    path = tmp_path / "file"
    write_model(path, kind="k", version=1, metadata={}, arrays={"x": np.ones(100_000)})
    file = read_model(path, mmap=True)
    file.watch.check()
    os.truncate(path, 50_000)
    assert 0 < file.arrays["x"].sum() < 100_000
    with pytest.raises(ModelFileError, match="changed while it was mapped"):
        file.watch.check()


def test_a_replaced_or_renamed_file_is_no_change(path):
    X, _ = labelled(20)
    model = load(path, mmap=True)
    before = model.predict_proba(X)
    path.chmod(0o600)
    path.rename(path.with_name("old"))
    BayesTreeClassifier(**PLAIN).fit(*labelled(100, seed=1)).save(path)
    path.with_name("old").unlink()
    assert np.array_equal(model.predict_proba(X), before)


def test_copies_and_models_fitted_again_do_not_depend_on_the_file(path):
    X, y = labelled(50)
    model, refitted = load(path, mmap=True), load(path, mmap=True)
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = model.predict_proba(X)
    refitted.fit(X, y)
    gc.collect()
    write_in_place(path, os.path.getsize(path) // 2, b"\x7f" * 1000)
    for twin in twins:
        assert np.array_equal(twin.predict_proba(X), expected)
    refitted.predict(X)
    with pytest.raises(ModelFileError, match="changed"):
        model.snapshot().predict(X)


@pytest.mark.parametrize("kind", MAPPED)
def test_any_content_that_a_mapped_file_changes_to_is_safe(tmp_path, kind):
    X, y = labelled()
    path = tmp_path / "model.safetensors"
    MAPPED[kind]().fit(X, y).save(path)
    header = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    intact = path.read_bytes()[header:]
    random = np.random.default_rng(1)
    model = load(path, mmap=True)
    model._file_watch = None  # otherwise no call would reach the native code
    garbage = [b"\xff", b"\x00", b"\x7f", b"\x80\xff\xff\xff", random.bytes(64)]
    for trial in range(25):
        begin, end = (0, len(intact)) if trial < len(garbage) else sorted(random.integers(0, len(intact), 2))
        filler = garbage[trial % len(garbage)] * (end - begin)
        write_in_place(path, header, intact[:begin] + filler[: end - begin] + intact[end:])
        for budget in (0, 5, 10**6):
            try:
                model.predict_proba(X[:20], budget=budget)
                model.query(X[0]).refine(budget)
            except ModelFileError:
                pass


@pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers turn the signal into an exit code")
@pytest.mark.parametrize("handler", ["", "import faulthandler; faulthandler.enable();"])
def test_a_bus_error_elsewhere_still_ends_the_process(path, tmp_path, handler):
    script = f"""
import mmap, os, sys
from anystream.model_file import read_model
{handler}
model = read_model(sys.argv[1], mmap=True)
with open(sys.argv[2], "w+b") as file:
    file.write(bytes(100_000))
    file.flush()
    other = mmap.mmap(file.fileno(), 100_000)
    os.truncate(sys.argv[2], 0)
    other[50_000]
"""
    command = [sys.executable, "-c", script, str(path), str(tmp_path / "other")]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -signal.SIGBUS


def test_faulthandler_enabled_later_does_not_turn_a_truncated_model_into_a_crash(path):
    script = """
import faulthandler, os, sys
from anystream import ModelFileError, load
model = load(sys.argv[1], mmap=True)
faulthandler.enable()
os.truncate(sys.argv[1], 0)
model._file_watch, watch = None, model._file_watch
try:
    model.predict([[0.0, 0.0, 0.0]], budget=1000)
    watch.check()
except ModelFileError:
    print("error")
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "error\n")
