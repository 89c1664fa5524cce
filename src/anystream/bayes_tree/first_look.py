"""The first look: a linear discriminant whose answer costs a fraction of a microsecond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anystream import _native
from anystream.bayes_tree.recipe import MAX_FULL_FEATURES
from anystream.estimators.calibration import fit_calibration
from anystream.estimators.held_out import MAX_HELD_OUT, MIN_RECORDS, split_in_quarters

MIN_LOOK_FEATURES = 32
"""Features from which on ``first_look="auto"`` has one: there the root model costs several times as much."""

_MAX_RECORDS = 20_000  # that it is learned from
_MIN_OF_CLASS = 20  # records of a class, if it has them
_SHRINKAGE = 0.3  # per term: covariances of n records of t terms are shrunk by a / (a + n), a = 0.3 t
_MIN_SHRINKAGE = 1e-3
_MAX_DEVIATION = 4.0  # as in native code


@dataclass(frozen=True, eq=False)
class FirstLook:
    """Scores of the classes that are linear in the features of a record and their squares.

    Features are standardised and clipped to four standard deviations; a missing value counts as the mean. It never
    changes.

    Parameters
    ----------
    shift, factor : array of shape (n_features,)
        z = (x - shift) · factor.
    square_mean : array of shape (n_features,)
        What is subtracted from z².
    weight : array of shape (2 · n_features, n_classes)
        Factors of all z, then of all z² - square_mean, in units of log2 of a density.
    bias : array of shape (n_classes,)
        With the logarithm of the prior.
    sharpness, floor : float
        Calibration: what scores are multiplied by, and the share of the uniform distribution.
    """

    shift: NDArray[np.float64]
    factor: NDArray[np.float64]
    square_mean: NDArray[np.float32]
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    sharpness: float = 1.0
    floor: float = 0.0

    @cached_property
    def native(self) -> _native.BayesFirstLook:
        """The same for native code."""
        return _native.BayesFirstLook(
            self.shift, self.factor, self.square_mean, self.weight, self.bias, self.sharpness, self.floor
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(each.nbytes for each in (self.shift, self.factor, self.square_mean, self.weight, self.bias))

    def scores(self, records: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return log2 of the joint densities of records and classes, up to a number per record."""
        out = np.empty((len(records), len(self.bias)), dtype=np.float32)
        self.native.scores(records, out)
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # it never changes


def check_first_look(first_look: object) -> bool | None:
    """Return whether there is to be a first look, None for ``"auto"``; ValueError if the parameter is invalid."""
    if isinstance(first_look, bool | np.bool_):
        return bool(first_look)
    if isinstance(first_look, str) and first_look == "auto":
        return None
    raise ValueError(f"first_look is {first_look!r}; use True, False or 'auto'")


def wants_first_look(first_look: object, n_features: int, root_weight: float | None) -> bool:
    """Return whether a model has a first look: ``"auto"`` is from 32 features on if there is a root model."""
    wanted = check_first_look(first_look)
    if wanted and n_features > MAX_FULL_FEATURES:
        raise ValueError(
            f"first_look=True learns covariances of {2 * n_features} terms of {n_features} features, and allows at "
            f"most {MAX_FULL_FEATURES}; use 'auto' or False, or reduce the features before (for instance with PCA)"
        )
    if wanted is None:
        return root_weight is not None and MIN_LOOK_FEATURES <= n_features <= MAX_FULL_FEATURES
    return wanted


def learn_first_look(
    records: NDArray[np.float64],
    numbers: NDArray[np.int32],
    n_classes: int,
    *,
    class_weights: Sequence[float] = (),
    seed: int = 0,
    calibrate: bool = True,
) -> FirstLook | None:
    """Return the first look at records like these; None if a class has no record, or there is only one class.

    It is Fisher's discriminant over 2 d terms: the means of the classes, and one covariance within all of them, shrunk
    towards its diagonal. More than 20,000 records are sampled, a class of few records least.

    Parameters
    ----------
    records : array of shape (n_records, n_features)
        Training records, not mapped; NaN stands for a missing value.
    numbers : array of shape (n_records,)
        Their class numbers, below `n_classes`.
    n_classes : int
        Number of classes.
    class_weights : sequence of float
        Factors of the priors of the first classes; 1 for all others.
    seed : int, default=0
        Seed of the sample and of the quarter that is held out.
    calibrate : bool, default=True
        Whether to calibrate probabilities on a held-out quarter, if there are 117 records or more.
    """
    counts = np.bincount(numbers, minlength=n_classes)
    if n_classes < 2 or (counts == 0).any():
        return None
    chosen = _sample(numbers, counts, seed)
    points, labels = records[chosen], numbers[chosen]
    look = _discriminant(points, labels, counts)
    if calibrate and len(labels) >= MIN_RECORDS:
        held_out = split_in_quarters(points, labels, seed)[0][:MAX_HELD_OUT]
        rest = np.ones(len(labels), dtype=np.bool_)
        rest[held_out] = False
        scores = np.log(2.0) * _discriminant(points[rest], labels[rest], counts).scores(points[held_out])
        found = fit_calibration((0,), [scores.astype(np.float64)], labels[held_out])
        look = replace(look, sharpness=float(np.exp(found.log_sharpness[0])), floor=found.floor[0])
    bias = look.bias.copy()
    bias[: len(class_weights)] += np.log2(np.array(class_weights)).astype(np.float32)
    return replace(look, bias=bias)


def _sample(numbers: NDArray[np.int32], counts: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return ascending positions of at most about `_MAX_RECORDS` records, of every class its share or a few."""
    n = len(numbers)
    if n <= _MAX_RECORDS:
        return np.arange(n)
    wanted = np.maximum(_MIN_OF_CLASS, _MAX_RECORDS * counts // n)
    shuffled = np.random.default_rng(seed).permutation(n)
    by_class = shuffled[np.argsort(numbers[shuffled], kind="stable")]
    place = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)  # of a record within its class
    return np.sort(by_class[place < wanted[numbers[by_class]]])


def _discriminant(points: NDArray[np.float64], numbers: NDArray[np.int32], counts: NDArray[np.int64]) -> FirstLook:
    """Return the look, not calibrated; `counts` are those of all records and give the priors."""
    shift, factor = _scaling(points)
    with np.errstate(invalid="ignore", over="ignore"):
        z = np.clip((points - shift) * factor, -_MAX_DEVIATION, _MAX_DEVIATION)
    known = ~np.isnan(z)
    z = np.where(known, z, 0.0)
    square_mean = (z**2).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    terms = np.hstack([z, np.where(known, z**2 - square_mean, 0.0)])
    n, n_terms = terms.shape
    here = np.bincount(numbers, minlength=len(counts))
    means = np.zeros((len(counts), n_terms))
    for number in np.flatnonzero(here):
        means[number] = terms[numbers == number].mean(axis=0)
    apart = terms - means[numbers]
    within = apart.T @ apart / n
    spread = np.diag(within).copy()
    share = max(_MIN_SHRINKAGE, _SHRINKAGE * n_terms / (_SHRINKAGE * n_terms + n))
    within *= 1.0 - share
    within[np.diag_indices(n_terms)] = spread + 1e-6 * max(float(spread.mean()), 1e-9)
    weight = np.linalg.solve(within, means.T)
    bias = np.log(counts / counts.sum()) - 0.5 * (means.T * weight).sum(axis=0)
    return FirstLook(
        shift,
        factor,
        square_mean.astype(np.float32),
        np.ascontiguousarray(weight / np.log(2.0), dtype=np.float32),
        (bias / np.log(2.0)).astype(np.float32),
    )


def _scaling(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and 1 / standard deviations; 0 and 0 for a feature without any, which is left out."""
    known = ~np.isnan(points)
    n_known = np.maximum(known.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        shift = np.where(known, points, 0.0).sum(axis=0) / n_known
        deviation = np.sqrt(np.where(known, (points - shift) ** 2, 0.0).sum(axis=0) / n_known)
        factor = 1.0 / deviation
    varies = np.isfinite(shift) & np.isfinite(deviation) & (deviation > 1e-12 * np.maximum(1e-100, np.abs(shift)))
    varies &= np.isfinite(factor)
    return np.where(varies, shift, 0.0), np.where(varies, factor, 0.0)
