import json

import numpy as np
import pytest

from anystream.bayes_tree import BayesTreeClassifier
from anystream.runtime import GainTable
from runtime.gain_tables import table_of_three_levels


def test_a_gain_table_survives_json_and_gains_fall_with_confidence():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 2)) + 2.0 * y[:, None]
    table = GainTable.measure(BayesTreeClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2], levels=(0, 2, 10))
    again = GainTable.from_json(json.loads(json.dumps(table.to_json())))
    assert again.levels == (0, 2, 10)
    np.testing.assert_array_equal(again.gains, table.gains)
    unsure, sure = table.expected_gain(0, 2, np.array([0.0, 1.0]))
    assert unsure >= sure >= 0.0


def test_expected_accuracy_counts_the_records_that_gain_most():
    table = table_of_three_levels()
    lower, higher = table.level_pairs
    assert list(zip(lower.tolist(), higher.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
    top = np.linspace(0.5, 0.0, 10)
    for share, gain in (
        (0.0, 0.0),
        (0.1, top[0] / 10),
        (0.25, (top[0] + top[1] + top[2] / 2) / 10),
        (7.0, top.mean()),
    ):
        assert table.expected_accuracy(np.full(3, share))[0] == pytest.approx(0.6 + gain)


def test_a_malformed_gain_table_is_refused():
    with pytest.raises(ValueError, match=r"the gain table cannot be read .* fit the model again"):
        GainTable.from_json({"levels": [0]})
    value = table_of_three_levels().to_json() | {"levels": [0, 4]}
    with pytest.raises(ValueError, match="2 levels and arrays of another size"):
        GainTable.from_json(value)
    with pytest.raises(ValueError, match="there are 1 levels"):
        GainTable.measure(None, [[1.0]], [1], levels=(3,))
