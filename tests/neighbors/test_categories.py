"""Categories may be texts: in tables, data frames, queries and records of river's API."""

import numpy as np
import pandas as pd
import pytest

from anystream.neighbors import AnytimeNeighborsClassifier

TABLE = [["red", 1.0, "s"], ["red", 2.0, None], ["blue", 9.0, "m"], ["blue", 8.0, "m"]]
QUERIES = [["blue", 5.0, "s"], ["green", 1.5, "s"], [None, 9.0, "m"]]
FORMS = {
    "lists": lambda table: table,
    "objects": lambda table: np.array(table, dtype=object),
    "frame": lambda table: pd.DataFrame(table, columns=["colour", "size", "cut"]).convert_dtypes(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_tables_and_queries_may_hold_texts(form):
    params = {"categorical": [0, 2]}
    model = AnytimeNeighborsClassifier(metric="gower", metric_params=params).fit(form(TABLE), ["a", "a", "b", "b"])
    assert model.query(QUERIES[0]).refine().nearest == [(3, pytest.approx((0 + 3 / 8 + 1) / 3))]
    assert model.predict(form(QUERIES)).tolist() == ["b", "a", "b"]


def test_a_text_in_a_numeric_column_is_an_error_that_names_the_column():
    model = AnytimeNeighborsClassifier(metric="gower", metric_params={"categorical": [0]})
    with pytest.raises(ValueError, match="column 2 holds a value that is not a number"):
        model.fit(TABLE, [0, 0, 1, 1])


def test_records_of_river_may_hold_texts():
    model = AnytimeNeighborsClassifier(metric="hamming")
    assert model.predict_one({"colour": "red"}) is None
    model.learn_one({"colour": "red", "cut": "s"}, "a")
    model.learn_one({"colour": "blue", "cut": "m"}, "b")
    assert model.predict_one({"colour": "red", "cut": "l"}) == "a"
    assert model.predict_proba_one({"colour": "blue", "cut": "l"}) == {"a": 0.0, "b": 1.0}
    model.learn_many(pd.DataFrame({"cut": ["l", "xl"], "colour": ["green", "green"]}), ["c", "c"])
    frame = pd.DataFrame({"colour": ["green", "red"], "cut": ["m", "s"]})
    assert model.predict_many(frame).tolist() == ["b", "a"]  # green and m: as near to b, which came first
    assert model.predict_proba_many(frame)["a"].tolist() == [0.0, 1.0]
