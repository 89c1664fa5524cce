"""Data of the demonstration: scikit-learn's handwritten digits, with shifted copies to train on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SHIFTS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))  # rows and columns of pixels


class Digits(NamedTuple):
    """Images of 8 x 8 pixels as rows of 64 features, and the digits that they show."""

    X_train: NDArray[np.float64]
    y_train: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]


def split_digits(seed: int) -> Digits:
    """Return a third of the images to test, and the others with copies shifted by one pixel in four directions."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
    images = X_train.reshape(-1, 8, 8)
    shifted = np.concatenate([np.roll(images, shift, axis=(1, 2)) for shift in _SHIFTS])
    return Digits(shifted.reshape(-1, 64), np.tile(y_train, len(_SHIFTS)), X_test, y_test)
