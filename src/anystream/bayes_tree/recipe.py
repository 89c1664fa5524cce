"""Recipes: the parameters of a classifier, checked and resolved, for everything that builds forests and queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

from anystream._native import BayesForestSettings, BayesQuerySettings
from anystream.bayes_tree.bandwidth import parse_bandwidth
from anystream.bayes_tree.metric import parse_metric
from anystream.bayes_tree.options import (
    CONSTRUCTION_DEFAULTS,
    COVARIANCE_DEFAULTS,
    MARGIN_DEFAULTS,
    Options,
    resolve_options,
)
from anystream.bayes_tree.paging import fanout_of_page
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

HAND_OVER_STEPS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Steps after which a recipe says how much the trees count beside the root model; from the last one on it stays."""

EVEN_HAND_OVER = (0.125, 0.25, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0)
"""The trees take over in eight steps: where nothing is chosen."""

MAX_WHITENED_FEATURES = 2048
"""With more features a whitening matrix takes minutes to learn, and most of the time of a query to apply."""

_INNER_VARIANCES = ("max", "plain")
_DESCENTS = ("global_best", "breadth_first", "depth_first")
_BLOCK_SIZES: dict[object, int] = {"full": 0, "diagonal": 1}  # in native code: 0 is all features
_NAMED_K: dict[object, int] = {"auto": 0, "published": -1, "printed": -2}  # in native code


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
        Vote of the root model in the end; 0: it has none once the trees have taken over; None: there is no root model.
    hand_over : tuple of float
        Shares of the trees in the decision after `HAND_OVER_STEPS`; before the first step the root model decides alone.
    construction, fanout, inner_variance, covariance_levels, margin_levels, margin_kappa, margin_lambda, window, seed
        As in `BayesTreeClassifier`.
    covariance : str or int
        ``"full"``, ``"diagonal"``, or the maximum number of features of a block.
    class_weights : tuple of float
        Factors of the priors of the classes; empty: none has one.
    construction_options, covariance_options, margin_options : dict
        As in `BayesTreeClassifier`, every option present.
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
    window: int | None
    seed: int
    hand_over: tuple[float, ...]
    construction_options: Options = field(hash=False)
    covariance_options: Options = field(hash=False)
    margin_options: Options = field(hash=False)
    class_weights: tuple[float, ...] = ()
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
        window: object,
        seed: object,
        hand_over: object = (),
        class_weights: object = (),
        construction_options: object = None,
        covariance_options: object = None,
        margin_options: object = None,
        page_bytes: int | None = None,
    ) -> Self:
        """Return the recipe of a classifier's parameters for points of `n_features` features.

        Every ``"auto"`` is resolved here: by the number of features, or to a default that `selection.choose` may
        replace (see `undecided`). Raises ValueError with the name and the value of an invalid parameter.
        """
        method = check_choice("construction", construction, CONSTRUCTIONS)
        recipe = cls(
            metric=None if metric == "auto" else _check_metric(metric, n_features),
            bandwidth=DEFAULT_BANDWIDTH if bandwidth == "auto" else _check_bandwidth(bandwidth),
            decision=_resolve_decision(decision),
            root_weight=_resolve_root_weight(root_model),
            construction=method,
            fanout=_resolve_fanout(fanout, page_bytes, n_features),
            inner_variance=check_choice("inner_variance", inner_variance, _INNER_VARIANCES),
            covariance=_resolve_covariance(covariance, n_features),
            covariance_levels=check_int("covariance_levels", covariance_levels),
            margin_levels=check_int("margin_levels", margin_levels),
            margin_kappa=check_float("margin_kappa", margin_kappa, 1.0),
            margin_lambda=check_positive("margin_lambda", margin_lambda),
            window=None if window is None else check_int("window", window, 1),
            seed=check_int("seed", seed),
            hand_over=_check_hand_over(hand_over),
            class_weights=_check_class_weights(class_weights),
            construction_options=resolve_options(
                "construction_options", construction_options, CONSTRUCTION_DEFAULTS.get(method, {}), method
            ),
            covariance_options=resolve_options(
                "covariance_options", covariance_options, COVARIANCE_DEFAULTS, "covariance"
            ),
            margin_options=resolve_options("margin_options", margin_options, MARGIN_DEFAULTS, "margin maximisation"),
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
            window=self.window or 0,
            insertion="guttman" if self.construction == "guttman" else "nearest_mean",
            class_weights=self.class_weights,
            covariance_shrinkage=self.covariance_options["shrinkage"],
            covariance_min_records=self.covariance_options["min_records"],
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a decided recipe as JSON values."""
        fields = asdict(self)
        del fields["undecided"]
        return fields | {"hand_over": list(self.hand_over), "class_weights": list(self.class_weights)}

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

    def settings(
        self, decision: str, root_weight: float | None, hand_over: tuple[float, ...] = ()
    ) -> BayesQuerySettings:
        """Return the native settings."""
        return query_settings(*self, decision, root_weight, hand_over)


def query_settings(
    descent: str,
    refined_classes: int | str,
    refine_for: str,
    decision: str,
    root_weight: float | None,
    hand_over: tuple[float, ...] = (),
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
    hand_over : tuple of float
        Shares of the trees after `HAND_OVER_STEPS`; empty: they take over evenly in eight steps.
    """
    check_choice("descent", descent, _DESCENTS)
    check_choice("decision", decision, DECISIONS)
    certify = check_choice("refine_for", refine_for, ("accuracy", "certificate")) == "certificate"
    if certify:
        _check_certifiable(descent, refined_classes, decision)
    named = isinstance(refined_classes, str) and refined_classes in _NAMED_K
    k = _NAMED_K[refined_classes] if named else check_int("refined_classes", refined_classes, 1)
    return BayesQuerySettings(descent, decision, k, root_weight or 0.0, certify=certify, hand_over=list(hand_over))


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


def _resolve_fanout(fanout: object, page_bytes: int | None, n_features: int) -> int:
    if fanout != "page":
        return check_int("fanout", fanout)
    if page_bytes is None:
        raise ValueError("fanout is 'page', but page_bytes is None; set page_bytes=4096, or a number for fanout")
    return fanout_of_page(page_bytes, n_features)


def _check_hand_over(hand_over: object) -> tuple[float, ...]:
    shares = tuple(hand_over) if isinstance(hand_over, list | tuple) else None
    if shares is None or len(shares) not in (0, len(HAND_OVER_STEPS)):
        raise ValueError(f"hand_over is {hand_over!r}; use {len(HAND_OVER_STEPS)} shares, or none")
    return tuple(check_float("a share of hand_over", share, 0.0) for share in shares)


def _check_class_weights(weights: object) -> tuple[float, ...]:
    if not isinstance(weights, list | tuple):
        raise ValueError(f"class_weights is {weights!r}; use a list of numbers")
    return tuple(check_positive("a class weight", weight) for weight in weights)


def _check_metric(metric: object, n_features: int) -> str | None:
    maps = parse_metric(metric)
    if "whiten" in maps and n_features > MAX_WHITENED_FEATURES:
        raise ValueError(
            f"metric={metric!r} learns a matrix of {n_features} x {n_features} features ({8e-9 * n_features**2:.1f} GB)"
            f" in time that grows with the cube of their number, and allows at most {MAX_WHITENED_FEATURES}; use "
            "metric='diagonal', 'quantile' or None, or reduce the features before (for instance with PCA)"
        )
    return "+".join(maps) or None


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
