"""Records without features: texts and objects."""

import pandas as pd
import pytest

from anystream import load
from anystream.neighbors import AnytimeNeighborsClassifier

NAMES, LANGUAGES = ["Meier", "Maier", "Rossi", "Russo"], ["de", "de", "it", "it"]


def test_a_stream_of_texts_can_start_with_partial_fit():
    model = AnytimeNeighborsClassifier(metric="edit")
    for name, language in zip(NAMES, LANGUAGES, strict=True):
        model.partial_fit([name], [language], classes=["fr"])
    assert model.classes_.tolist() == ["fr", "de", "it"]
    assert model.predict(["Mayer", "Rosso"]).tolist() == ["de", "it"]
    assert not hasattr(model, "n_features_in_")


def test_a_first_partial_fit_that_fails_leaves_the_model_unfitted():
    model = AnytimeNeighborsClassifier(metric="edit")
    before = dict(vars(model))
    with pytest.raises(ValueError, match="compares texts"):
        model.partial_fit(["Meier", 3], ["de", "de"])
    assert vars(model) == before


def test_a_window_evicts_the_oldest_texts_and_a_file_keeps_it(tmp_path):
    model = AnytimeNeighborsClassifier(metric="edit", window=2).partial_fit(NAMES, LANGUAGES)
    model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    for twin in (model, loaded):
        assert twin.predict(["Meier"]).tolist() == ["it"]
        assert len(twin.partial_fit(["Dupont"], ["fr"]).exemplars_) == 2


def test_a_model_of_vectors_can_be_fitted_again_on_texts(tmp_path):
    model = AnytimeNeighborsClassifier().fit(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), [0, 1])
    model.set_params(metric="edit").fit(NAMES, LANGUAGES)
    model.save(tmp_path / "model.safetensors")
    for twin in (model, load(tmp_path / "model.safetensors")):
        assert twin.predict(["Mayer", "Rosso"]).tolist() == ["de", "it"]
        assert not any(hasattr(twin, name) for name in ("n_features_in_", "feature_names_in_", "columns_"))


def test_models_of_texts_merge():
    parts = [
        AnytimeNeighborsClassifier(metric="edit").fit(NAMES[half], LANGUAGES[half])
        for half in (slice(0, 2), slice(2, 4))
    ]
    whole = AnytimeNeighborsClassifier.merge(parts)
    assert whole.predict(["Mayer", "Rosso"]).tolist() == ["de", "it"]
    assert whole.partial_fit(["Dupont"], ["fr"]).predict(["Dupond"]).tolist() == ["fr"]


@pytest.mark.parametrize("metric", ["edit", lambda a, b: float(a != b)])
def test_named_features_need_a_metric_for_vectors(metric):
    for model in (
        AnytimeNeighborsClassifier(metric=metric),
        AnytimeNeighborsClassifier(metric=metric).fit(NAMES, LANGUAGES),
    ):
        with pytest.raises(ValueError, match="records of named features need a metric for vectors"):
            model.learn_one({"a": 1.0}, "de")
        with pytest.raises(ValueError, match="records of named features need a metric for vectors"):
            model.predict_many(pd.DataFrame({"a": [1.0]}))
