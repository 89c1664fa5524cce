"""Files, pickles and merging of LOCUST models."""

import pickle

import numpy as np
import pytest
from locust_cases import FORMS, blobs

from anystream import ModelFileError, load
from anystream.model_file import read_model, write_model
from anystream.subspace import BlockLocustClassifier, LocustClassifier

pytestmark = pytest.mark.filterwarnings("ignore:.*cannot be mapped:RuntimeWarning")


@pytest.mark.parametrize("form", FORMS)
def test_a_model_learns_the_same_after_a_file_or_a_pickle(form, tmp_path):
    X, y = blobs(3000, d=6)
    X[:, 5] = (X[:, 5] > 0) * 3.0
    parameters = {"categorical": [5]} | ({"block_size": 400} if form is BlockLocustClassifier else {"level_size": 128})
    model = form(**parameters).fit(X[:2000], y[:2000])
    model.save(tmp_path / "model.safetensors")
    twins = [
        load(tmp_path / "model.safetensors", mmap=True),
        pickle.loads(pickle.dumps(model)),
    ]
    for each in (model, *twins):
        each.partial_fit(X[2000:], y[2000:])
    for twin in twins:
        assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("form", FORMS)
def test_damaged_arrays_are_rejected(form, tmp_path):
    X, y = blobs(300)
    path = tmp_path / "model.safetensors"
    form().fit(X, y).save(path)
    sound = read_model(path)
    arrays = sound.arrays
    changes = {
        "point_class": lambda a: a + 7,
        "cut": lambda a: a[::-1].copy(),
        "cut_end": lambda a: a * 0 + a.max(),
        **(
            {"level_state": lambda a: a * 9, "arrival": lambda a: a + 10**9, "regret": lambda a: a[:1]}
            if form is LocustClassifier
            else {"block_size": lambda a: a + 1, "code": lambda a: a * 0 + 200, "state": lambda a: a * 0 + 5}
        ),
    }
    for name, change in changes.items():
        damaged = arrays | {name: change(arrays[name])}
        write_model(path, kind=sound.kind, version=sound.version, metadata=sound.metadata, arrays=damaged)
        with pytest.raises(ModelFileError):
            load(path)


def test_merging_keeps_the_newest_points_of_all_parts():
    X, y = blobs(4000)
    parts = [LocustClassifier(level_size=128).fit(X[k::2], y[k::2]) for k in (0, 1)]
    whole = LocustClassifier.merge(parts)
    assert whole.model_.seen == 4000
    assert whole.model_.level_sizes == [128, 128, 128, 74]
    assert whole.score(X, y) > 0.8
    whole.partial_fit(X[:100], y[:100])
