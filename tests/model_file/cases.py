"""Strategies and helpers for tests of model files."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


def json_values():
    numbers = st.integers(-(10**90), 10**90) | st.floats(allow_nan=False, allow_infinity=False)
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    leaves = st.none() | st.booleans() | numbers | text | st.sampled_from(['[{"', "\\", '\\"', "\\\\]"])
    return st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=8)


@st.composite
def any_arrays(draw):
    """An array of any dtype, byte order, shape and strides."""
    dtype = np.dtype(draw(st.sampled_from("<>")) + draw(st.sampled_from(DTYPES)))
    array = draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)))
    change = draw(st.sampled_from([lambda a: a, np.transpose, lambda a: a[..., ::-1] if a.ndim else a]))
    return change(array)


def same(array, other):
    """Equal in dtype (but for the byte order), shape and every bit."""
    native = np.asarray(other, other.dtype.newbyteorder("<"))
    return array.dtype == native.dtype and array.shape == other.shape and array.tobytes() == native.tobytes()


def described(content):
    arrays = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in content.arrays.items()}
    return content.kind, content.version, content.metadata, arrays
