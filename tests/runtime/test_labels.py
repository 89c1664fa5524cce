"""Labels that come with their records, later, too early, twice, malformed or never."""

import json

import numpy as np
import pytest

from anystream.connectors.json_lines import JsonLinesSource
from anystream.connectors.label_pairs import LabelPairs
from anystream.connectors.memory import MemoryDeadLetters, MemoryLabels, MemorySink, MemorySource
from anystream.connectors.schema import Schema
from anystream.runtime import BadRecordError, Engine, FixedBudget, InlineLearner, LabelMatcher
from runtime.models import REFUSED, Recorder, Threshold


def keyed_source(n):
    return MemorySource(np.arange(float(n))[:, None], key=[f"r{i}" for i in range(n)])


def engine_with_labels(model, labels, *, n=10, **options):
    learner = InlineLearner(model, every=4 if n < 1000 else 1000)
    return Engine(learner, keyed_source(n), MemorySink(), labels=labels, scheduler=FixedBudget(1), **options)


def label_file(path, lines):
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return LabelPairs(JsonLinesSource(path, Schema((), label="label", key="key", label_type="int")))


def test_labels_that_come_with_records_are_learned_after_the_answer_in_fixed_portions():
    X, y = np.arange(100.0)[:, None], [None if i % 4 == 0 else i % 2 for i in range(100)]
    model = Recorder()
    summary = Engine(InlineLearner(model, every=10), MemorySource(X, y), MemorySink(), scheduler=FixedBudget(1)).run()
    assert model.learned == [(float(i), i % 2) for i in range(100) if i % 4]
    before = model.learned_before[-100:]
    assert before == [sum(1 for j in range(i // 10 * 10) if j % 4) for i in range(100)]
    assert summary.judged == 75


def test_later_labels_are_matched_by_key_and_the_summary_tells_which_never_were():
    model = Recorder()
    labels = MemoryLabels([(f"r{i}", i % 2) for i in (7, 3, 99)] + [("r5", 1)])
    summary = engine_with_labels(model, labels).run()
    assert sorted(model.learned) == [(3.0, 1), (5.0, 1), (7.0, 1)]
    figures = summary.to_json()
    assert (figures["labels_received"], figures["labels_matched"], figures["labels_pending"]) == (4, 3, 1)
    assert (figures["unlabelled_pending"], figures["unlabelled_evicted"], figures["labels_evicted"]) == (7, 0, 0)


def test_records_and_labels_that_the_matcher_drops_are_counted():
    labels = MemoryLabels([(f"early {i}", 1) for i in range(5)] + [("r0", 1)])
    summary = engine_with_labels(Recorder(), labels, matcher=LabelMatcher(2)).run()
    assert summary.labels_received == 6 == summary.labels_matched + summary.labels_evicted + summary.labels_pending
    assert (summary.labels_matched, summary.labels_evicted, summary.labels_pending) == (0, 4, 2)
    assert (summary.unlabelled_evicted, summary.unlabelled_pending) == (8, 2)


@pytest.mark.parametrize("capacity", [1, 300, 10_000])
def test_every_label_of_a_long_file_in_the_order_of_the_records_is_learned(capacity):
    n = 50_000 if capacity > 1 else 600
    model = Recorder()
    labels = MemoryLabels([(f"r{i}", i % 2) for i in range(n)])
    summary = engine_with_labels(model, labels, n=n, matcher=LabelMatcher(capacity)).run()
    assert sorted(model.learned) == [(float(i), i % 2) for i in range(n) if i != REFUSED]
    assert (summary.labels_received, summary.labels_matched, summary.labels_unread) == (n, len(model.learned), False)


def test_the_labels_of_every_hundredth_record_are_all_learned():
    model = Recorder()
    labels = MemoryLabels([(f"r{i}", 1) for i in range(0, 50_000, 100)])
    summary = engine_with_labels(model, labels, n=50_000, matcher=LabelMatcher(200)).run()
    assert len(model.learned) == summary.labels_matched == 500
    assert summary.labels_evicted == 0


def test_outdated_labels_are_evicted_so_that_the_next_can_be_read():
    model = Recorder()
    outdated = [(f"yesterday {i}", 0) for i in range(5000)]
    labels = MemoryLabels(outdated + [(f"r{i}", 1) for i in range(50_000)])
    summary = engine_with_labels(model, labels, n=50_000, matcher=LabelMatcher(1000)).run()
    assert summary.labels_matched == len(model.learned) > 48_000
    assert summary.labels_received == 55_000 == summary.labels_matched + summary.labels_evicted + summary.labels_pending


def test_records_with_equal_keys_are_learned_with_their_own_labels():
    model = Recorder()
    source = MemorySource(-np.arange(3000.0)[:, None], key=[f"customer {i % 7}" for i in range(3000)])
    labels = MemoryLabels([(f"customer {i % 7}", i % 2) for i in range(3000)])
    options = {"labels": labels, "matcher": LabelMatcher(100), "scheduler": FixedBudget(1)}
    summary = Engine(InlineLearner(model), source, MemorySink(), **options).run()
    assert sorted(model.learned, reverse=True) == [(-float(i), i % 2) for i in range(3000)]
    assert summary.labels_duplicated == 0


def test_a_stopped_run_leaves_the_labels_of_later_records_unread():
    labels = MemoryLabels([(f"r{i}", 1) for i in range(50_000)])
    engine = engine_with_labels(Recorder(), labels, n=50_000, max_records=100)
    engine.watch(lambda turn: engine.stop() if turn.summary.answered >= 500 else None)
    summary = engine.run()
    assert summary.labels_evicted <= 1  # that of the record which the model refused
    assert summary.labels_unread
    assert labels.offset <= summary.answered + 10_000 + 1024


def test_a_run_without_a_label_source_tells_nothing_about_labels():
    summary = Engine(InlineLearner(Recorder()), keyed_source(5), MemorySink(), scheduler=FixedBudget(1)).run()
    assert not any("label" in name for name in summary.to_json())


def test_malformed_label_records_are_counted_described_and_dead_lettered(tmp_path):
    lines = [{"key": "r1", "label": 1}, "{", {"key": "r2", "label": "word"}, {"key": "r3"}, {"label": 0}]
    model, dead_letters = Recorder(), MemoryDeadLetters()
    labels = label_file(tmp_path / "labels.jsonl", lines)
    summary = engine_with_labels(model, labels, dead_letters=dead_letters).run()
    assert model.learned == [(1.0, 1)]
    assert (summary.labels_received, summary.labels_rejected, summary.dead_letters) == (1, 4, 0)
    assert [rejected.reason for rejected in dead_letters.rejected] == [
        "label source: the line is not JSON",
        "label source: the label is 'word', those of the model are of type int",
        "label source: the record has no label",
        "label source: the record has no key",
    ]
    assert summary.first_bad_labels[0] == "line 2: label source: the line is not JSON"
    assert len(summary.to_json()["first_bad_labels"]) == 3
    assert summary.taken == summary.answered == 10


def test_a_strict_engine_stops_at_the_first_malformed_label_record(tmp_path):
    with pytest.raises(BadRecordError, match="line 1: label source: the line is not JSON"):
        engine_with_labels(Recorder(), label_file(tmp_path / "labels.jsonl", ["{"]), strict=True).run()


def test_labels_for_a_model_that_does_not_learn_are_refused():
    with pytest.raises(ValueError, match="the model does not learn; wrap it in BackgroundLearner"):
        Engine(Threshold(), keyed_source(5), MemorySink(), labels=MemoryLabels([("r1", 1)]))
