"""A small data set in arrays, and a strategy that draws data sets."""

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from anystream.streams import Dataset

X = np.array([[0.5, 1.0], [1.5, 0.0], [2.5, 2.0], [3.5, 1.0], [4.5, 0.0]], dtype=np.float32)
Y = np.array([0, 1, 2, 1, 0], dtype=np.uint8)


@st.composite
def datasets(draw):
    n, d, k = draw(st.integers(1, 40)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    dense = np.where(rng.random((n, d)) < 0.5, 0.0, rng.standard_normal((n, d)))
    return Dataset(
        name="drawn",
        X=csr_matrix(dense) if draw(st.booleans()) else dense,
        y=rng.integers(0, k, n),
        feature_names=tuple(f"é{column}" for column in range(d)),
        class_names=tuple("abc"[:k]),
        categorical=(0,) if draw(st.booleans()) else (),
        is_test=rng.random(n) < 0.3 if draw(st.booleans()) else None,
    )


def to_dense(records):
    return records if isinstance(records, np.ndarray) else records.toarray()
