"""Ensembles with every kind of split, drawn at random."""

import numpy as np
from hypothesis import strategies as st

from anystream.forest import Link, TreeEnsemble
from anystream.forest.joining import ImportedTree, join_trees, pack_categories

N_FEATURES = 4  # the last two hold categories: numbers themselves, and listed values
LISTED = np.array([-7.0, 2.5, 100.0])


@st.composite
def random_ensembles(draw, *, trees_per_class=False, numbers_only=False):
    """Draw an ensemble.

    With `trees_per_class` the trees add to one of several classes each. With `numbers_only` there are no splits on
    categories, and zero is missing in all splits of a feature or in none: such nodes are packed into 8 bytes.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(2, 4))
    links = [Link("softmax"), Link("one_vs_all", scale=0.5)]
    link = draw(st.sampled_from(links if trees_per_class else [Link("sigmoid"), *links, Link("mean")]))
    n_outputs = link.n_outputs(2 if link.kind == "sigmoid" else n_classes)
    width = n_outputs if link.kind == "mean" else draw(st.sampled_from([1] if trees_per_class else [1, n_outputs]))
    single = link.kind != "mean" and draw(st.booleans())
    n_features = 2 if numbers_only else N_FEATURES
    trees = [
        random_tree(rng, draw(st.integers(1, 4 if numbers_only else 9)), width, n_features)
        for _ in range(draw(st.integers(1, 18 if numbers_only else 6)))  # 16 packed trees are read at once
    ]
    if numbers_only:
        zero_missing = rng.random(n_features) < 0.3
        for tree in trees:
            tree.zero_missing[:] = zero_missing[tree.feature]
            tree.threshold[:] += rng.choice([0.0, 0.25, 0.1], len(tree.threshold))  # the last is no float32 number
            if single:
                tree.threshold[:] = tree.threshold.astype(np.float32)
    output = rng.integers(0, n_outputs, len(trees)) if width == 1 else np.full(len(trees), -1)
    if link.kind == "mean":
        weights = rng.integers(1, 3, len(trees))  # as of merged forests
        for tree, weight in zip(trees, weights.tolist(), strict=True):
            tree.value[:] = rng.dirichlet(np.full(n_outputs, 0.2), len(tree.value)).round(2)
            tree.value[:] *= weight / tree.value.sum(axis=1, keepdims=True)
        sums = {"base": np.zeros(n_outputs), "divisor": float(weights.sum())}
        return make_ensemble(trees, link=link, output=output.astype(np.int32), n_outputs=n_outputs, **sums)
    return make_ensemble(trees, link=link, output=output.astype(np.int32), n_outputs=n_outputs, single=single)


def any_ensembles(**options):
    """Draw ensembles with every kind of split, or with those that are packed."""
    return st.one_of(random_ensembles(**options), random_ensembles(numbers_only=True, **options))


def make_ensemble(trees, *, link, output, n_outputs, single=False, **changes):
    fields = {
        "output": output,
        "base": np.linspace(-1, 1, n_outputs),
        "divisor": 3.0,
        "link": link,
        "single_records": single,
        "single_sums": single,
        "accepts_missing": True,
        "classes": np.arange(2 if link.kind == "sigmoid" else n_outputs),
        "n_features": N_FEATURES,
        "feature_names": None,
        "categories": {3: LISTED},
        "min_category": -0.5,
        "source": "random",
    }
    return TreeEnsemble(**join_trees(trees), **(fields | changes))


def random_tree(rng, n_leaves, width, n_features=N_FEATURES):
    """Return a tree that was grown by splitting random leaves, with its nodes in random order."""
    left, right, leaves = [-1], [-1], [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(rng.integers(len(leaves)))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [len(left), len(left) + 1]
        left += [-1, -1]
        right += [-1, -1]
    order = np.concatenate([[0], 1 + rng.permutation(len(left) - 1)])  # order[old] = new
    n_nodes = len(left)
    renamed = [np.full(n_nodes, -1), np.full(n_nodes, -1)]
    for side, children in zip(renamed, (left, right), strict=True):
        side[order] = [order[child] if child >= 0 else -1 for child in children]
    feature = rng.integers(0, n_features, n_nodes)
    on_categories = np.flatnonzero((feature >= 2) & (renamed[0] >= 0)).tolist()
    n_categories = {2: 70, 3: len(LISTED)}
    return ImportedTree(
        feature=feature,
        threshold=rng.integers(-2, 3, n_nodes).astype(float),
        left=renamed[0],
        right=renamed[1],
        missing_left=rng.random(n_nodes) < 0.5,
        zero_missing=rng.random(n_nodes) < 0.3,
        value=rng.normal(size=(n_nodes, width)),
        cover=rng.integers(1, 50, n_nodes).astype(float),
        category_words={
            node: pack_categories(np.flatnonzero(rng.random(n_categories[feature[node]]) < 0.5))
            for node in on_categories
        },
    )


def random_records(rng, n_records=40):
    """Return records at and beside the thresholds, with NaN, zeros and values that are no category."""
    numbers = rng.choice(
        [-2.0, -1, 0, 1, 2, np.nextafter(1, 2), np.nextafter(-1, -2), 1e-36, -1e-36, 0.1, 1.1, -0.75, 0.3],
        (n_records, 2),
    )
    codes = rng.choice([*range(-1, 75), -0.25, 5.9, 1e12], n_records)
    listed = rng.choice([*LISTED, 2.0, 0.0, np.nextafter(2.5, 3)], n_records)
    records = np.column_stack([numbers, codes, listed])
    records[rng.random(records.shape) < 0.1] = np.nan
    return records
