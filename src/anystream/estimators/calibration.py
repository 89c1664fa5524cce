"""Calibration: probabilities that tell how often a label is right, by the number of steps taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream import _native

_MAX_LOG_SHARPNESS = 4.0
_REACHES = (_MAX_LOG_SHARPNESS, 1.0, 0.5)  # of the search for the sharpness, each time it is fitted
_PRECISION = 0.01
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Calibration:
    """Map of raw probabilities p to (1 - floor) p^b / sum(p^b) + floor / n_classes; the order of the classes stays.

    Parameters
    ----------
    steps : tuple of int
        Ascending numbers of steps; between them the values below are linear, outside constant.
    log_sharpness : tuple of float
        log b; below 0 where the raw probabilities are too certain.
    floor : tuple of float
        Share of the uniform distribution.
    """

    steps: tuple[int, ...]
    log_sharpness: tuple[float, ...]
    floor: tuple[float, ...]

    @cached_property
    def native(self) -> _native.Calibration:
        """The same map for native code."""
        return _native.Calibration(
            np.array(self.steps, dtype=np.int64), np.array(self.log_sharpness), np.array(self.floor)
        )

    def to_json(self) -> dict[str, list[float]]:
        """Return the tables as JSON values."""
        return {
            "steps": list(self.steps),
            "log_sharpness": list(self.log_sharpness),
            "floor": list(self.floor),
        }

    @classmethod
    def from_json(cls, tables: Mapping[str, Any]) -> Self:
        """Return the calibration that `to_json` returned; KeyError, TypeError or ValueError if it is invalid."""
        found = cls(
            tuple(int(value) for value in tables["steps"]),
            tuple(float(value) for value in tables["log_sharpness"]),
            tuple(float(value) for value in tables["floor"]),
        )
        _ = found.native  # native code checks lengths and ranges
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.steps, self.log_sharpness, self.floor)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # it never changes


def native_calibration(calibration: Calibration | None) -> _native.Calibration | None:
    """Return the native form of a calibration; None stands for raw probabilities."""
    return None if calibration is None else calibration.native


def fit_calibration(
    steps: Sequence[int], log_scores: Iterable[NDArray[np.float64]], numbers: NDArray[np.int32]
) -> Calibration:
    """Return the calibration with the smallest log loss on held-out records, for each number of steps by itself.

    One more record than there are counts as wrong, so that no probability becomes 0. Where few records tell little, b
    stays near 1: its logarithm has a normal prior with deviation 1.

    Parameters
    ----------
    steps : sequence of int
        Ascending numbers of steps.
    log_scores : iterable of arrays of shape (n_records, n_classes)
        Logarithms of the raw probabilities after each of them, up to a number per record.
    numbers : array of shape (n_records,)
        The class numbers of the records.
    """
    fitted = [_fit_stage(scores, numbers) for scores in log_scores]
    return Calibration(tuple(steps), tuple(rate for rate, _ in fitted), tuple(share for _, share in fitted))


def _fit_stage(scores: NDArray[np.float64], numbers: NDArray[np.int32]) -> tuple[float, float]:
    """Return log b and the floor of one stage: each in turn, the other one fixed."""
    n, n_classes = scores.shape
    below = scores - scores.max(axis=1, keepdims=True)  # -inf where the raw probability is 0
    below = below.astype(np.float32)  # its exponentials take a fifth of the time, and the search ends at `_PRECISION`
    own = below[np.arange(n), numbers]
    min_floor = 1.0 / (n + 1)
    log_sharpness, floor = 0.0, max(min_floor, 0.02)

    def own_probability(rate: float) -> NDArray[np.float64]:
        sharpness = np.float32(np.exp(rate))
        return np.asarray(np.exp(sharpness * own) / np.exp(sharpness * below).sum(axis=1), dtype=np.float64)

    def loss(rate: float, share: float) -> float:
        doubt: float = rate**2 / (2 * n)  # raw probabilities are changed only as far as the records tell
        return doubt - float(np.log((1 - share) * own_probability(rate) + share / n_classes).mean())

    for reach in _REACHES:
        low, high = max(-_MAX_LOG_SHARPNESS, log_sharpness - reach), min(_MAX_LOG_SHARPNESS, log_sharpness + reach)
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = loss(left, floor), loss(right, floor)
        while high - low > _PRECISION:
            if at_left <= at_right:
                high, right, at_right = right, left, at_left
                left = high - _GOLDEN * (high - low)
                at_left = loss(left, floor)
            else:
                low, left, at_left = left, right, at_right
                right = low + _GOLDEN * (high - low)
                at_right = loss(right, floor)
        log_sharpness = (low + high) / 2
        sharp = own_probability(log_sharpness)
        for _ in range(20):  # EM of a mixture with the uniform distribution
            flat = floor / n_classes
            floor = max(min_floor, float((flat / ((1 - floor) * sharp + flat)).mean()))
    return log_sharpness, floor
