"""The papers' ways of constructions, covariances and margin maximisation are options, and bt_star uses them."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

from anystream import BayesTreeClassifier
from bayes_tree.blobs import blobs
from bayes_tree.plain import plain
from bayes_tree.shapes import assert_same, build_shape, clustered
from reference.mixture_reduction import goldberger


def test_bt_star_has_every_printed_option():
    model = BayesTreeClassifier.bt_star()
    assert model.construction_options == {"sample": None}
    assert model.covariance_options == {"shrinkage": 0.0, "min_records": 0.0}
    assert model.margin_options == {"weights": True, "min_records": 0.0, "floor": False}
    assert model.refined_classes == "printed"
    assert BayesTreeClassifier.bt_star(construction="hilbert").construction_options is None
    by_em = BayesTreeClassifier.bt_star(construction="virtual_sampling")
    assert by_em.construction_options == {"window": None, "tolerance": 0.0}
    X, y = blobs(60)
    for each in (model, by_em, BayesTreeClassifier.bt_star(construction="hilbert", covariance="full", margin_levels=1)):
        assert each.fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"construction_options": {"window": 9}}, "construction_options has 'window'; em_top_down has sample"),
        (
            {"construction": "hilbert", "construction_options": {"sample": 9}},
            "construction_options has 'sample'; hilbert has no options",
        ),
        ({"construction_options": {"sample": 1}}, r"construction_options\['sample'\] is 1"),
        ({"construction_options": "all"}, "construction_options is 'all'; use a dict"),
        ({"covariance_options": {"shrinkage": -1}}, r"covariance_options\['shrinkage'\] is -1"),
        ({"covariance_options": {"sample": 1}}, "covariance has shrinkage, min_records"),
        ({"margin_options": {"weights": "yes"}}, r"margin_options\['weights'\] is 'yes'"),
    ],
)
def test_an_unknown_or_invalid_option_is_named(parameters, message):
    X, y = blobs(30)
    with pytest.raises(ValueError, match=message):
        plain(**parameters).fit(X, y)


@pytest.mark.parametrize(("n_classes", "k"), [(2, 1), (3, 1), (4, 2), (9, 2)])
def test_the_printed_k_is_the_smaller_of_two_and_the_logarithm(n_classes, k):
    X, y = blobs(400, d=3, classes=n_classes)
    model = plain(refined_classes="printed").fit(X, y)
    proba = model.predict_proba(X, budget=9)
    np.testing.assert_array_equal(proba, model.set_params(refined_classes=k).predict_proba(X, budget=9))
    assert not np.array_equal(proba, model.set_params(refined_classes="auto").predict_proba(X, budget=9))


def test_covariances_without_shrinkage_are_those_of_the_records():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4)) @ random.normal(size=(4, 4))
    y = np.repeat([0, 1], 30)
    X[y == 1] += 0.5
    exact = {"covariance": "full", "covariance_levels": 1, "inner_variance": "plain", "decision": "mixture"}
    printed = plain(**exact, covariance_options={"shrinkage": 0, "min_records": 0}).fit(X, y)
    densities = []
    for c in (0, 1):
        own = X[y == c]
        covariance = np.cov(own.T, bias=True) * (0.999 + 0.001 * np.eye(4))  # what makes any matrix invertible
        densities.append(multivariate_normal.logpdf(X, own.mean(axis=0), covariance))
    expected = log_softmax(np.transpose(densities), axis=1)
    np.testing.assert_allclose(np.log(printed.predict_proba(X, budget=0)), expected, rtol=1e-3, atol=1e-3)
    shrunk = plain(**exact).fit(X, y)
    assert np.abs(np.log(shrunk.predict_proba(X, budget=0)) - expected).max() > 0.05


def test_entries_of_any_size_may_have_covariances():
    X, y = blobs(200, d=4)
    counts = [
        len(plain(covariance="full", covariance_options=options).fit(X, y).forest_.arrays()["covariance_count"])
        for options in (None, {"min_records": 0}, {"min_records": 30})
    ]
    assert counts[2] < counts[0] < counts[1]


def entry_rows(model):
    """Return the precisions and log2 counts of all entries that margin maximisation moved."""
    arrays, entries, d = model.forest_.arrays(), model.forest_.entries(), model.n_features_in_
    lanes = ((arrays["head"] >> np.uint64(40)) & np.uint64(0xFF)).astype(int) * 4
    moved = (arrays["head"] >> np.uint64(58) & np.uint64(1)).astype(bool)
    inner = [e for e, child in enumerate(entries["child"]) if child >= 0 and moved[child]]
    at, lane_count = entries["offset"][inner], lanes[entries["node"][inner]]
    precision = np.array([arrays["blob"][a - np.arange(3, d + 3) * n] for a, n in zip(at, lane_count, strict=True)])
    count = 2.0 ** np.array([arrays["blob"][a - n] for a, n in zip(at, lane_count, strict=True)])
    return entries["child"][inner], precision, count, arrays["node_count"][entries["child"][inner]]


def test_margin_maximisation_as_printed_moves_weights_and_small_entries_below_the_kernel():
    X, y = blobs(600, d=3)
    X *= 0.6
    fitted = {
        name: plain(covariance="diagonal", margin_levels=4, margin_options=options).fit(X, y)
        for name, options in {
            "guarded": None,
            "weights": {"weights": True},
            "small": {"min_records": 0},
            "no floor": {"min_records": 0, "floor": False},
        }.items()
    }
    rows = {name: entry_rows(model) for name, model in fitted.items()}
    for name in ("guarded", "small"):
        np.testing.assert_allclose(rows[name][2], rows[name][3], rtol=1e-5)
    assert np.abs(rows["weights"][2] / rows["weights"][3] - 1).max() > 0.01
    assert rows["guarded"][3].min() >= 10 > rows["small"][3].min()
    kernel = fitted["small"].forest_.arrays()["kernel_precision"]
    assert (rows["small"][1] <= 1.001 * kernel[::-1]).all()  # rows are read from the last feature on
    assert (rows["no floor"][1] > 1.1 * kernel[::-1]).any()
    for model in fitted.values():
        proba = model.predict_proba(X, budget=5)
        assert np.isfinite(proba).all()
        assert np.allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("method", ["goldberger", "virtual_sampling"])
def test_without_a_window_entries_are_compared_with_all_groups(method):
    points, variance = clustered(300, 2, 30, seed=3, spread=0.3), np.full(2, 0.05)  # 150 groups: not all are near
    near, everything = (build_shape(method, points, 3, kernel_variance=variance, window=w) for w in (8, None))
    assert not np.array_equal(near[1], everything[1])
    if method == "goldberger":
        assert_same(everything, goldberger(points, 3, variance))


def test_a_split_is_fitted_to_a_sample_or_to_all_records():
    X, y = blobs(900, d=3, classes=1)

    def tree(sample):
        model = plain(construction_options={"sample": sample}).fit(X, y)
        return model.forest_.entries()["child"].tolist()

    assert tree(None) == tree(900) == tree(2000)
    assert tree(None) != tree(60)
