"""Recipes: the parameters of a classifier, checked and resolved, for everything that builds forests and queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

from anystream._native import BayesForestSettings, BayesQuerySettings
from anystream.bayes_tree.bandwidth import parse_bandwidth
from anystream.bayes_tree.metric import parse_metric
from anystream.estimators.parameters import check_choice, check_float, check_int, check_positive

CONSTRUCTIONS = (
    "em_top_down",
    "goldberger",
    "virtual_sampling",
    "hilbert",
    "z_curve",
    "str",
    "guttman",
    "nearest_mean",
)
"""Methods of building trees."""

DECISIONS = ("ensemble", "mixture", "nearest")
"""What a label is decided by; the first is the default where nothing else is chosen."""

DEFAULT_BANDWIDTH = "f0.05"
"""Bandwidth where nothing else is chosen."""

MAX_FULL_FEATURES = 256
"""With more features full covariances are too large to be useful."""

_INNER_VARIANCES = ("max", "plain")
_DESCENTS = ("global_best", "breadth_first", "depth_first")
_BLOCK_SIZES: dict[object, int] = {"full": 0, "diagonal": 1}  # in native code: 0 is all features
_NAMED_K: dict[object, int] = {"auto": 0, "published": -1}  # in native code


@dataclass(frozen=True)
class ForestRecipe:
    """Everything that determines the forest of given points; no field is ``"auto"``.

    Parameters
    ----------
    metric : str or None
        Space in which densities are estimated.
    bandwidth : str
        Width of the kernels.
    decision : str
        What decides where the classifier's `decision` is ``"auto"``.
    root_weight : float or None
        Vote of the root model in the end; 0: it has none after the first eight steps; None: there is no root model.
    construction, fanout, inner_variance, covariance_levels, margin_levels, margin_kappa, margin_lambda, seed
        As in `BayesTreeClassifier`.
    covariance : str or int
        ``"full"``, ``"diagonal"``, or the maximum number of features of a block.
    undecided : tuple of str
        Fields that hold a default and may be chosen on held-out data; empty for a model in use.
    """

    metric: str | None
    bandwidth: str
    decision: str
    root_weight: float | None
    construction: str
    fanout: int
    inner_variance: str
    covariance: int | str
    covariance_levels: int
    margin_levels: int
    margin_kappa: float
    margin_lambda: float
    seed: int
    undecided: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def resolve(
        cls,
        *,
        n_features: int,
        metric: object,
        bandwidth: object,
        decision: object,
        root_model: object,
        construction: object,
        fanout: object,
        inner_variance: object,
        covariance: object,
        covariance_levels: object,
        margin_levels: object,
        margin_kappa: object,
        margin_lambda: object,
        seed: object,
    ) -> Self:
        """Return the recipe of a classifier's parameters for points of `n_features` features.

        Every ``"auto"`` is resolved here: by the number of features, or to a default that `selection.choose` may
        replace (see `undecided`). Raises ValueError with the name and the value of an invalid parameter.
        """
        recipe = cls(
            metric=None if metric == "auto" else _check_metric(metric),
            bandwidth=DEFAULT_BANDWIDTH if bandwidth == "auto" else _check_bandwidth(bandwidth),
            decision=_resolve_decision(decision),
            root_weight=_resolve_root_weight(root_model),
            construction=check_choice("construction", construction, CONSTRUCTIONS),
            fanout=check_int("fanout", fanout),
            inner_variance=check_choice("inner_variance", inner_variance, _INNER_VARIANCES),
            covariance=_resolve_covariance(covariance, n_features),
            covariance_levels=check_int("covariance_levels", covariance_levels),
            margin_levels=check_int("margin_levels", margin_levels),
            margin_kappa=check_float("margin_kappa", margin_kappa, 1.0),
            margin_lambda=check_positive("margin_lambda", margin_lambda),
            seed=check_int("seed", seed),
            undecided=_undecided(n_features, metric, bandwidth, decision, root_model),
        )
        recipe.forest_settings()  # native code checks the ranges
        return recipe

    def decided(self) -> Self:
        """Return the recipe with the defaults of everything undecided: there is nothing to choose by."""
        return replace(self, undecided=())

    def forest_settings(self) -> BayesForestSettings:
        """Return the native settings."""
        method, alpha = parse_bandwidth(self.bandwidth)
        return BayesForestSettings(
            self.fanout,
            method,
            alpha,
            self.inner_variance,
            covariance_block=_block_size(self.covariance),
            covariance_levels=self.covariance_levels,
            common_scale=self.metric is not None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a decided recipe as JSON values."""
        fields = asdict(self)
        del fields["undecided"]
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any], n_features: int) -> Self:
        """Return the recipe that `to_json` returned; KeyError, TypeError or ValueError if a field is invalid."""
        others = {name: value for name, value in fields.items() if name != "root_weight"}
        recipe = cls.resolve(n_features=n_features, root_model=fields["root_weight"], **others)
        if recipe.to_json() != dict(fields):
            raise ValueError("a field of the recipe is 'auto'")
        return recipe


class QueryRecipe(NamedTuple):
    """How queries descend: the parameters of a classifier that may change after `fit`.

    Parameters
    ----------
    descent, refined_classes, refine_for
        As in `BayesTreeClassifier`.
    """

    descent: str
    refined_classes: int | str
    refine_for: str

    def settings(self, decision: str, root_weight: float | None) -> BayesQuerySettings:
        """Return the native settings."""
        return query_settings(*self, decision, root_weight)


def query_settings(
    descent: str, refined_classes: int | str, refine_for: str, decision: str, root_weight: float | None
) -> BayesQuerySettings:
    """Return the native settings of a query; ValueError if a parameter is invalid.

    Parameters
    ----------
    descent, refined_classes, refine_for
        As in `BayesTreeClassifier`.
    decision : str
        What decides; not ``"auto"``.
    root_weight : float or None
        Vote of the root model.
    """
    check_choice("descent", descent, _DESCENTS)
    check_choice("decision", decision, DECISIONS)
    certify = check_choice("refine_for", refine_for, ("accuracy", "certificate")) == "certificate"
    if certify:
        _check_certifiable(descent, refined_classes, decision)
    named = isinstance(refined_classes, str) and refined_classes in _NAMED_K
    k = _NAMED_K[refined_classes] if named else check_int("refined_classes", refined_classes, 1)
    return BayesQuerySettings(descent, decision, k, root_weight or 0.0, certify=certify)


cached_query_settings = lru_cache(maxsize=256, typed=True)(query_settings)
"""`query_settings` for single records, whose cost is a few microseconds."""


def _check_certifiable(descent: str, refined_classes: int | str, decision: str) -> None:
    if decision == "nearest":
        raise ValueError(
            "refine_for='certificate' proves the label of the mixture of all kernels, which is not the label of "
            "decision='nearest'; use decision='mixture' or 'ensemble'"
        )
    if descent != "global_best" or refined_classes != "auto":
        raise ValueError(
            "refine_for='certificate' has its own order of refining; leave descent and refined_classes at the defaults"
        )


def _undecided(
    n_features: int, metric: object, bandwidth: object, decision: object, root_model: object
) -> tuple[str, ...]:
    """Return the fields to choose on held-out data; bandwidth and decision are chosen only together with the metric."""
    open_metric = metric == "auto"
    is_open = {
        "metric": open_metric,
        "bandwidth": open_metric and bandwidth == "auto",
        "decision": open_metric and decision == "auto",
        "root_weight": root_model == "auto" and n_features <= MAX_FULL_FEATURES,
    }
    return tuple(name for name, undecided in is_open.items() if undecided)


def _check_metric(metric: object) -> str | None:
    return "+".join(parse_metric(metric)) or None


def _check_bandwidth(bandwidth: object) -> str:
    parse_bandwidth(bandwidth)
    return str(bandwidth)


def _resolve_decision(decision: object) -> str:
    chosen = check_choice("decision", decision, ("auto", *DECISIONS))
    return DECISIONS[0] if chosen == "auto" else chosen


def _resolve_root_weight(root_model: object) -> float | None:
    if root_model is None or root_model == "auto":
        return None
    return check_float("root_model", root_model, 0.0)


def _resolve_covariance(covariance: object, n_features: int) -> int | str:
    if covariance == "auto":
        return "full" if n_features <= MAX_FULL_FEATURES else "diagonal"
    if isinstance(covariance, str):
        if covariance not in _BLOCK_SIZES:
            raise ValueError(f"covariance is {covariance!r}; use 'auto', 'full', 'diagonal' or the size of a block")
        return covariance
    return check_int("covariance", covariance, 1)


def _block_size(covariance: int | str) -> int:
    return _BLOCK_SIZES[covariance] if isinstance(covariance, str) else covariance
