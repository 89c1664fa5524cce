"""Recipe of a forest: the checked parameters of its training and its order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from anystream.estimators.parameters import check_choice, check_float, check_int, resolve_threads

Base = Literal["extra_trees", "random_forest", "hist_gradient_boosting"]
OrderName = Literal["auto", "training", "contenders", "breadth_first", "squirrel", "gain"]
_WHOLE_TREES = ("auto", "training", "contenders", "gain")


@dataclass(frozen=True, slots=True)
class ForestRecipe:
    """Checked parameters of `AnytimeForestClassifier`.

    Parameters
    ----------
    base : str
        Ensemble of scikit-learn to train.
    n_estimators : int
        Number of trees, or of rounds of boosting.
    base_parameters : dict
        Further parameters of scikit-learn's class.
    order : str
        Name of the order.
    threads : int
        0 is one per core.
    random_state : int
        Seed of the training and of the hold-out.
    confidence : float, optional
        Share of the answers that must agree with all trees if the work ends early.
    """

    base: Base
    n_estimators: int
    base_parameters: dict[str, Any]
    order: OrderName
    threads: int
    random_state: int
    confidence: float | None = None

    @classmethod
    def resolve(
        cls,
        *,
        base: object,
        n_estimators: object,
        base_parameters: object,
        order: object,
        n_jobs: object,
        random_state: object,
        confidence: object = None,
    ) -> Self:
        """Check the parameters; raise ValueError if one is invalid."""
        if base_parameters is not None and not isinstance(base_parameters, Mapping):
            raise ValueError(f"base_parameters is {base_parameters!r}; use a dict of scikit-learn's parameters or None")
        order_name = check_choice("order", order, get_args(OrderName))
        return cls(
            check_choice("base", base, get_args(Base)),
            check_int("n_estimators", n_estimators, 1),
            dict(base_parameters or {}),
            order_name,
            resolve_threads(n_jobs),
            check_int("random_state", random_state),
            None if confidence is None else _check_confidence(confidence, order_name),
        )


def _check_confidence(confidence: object, order: str) -> float:
    share = check_float("confidence", confidence)
    if not 0.5 <= share < 1:
        raise ValueError(f"confidence is {confidence!r}; use a share of answers from 0.5 to below 1, or None")
    if order not in _WHOLE_TREES:
        raise ValueError(f"confidence needs an order that reads whole trees ({', '.join(_WHOLE_TREES)}), not {order!r}")
    return share
