"""Recipes: every "auto" is resolved once, and a recipe from a file is checked like parameters."""

import pytest

from anystream.bayes_tree.recipe import ForestRecipe, QueryRecipe, cached_query_settings

PARAMETERS = {
    "metric": "auto",
    "bandwidth": "auto",
    "decision": "auto",
    "root_model": "auto",
    "construction": "em_top_down",
    "fanout": 7,
    "inner_variance": "max",
    "covariance": "auto",
    "covariance_levels": 2,
    "margin_levels": 0,
    "margin_kappa": 1,
    "margin_lambda": 0.1,
    "window": None,
    "seed": 0,
}


def resolve(n_features=4, **changes):
    return ForestRecipe.resolve(n_features=n_features, **(PARAMETERS | changes))


def test_auto_becomes_a_default_and_is_listed_as_undecided():
    recipe = resolve()
    assert (recipe.metric, recipe.bandwidth, recipe.decision, recipe.root_weight) == (None, "f0.05", "ensemble", None)
    assert recipe.undecided == ("metric", "bandwidth", "decision", "root_weight")
    assert recipe.decided().undecided == ()
    assert "auto" not in vars(recipe).values()


@pytest.mark.parametrize(
    ("changes", "undecided"),
    [
        ({"metric": None}, ("root_weight",)),
        ({"metric": "whiten", "root_model": None}, ()),
        ({"bandwidth": "f0.1"}, ("metric", "decision", "root_weight")),
        ({"decision": "nearest", "root_model": 0.3}, ("metric", "bandwidth")),
        ({"n_features": 257}, ("metric", "bandwidth", "decision")),
    ],
)
def test_bandwidth_and_decision_are_chosen_only_together_with_the_metric(changes, undecided):
    assert resolve(**changes).undecided == undecided


@pytest.mark.parametrize(
    ("covariance", "n_features", "expected"), [("auto", 256, "full"), ("auto", 257, "diagonal"), ("full", 300, "full")]
)
def test_covariances_depend_on_the_number_of_features(covariance, n_features, expected):
    assert resolve(n_features, covariance=covariance).covariance == expected


@pytest.mark.parametrize("changes", [{}, {"metric": "quantile+whiten", "root_model": 0.3, "covariance": 3}])
def test_a_recipe_is_restored_from_json(changes):
    recipe = resolve(**changes).decided()
    assert ForestRecipe.from_json(recipe.to_json(), 4) == recipe


@pytest.mark.parametrize(
    "change", [{"metric": "auto"}, {"fanout": 1}, {"seed": "x"}, {"covariance": "auto"}, {"colour": "red"}]
)
def test_an_invalid_recipe_in_json_raises_an_error(change):
    with pytest.raises((TypeError, ValueError)):
        ForestRecipe.from_json(resolve().decided().to_json() | change, 4)
    incomplete = resolve().to_json()
    del incomplete["root_weight"]
    with pytest.raises(KeyError):
        ForestRecipe.from_json(incomplete, 4)


def test_settings_of_queries_are_cached_by_value_and_type():
    valid = ("global_best", 2, "accuracy", "mixture", 0.5)
    assert cached_query_settings(*valid) is cached_query_settings(*valid)
    with pytest.raises(ValueError, match=r"refined_classes is 2\.0"):
        cached_query_settings("global_best", 2.0, "accuracy", "mixture", 0.5)
    with pytest.raises(ValueError, match="descent is 'random'"):
        QueryRecipe("random", "auto", "accuracy").settings("mixture", None)
