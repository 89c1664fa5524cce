"""Drift classifiers and small data for several test files."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from anystream.bayes_tree import BayesTreeClassifier
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, ResetOnDrift, SEAEnsemble

MODELS = {
    "naive-bayes": GaussianNaiveBayes,
    "sea": SEAEnsemble,
    "sea-quality": lambda: SEAEnsemble.street_kim(capacity=3, chunk_size=30),
    "dwm": DynamicWeightedMajority,
    "wcea": lambda: WCEA(chunk_size=30),
    "wcea-bayes-tree": lambda: WCEA(BayesTreeClassifier(), chunk_size=30, folds=2),
    "online-tree": OnlineTree2,
    "reset": ResetOnDrift,
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@st.composite
def labelled_records(draw, max_records=25):
    """Records with missing values, their class numbers, the number of classes, and three queries."""
    n, d, k = draw(st.integers(1, max_records)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    values = st.floats(-5, 5).map(lambda v: round(v, 2)) | st.just(np.nan)
    records = draw(hnp.arrays(np.float64, (n, d), elements=values))
    queries = draw(hnp.arrays(np.float64, (3, d), elements=values))
    return records, draw(hnp.arrays(np.int32, n, elements=st.integers(0, k - 1))), k, queries
