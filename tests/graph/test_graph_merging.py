"""Merging of KAOG and KAOGINC models."""

import numpy as np
import pytest

from anystream.anytime.checks import three_clusters
from anystream.graph import KAOGClassifier, KAOGINCClassifier


def test_merged_stream_models_contain_what_each_of_them_has_learned():
    X, y = three_clusters(600)
    parts = [KAOGINCClassifier().fit(X[part], y[part]) for part in (slice(0, 200), slice(200, 600))]
    whole = KAOGINCClassifier.merge(parts)
    assert whole.principal_.components.n_vertices + len(whole.open_batch_) == 600
    assert (np.diff(whole.principal_.components.batch_number) >= 0).all()
    assert whole.score(*three_clusters(300, seed=4)) > 0.9


def test_open_batches_of_merged_models_are_learned_when_they_become_full():
    X, y = three_clusters(120)
    parts = [KAOGINCClassifier().fit(X[part], y[part]) for part in (slice(0, 60), slice(60, 120))]
    whole = KAOGINCClassifier.merge(parts)
    assert whole.principal_.n_batches == 1
    assert len(whole.open_batch_) == 40


def test_static_graphs_are_merged_to_their_union():
    X, y = three_clusters(300)
    parts = [KAOGClassifier().fit(X[part], y[part]) for part in (slice(0, 150), slice(150, 300))]
    whole = KAOGClassifier.merge(parts)
    assert len(whole.components_) == sum(len(part.components_) for part in parts)
    assert whole.score(*three_clusters(300, seed=4)) > 0.9


def test_models_that_do_not_fit_together_are_rejected():
    X, y = three_clusters(100)
    model = KAOGINCClassifier().fit(X, y)
    with pytest.raises(ValueError, match="there is no model"):
        KAOGINCClassifier.merge([])
    with pytest.raises(ValueError, match="different views"):
        KAOGINCClassifier.merge([model, KAOGINCClassifier(moments=False).fit(X, y)])
    with pytest.raises(ValueError, match="features"):
        KAOGINCClassifier.merge([model, KAOGINCClassifier().fit(X[:, :2], y)])
