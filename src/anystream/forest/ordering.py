"""Choice of the order of an ensemble."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from anystream.forest.data_orders import squirrel_order
from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.native_forest import NONE, build_native_forest
from anystream.forest.orders import breadth_first_order, training_order, tree_depths
from anystream.forest.recipe import ForestRecipe
from anystream.forest.training import train_ensemble
from anystream.forest.whole_trees import expected_scores, gain_order, has_trees_per_class

MEASURED = {"squirrel": squirrel_order, "gain": gain_order}
"""Orders that need data."""
_MAX_HELD_OUT = 2_000
_SHARE = 0.2  # of the training data that is held out
_JUDGED_AT = (1 / 100, 1 / 30, 1 / 10, 1 / 3)  # of the steps that all trees take


@dataclass(frozen=True, slots=True, eq=False)
class ReadingOrder:
    """How queries read the trees.

    Parameters
    ----------
    slots : array of shape (max_steps,)
        Tree that each step advances.
    expected : array
        What the winning class gains by 0, 1, ... of its trees, if every record has an order of its own; otherwise
        empty.
    """

    slots: NDArray[np.int32]
    expected: NDArray[np.float64]


def choose_order(recipe: ForestRecipe, ensemble: TreeEnsemble) -> ReadingOrder:
    """Return the order of a recipe for an ensemble without data; tree after tree instead of measured ones.

    By default, boosted ensembles with trees for each class read those of the classes that can still win.
    """
    depths = tree_depths(ensemble)
    per_class = has_trees_per_class(ensemble)
    if recipe.order == "contenders" and not per_class:
        raise ValueError(
            f"order 'contenders' is for boosted models with trees for each class, not for {ensemble.source}; use 'auto'"
        )
    if recipe.order in ("auto", "contenders") and per_class:
        return ReadingOrder(training_order(depths), expected_scores(ensemble))
    slots = breadth_first_order(depths) if recipe.order == "breadth_first" else training_order(depths)
    return ReadingOrder(slots, NONE)


def measure_order(
    recipe: ForestRecipe, ensemble: TreeEnsemble, records: NDArray[np.float64], numbers: NDArray[np.int32]
) -> ReadingOrder:
    """Return the order of a recipe, measured on records that the ensemble was not trained on.

    ``"auto"``: the gain order of one half of the records, if the other half prefers it to tree after tree.
    """
    seed = recipe.random_state
    if recipe.order in MEASURED:
        return ReadingOrder(MEASURED[recipe.order](ensemble, records, numbers, seed), NONE)
    plain = choose_order(recipe, ensemble)
    if recipe.order != "auto" or len(plain.expected) or len(records) < 2:
        return plain
    shuffled = np.random.default_rng(seed).permutation(len(records))
    one, other = shuffled[: len(records) // 2], shuffled[len(records) // 2 :]
    gain = ReadingOrder(gain_order(ensemble, records[one], numbers[one], seed), NONE)
    judged = [_mean_accuracy(ensemble, each, records[other], numbers[other], recipe.threads) for each in (plain, gain)]
    return gain if judged[1] > judged[0] else plain


def _mean_accuracy(
    ensemble: TreeEnsemble,
    order: ReadingOrder,
    records: NDArray[np.float64],
    numbers: NDArray[np.int32],
    threads: int,
) -> float:
    """Return the accuracy on the records, averaged over some budgets."""
    forest = build_native_forest(ensemble, order.slots, order.expected)
    records = np.ascontiguousarray(records[:_MAX_HELD_OUT])
    stages = np.array([max(round(share * forest.max_steps), 1) for share in _JUDGED_AT])
    proba = np.empty((len(records), len(stages), len(ensemble.classes)))
    forest.answer_in_stages(records, stages, threads, proba.reshape(-1))
    return float((proba.argmax(axis=2) == numbers[: len(records), None]).mean())


def order_for_new_model(
    recipe: ForestRecipe, records: NDArray[np.float64], numbers: NDArray[np.int32]
) -> ReadingOrder | None:
    """Return the order that held-out records prefer for trees trained on the others; None if the order needs no data.

    The same seeds train the ensemble of all records, whose trees take the places of these. With too few records or
    classes to hold some out there is none.
    """
    counts = np.bincount(numbers)
    held_out = min(int(len(records) * _SHARE), _MAX_HELD_OUT)
    if recipe.order not in MEASURED or (counts[counts > 0] < 2).any() or held_out < max(len(counts), 2):
        return None
    split = train_test_split(records, numbers, test_size=held_out, stratify=numbers, random_state=recipe.random_state)
    trained = train_ensemble(recipe, split[0], split[2])
    if len(trained.classes) < (counts > 0).sum() or len(trained.classes) < 2:
        return None
    return measure_order(recipe, trained, split[1], np.searchsorted(trained.classes, split[3]).astype(np.int32))


def hold_out(
    records: NDArray[np.float64], numbers: NDArray[np.int32], seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to train on, with all classes, and a fifth of all that is kept from the training."""
    rows = np.random.default_rng(seed).permutation(len(records))
    first_of_class = np.unique(numbers[rows], return_index=True)[1]
    rows = np.concatenate([np.delete(rows, first_of_class), rows[first_of_class]])
    n_held = int(len(records) * _SHARE)
    return np.sort(rows[n_held:]), np.sort(rows[:n_held])
