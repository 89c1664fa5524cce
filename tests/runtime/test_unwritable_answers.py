"""An answer that the sink cannot encode goes to the dead letters; all others are written."""

import json

import numpy as np
import pytest

from anystream.anytime.errors import RecordError
from anystream.connectors.file_sink import CsvSink, JsonLinesSink
from anystream.connectors.memory import MemoryDeadLetters, MemorySource
from anystream.runtime import BadRecordError, Engine, FixedBudget, InlineLearner
from runtime.models import Recorder, Threshold


class Unprintable:
    """A key whose text cannot be made."""

    def __init__(self, error):
        self.error = error

    def __str__(self):
        raise self.error

    __repr__ = __str__


ERRORS = [
    *(ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, LookupError, OverflowError),
    *(RecursionError, RuntimeError, StopIteration, TypeError, ValueError, RecordError),
]


def keyed(error, n=50, bad=17):
    keys = [Unprintable(error) if row == bad else f"r{row}" for row in range(n)]
    return MemorySource(-np.ones((n, 1)), [0] * n, key=keys)


@pytest.mark.parametrize("make", [JsonLinesSink, CsvSink])
@pytest.mark.parametrize("error_type", ERRORS)
def test_a_key_without_a_text_is_a_dead_letter_and_all_other_answers_are_written(tmp_path, make, error_type):
    dead_letters, model = MemoryDeadLetters(), Recorder()
    sink = make(tmp_path / "answers")
    source = keyed(error_type("no text"))
    engine = Engine(InlineLearner(model), source, sink, scheduler=FixedBudget(1), dead_letters=dead_letters)
    summary = engine.run()
    sink.close()
    assert (summary.answered, summary.dead_letters, summary.taken) == (49, 1, 50)
    (rejected,) = dead_letters.rejected
    assert rejected.offset == 17
    assert rejected.reason.startswith("the answer cannot be written: ")
    text = (tmp_path / "answers").read_text()
    keys = [json.loads(line)["key"] for line in text.splitlines()] if make is JsonLinesSink else text.split()[1:]
    assert [key.partition(",")[0] for key in keys] == [f"r{row}" for row in range(50) if row != 17]
    assert len(model.learned) == 49


def test_a_strict_run_stops_at_it(tmp_path):
    source = keyed(ValueError("no text"))
    with pytest.raises(BadRecordError, match="the answer cannot be written"):
        Engine(Threshold(), source, JsonLinesSink(tmp_path / "answers"), strict=True).run()


@pytest.mark.parametrize("error", [MemoryError("full"), OSError("gone")])
def test_an_error_that_is_not_about_a_record_stops_the_run(tmp_path, error):
    with pytest.raises(type(error), match=str(error)):
        Engine(Threshold(), keyed(error), JsonLinesSink(tmp_path / "answers")).run()
