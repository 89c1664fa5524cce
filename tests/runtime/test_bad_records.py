"""The engine rejects a record only for errors that are about records; every other error stops the run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anystream.anytime.errors import RecordError
from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.memory import MemoryDeadLetters, MemorySink, MemorySource
from anystream.model_file import ModelFileError
from anystream.models import load
from anystream.runtime import (
    BadRecordError,
    Engine,
    FixedBudget,
    GainTable,
    MarginalGain,
    PollResult,
    RejectedRecord,
)
from runtime.harness import simulated_engine
from runtime.models import REFUSED, Threshold


def run(model, X, **options):
    sink, dead_letters = MemorySink(), MemoryDeadLetters()
    engine = Engine(model, MemorySource(X), sink, scheduler=FixedBudget(3), dead_letters=dead_letters, **options)
    return engine.run(), sink, dead_letters


class HalfMalformed(MemorySource):
    def poll(self, max_records):
        records, _ = super().poll(max_records)
        return PollResult(records.take(slice(1, None)), [RejectedRecord("torn", 0, 1)] if len(records) else [])


def test_a_strict_engine_stops_at_the_first_malformed_record():
    source = HalfMalformed(np.ones((5, 1)))
    with pytest.raises(BadRecordError, match="line 1: torn") as stopped:
        Engine(Threshold(), source, MemorySink(), strict=True).run()
    assert stopped.value.rejected.line == 1


def test_a_strict_engine_stops_at_the_first_record_that_the_model_refuses():
    with pytest.raises(BadRecordError, match="a record has the value 666"):
        run(Threshold(), np.array([[1.0], [REFUSED]]), strict=True)


@given(st.sets(st.integers(0, 49), max_size=50))
def test_refused_records_are_found_among_the_others_which_are_classified_in_order(refused):
    X = np.ones((50, 1))
    X[list(refused)] = REFUSED
    summary, sink, dead_letters = run(Threshold(), X)
    assert sink.column("key").tolist() == [row for row in range(50) if row not in refused]
    assert [rejected.key for rejected in dead_letters.rejected] == sorted(refused)
    assert all("has the value 666" in rejected.reason for rejected in dead_letters.rejected)
    assert summary.dead_letters == len(refused)


def test_a_record_that_is_refused_in_the_second_round_is_found_too():
    class RefusesDeepWork(Threshold):
        def classify(self, X, *, budget):
            if budget.steps and np.any(X[:, 0] == 5.0):
                raise RecordError("a record has the value 5")
            return super().classify(X, budget=budget)

    table = GainTable((0, 16), np.full((1, 9), 0.5), np.full((1, 2, 10), 0.4), np.array([0.5, 0.9]))
    X = np.where(np.arange(40) == 7, 5.0, 1.0)[:, None]
    model = RefusesDeepWork()
    engine, sink, dead_letters, _ = simulated_engine(
        np.zeros(40), scheduler=MarginalGain(table), within_s=0.6, capacity=100, X=X, model=model
    )
    engine.run()
    assert any(steps == 16 for _, steps in model.calls), "there was a second round"
    assert sorted(sink.column("key").tolist() + [rejected.key for rejected in dead_letters.rejected]) == list(range(40))


def test_invalid_values_are_rejected_before_the_model_is_called():
    X = np.array([[1.0], [np.inf], [np.nan]])
    summary, sink, dead_letters = run(Threshold(), X)
    assert sink.column("key").tolist() == [0, 2]
    assert [rejected.reason for rejected in dead_letters.rejected] == [
        "a feature is infinite; use NaN for a missing value"
    ]
    assert summary.first_bad == ["the record at offset 1: a feature is infinite; use NaN for a missing value"]


def test_missing_values_are_rejected_where_the_model_takes_none():
    from sklearn.utils import Tags
    from sklearn.utils._tags import InputTags, TargetTags

    class TakesNoMissing(Threshold):
        def __sklearn_tags__(self):
            return Tags(None, TargetTags(required=True), input_tags=InputTags(allow_nan=False))

    _, sink, dead_letters = run(TakesNoMissing(), np.array([[1.0], [np.nan], [2.0]]))
    assert sink.column("key").tolist() == [0, 2]
    assert [rejected.reason for rejected in dead_letters.rejected] == [
        "a feature is missing, and the model takes no missing values"
    ]


def test_records_with_another_number_of_features_are_rejected():
    summary, sink, dead_letters = run(Threshold(n_features=2), np.ones((3, 1)))
    assert (summary.dead_letters, len(sink)) == (3, 0)
    assert dead_letters.rejected[0].reason == "the record has 1 features, the model was fitted on 2"


class Failing(Threshold):
    """Fails at the first batch after the warm-up."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def classify(self, X, *, budget):
        if np.any(X):
            raise self.error
        return super().classify(X, budget=budget)


@pytest.mark.parametrize(
    "error",
    [
        ModelFileError("model.safetensors: the node 17 is damaged; restore the file from a copy"),
        ValueError("operands could not be broadcast together"),
        TypeError("an integer is required"),
    ],
)
def test_an_error_that_is_not_about_records_stops_the_run(error):
    sink, dead_letters = MemorySink(), MemoryDeadLetters()
    engine = Engine(Failing(error), MemorySource(np.ones((20, 1))), sink, dead_letters=dead_letters)
    with pytest.raises(type(error), match=str(error)):
        engine.run()
    assert (len(sink), dead_letters.rejected, engine.summary.dead_letters) == (0, [], 0)


def test_a_memory_mapped_model_that_changes_while_it_is_in_use_stops_the_run(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 3)) + y[:, None]
    path = tmp_path / "model.safetensors"
    BayesTreeClassifier(bandwidth="f0.1").fit(X, y).save(path)

    answered = []

    def damage(turn):
        answered.append(turn.summary.answered)
        first_array = 8 + int.from_bytes(path.read_bytes()[:8], "little")
        with open(path, "r+b") as file:  # the mapped pages change with the file
            file.seek(first_array)
            file.write(b"\x7f" * (path.stat().st_size - first_array))

    sink, dead_letters = MemorySink(), MemoryDeadLetters()
    engine = Engine(
        load(path, mmap=True),
        MemorySource(X[:50]),
        sink,
        scheduler=FixedBudget(None),
        dead_letters=dead_letters,
        max_records=10,
        observer=damage,
    )
    with pytest.raises(ModelFileError, match="the file was changed while it was mapped"):
        engine.run()
    assert 0 < len(sink) == max(answered) <= 10, "no answer after the change"
    assert dead_letters.rejected == []
