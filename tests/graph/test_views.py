"""Views, and the selection of one of them by its error: in isolation and on streams."""

import numpy as np
from kaoginc_cases import QUERIES, learn_stream, swapping_stream

from anystream.graph import KAOGINCClassifier
from anystream.graph.recipe import StreamRecipe
from anystream.graph.views import View, ViewSelection, list_views
from anystream.streams import SEA, Sine


def test_views_are_every_floor_with_every_metric_and_the_moments_last():
    views = list_views((0.0, 0.5), weighted=True, moments=True)
    assert [view.floor for view in views] == [0.0, 0.5, 0.0, 0.5, 0.0]
    assert [view.weighted for view in views] == [False, False, True, True, False]
    assert [view.moments for view in views] == [False, False, False, False, True]


def test_the_view_with_the_lowest_recent_error_is_selected():
    views = list_views((0.0, 0.5), weighted=True, moments=True)
    selection = ViewSelection.start(views)
    assert selection.best_index == 0
    selection = selection.observe(np.array([0.3, 0.2, 0.3, 0.3, 0.1]))
    assert selection.best_index == 4
    assert selection.best == views[4]
    assert selection.best_graph_view == views[1]
    for _ in range(30):
        selection = selection.observe(np.array([0.1, 0.2, 0.3, 0.3, 0.3]))
    assert selection.best_index == 0


def test_the_minimum_neighbourhood_grows_with_the_square_root_of_the_vertices():
    assert View(0.3, False).min_k(3000) == 16
    assert View(0.0, False).min_k(3000) == 1


def test_the_irrelevant_feature_of_sea_gets_a_low_weight():
    model = learn_stream(KAOGINCClassifier(), SEA(seed=1, n_records=1600))
    scale = model.principal_.metric.scale(weighted=True)
    assert scale[2] < 0.3 * min(scale[0], scale[1])


def test_the_metric_parameter_switches_scaling_and_weights_off():
    plain = learn_stream(KAOGINCClassifier(metric="plain"), SEA(seed=1, n_records=160))
    settings = {name: value for name, value in plain.get_params().items() if name != "calibrate"}
    assert plain.principal_.scale(StreamRecipe.resolve(**settings)).tolist() == [1.0, 1.0, 1.0]
    scaled = learn_stream(KAOGINCClassifier(metric="scaled"), SEA(seed=1, n_records=160))
    assert not scaled.principal_.metric.relief.any()


def test_noise_makes_the_neighbourhoods_larger():
    def selected_floor(noise):
        stream = Sine(seed=2, noise=noise, n_records=2400)
        return learn_stream(KAOGINCClassifier(moments=False), stream).view_.floor

    assert selected_floor(0.0) < selected_floor(0.3)


def test_the_moments_classify_where_classes_are_gaussian_and_need_no_steps():
    model = learn_stream(KAOGINCClassifier(calibrate=False), swapping_stream(2400, 2399))
    assert model.view_.moments
    answer = model.classify(QUERIES)
    assert answer.certified.all()
    assert not answer.steps.any()
    log_joint = model.principal_.moments(2).log_joint(QUERIES)
    expected = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    np.testing.assert_allclose(answer.proba, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    assert not learn_stream(KAOGINCClassifier(moments=False), swapping_stream(800, 799)).view_.moments
