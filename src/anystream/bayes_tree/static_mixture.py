"""Classifier over one Gaussian mixture per class, without a tree, trained by margin maximisation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from anystream import _native
from anystream.estimators.parameters import check_float, check_int, check_positive, resolve_threads


class StaticMixtureClassifier(ClassifierMixin, BaseEstimator):
    """Bayes classifier over a fixed mixture of diagonal Gaussians per class, optionally trained by margin maximisation.

    The mixtures are found by EM and then moved by margin maximisation (MM, Eq. 13-16 of [1]_), which raises the share
    of training records whose own class is at least twice as probable as any other. The paper's Figure 7 uses 7 and 49
    components, the numbers of entries on the first levels of a tree of fanout 7.

    Parameters
    ----------
    components : int, default=7
        Maximum number of Gaussians per class.
    margin : bool, default=True
        Whether the mixtures are moved; otherwise they are those of EM.
    kappa : float, default=1
        Exponent of the rivals in the margin (Eq. 15); at least 1.
    lambda_ : float, default=0.1
        Exponent of the margin in the objective (Eq. 14): the smaller, the more records count; above 0.
    iterations : int, default=30
        Maximum number of iterations of the extended Baum-Welch algorithm.
    n_jobs : int, optional
        Threads; None or -1 is one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels.
    component_class_ : array of shape (n_components,)
        The class number of each component.
    weights_, means_, variances_ : arrays with n_components rows
        The Gaussians; weights sum to 1 within a class.
    objective_ : list of float
        Mean log of the smoothed margin after each iteration; it never falls and is at most log 2. Empty without
        `margin`.

    References
    ----------
    .. [1] Kranen, Hassani, Seidl, "BT* - an advanced algorithm for anytime classification", SSDBM 2012.
    """

    classes_: NDArray[Any]
    component_class_: NDArray[np.int32]
    weights_: NDArray[np.float64]
    means_: NDArray[np.float64]
    variances_: NDArray[np.float64]
    objective_: list[float]
    _log_prior: NDArray[np.float64]

    def __init__(
        self,
        *,
        components: int = 7,
        margin: bool = True,
        kappa: float = 1.0,
        lambda_: float = 0.1,
        iterations: int = 30,
        n_jobs: int | None = None,
    ) -> None:
        self.components = components
        self.margin = margin
        self.kappa = kappa
        self.lambda_ = lambda_
        self.iterations = iterations
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the mixtures of all classes.

        Parameters
        ----------
        X : array-like of shape (n_records, n_features)
            Training records without missing values.
        y : array-like of shape (n_records,)
            Their classes.
        """
        components, iterations = check_int("components", self.components, 1), check_int("iterations", self.iterations)
        kappa, lambda_ = check_float("kappa", self.kappa, 1.0), check_positive("lambda_", self.lambda_)
        threads = resolve_threads(self.n_jobs)
        points, labels = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(labels)
        self.classes_, found_at = np.unique(labels, return_inverse=True)
        numbers = found_at.astype(np.int32)
        prior = np.bincount(numbers) / len(numbers)
        mixture = _native.static_mixture(points, numbers, len(self.classes_), components, threads)
        self.objective_ = []
        if self.margin and len(self.classes_) > 1:
            component_class, weight, mean, variance, occupancy = mixture
            spread = points.var(axis=0)
            floor = np.where(spread > 0, 1e-3 * spread, 1.0)
            mixture, self.objective_ = _native.maximise_margin(
                points,
                numbers,
                prior,
                component_class,
                weight,
                mean.reshape(len(component_class), -1),
                variance,
                occupancy,
                floor,
                kappa,
                lambda_,
                iterations,
                True,
                threads,
            )
        self.component_class_, self.weights_, mean, variance, _ = mixture
        shape = len(self.weights_), points.shape[1]
        self.means_, self.variances_ = mean.reshape(shape), variance.reshape(shape)
        self._log_prior = np.log(prior)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities of each record, in the order of `classes_`."""
        from scipy.special import logsumexp, softmax  # imported here because it is slow to import

        check_is_fitted(self)
        queries = validate_data(self, X, dtype=np.float64, reset=False)
        joint = np.empty((len(queries), len(self.classes_)))
        for c in range(len(self.classes_)):
            own = self.component_class_ == c
            joint[:, c] = self._log_prior[c] + logsumexp(
                [self._log_component(queries, e) for e in np.flatnonzero(own).tolist()], axis=0
            )
        return np.asarray(softmax(joint, axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each record."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _log_component(self, queries: NDArray[np.float64], e: int) -> NDArray[np.float64]:
        """Return the log of weight times density of component `e` for each query."""
        variance = self.variances_[e]
        exponent = ((queries - self.means_[e]) ** 2 / variance).sum(axis=1)
        log_norm = np.log(2 * np.pi * variance).sum()
        return np.asarray(np.log(self.weights_[e]) - 0.5 * (exponent + log_norm))
