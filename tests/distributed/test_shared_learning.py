"""Learning by partitions whose models are merged."""

import numpy as np
import pytest
from streams_of_parts import KillingJob, write_model, write_stream

from anystream import AnytimeNeighborsClassifier, BayesTreeClassifier, LocustClassifier, load
from anystream.distributed import Partition, StreamJob, make_partitions, supervise
from anystream.distributed.shared_learning import ModelRounds, SharedLearner, check_can_share
from anystream.drift import OnlineTree2

pytestmark = pytest.mark.slow

RANDOM = np.random.default_rng(0)
Y = np.arange(600) % 3
X = RANDOM.normal(size=(600, 3)) + 2 * Y[:, None]


@pytest.mark.parametrize(
    "estimator",
    [BayesTreeClassifier(metric="whiten", root_model=None), BayesTreeClassifier(root_model=0.5), LocustClassifier()],
)
def test_what_an_empty_twin_learns_is_merged_with_its_model(estimator, tmp_path):
    base = estimator.fit(X[:200], Y[:200])
    twin = base.empty_twin()
    twin.partial_fit(X[200:], Y[200:])
    twin.save(tmp_path / "twin.safetensors")
    merged = type(base).merge([base, load(tmp_path / "twin.safetensors")])
    if isinstance(base, BayesTreeClassifier):
        assert len(merged.forest_.arrays()["point_class"]) == 600
        assert merged.recipe_ == base.recipe_
    assert merged.score(X, Y) > 0.9


def test_a_model_that_cannot_be_shared_says_so():
    with pytest.raises(TypeError, match="OnlineTree2 cannot be learned by several workers"):
        check_can_share(OnlineTree2())
    with pytest.raises(ValueError, match="neighbours cannot start empty"):
        check_can_share(AnytimeNeighborsClassifier().fit(X, Y))


def test_a_shared_learner_answers_with_the_installed_model():
    base = LocustClassifier().fit(X[:200], Y[:200])
    learner = SharedLearner(base, None)
    assert learner.model is base
    assert learner.learned_model() is None
    assert learner.state()[0] is base
    other = LocustClassifier().fit(X, Y)
    learner.install(other)
    assert learner.model is other
    learner.close()


def test_rounds_merge_in_the_order_of_the_partitions(tmp_path):
    model = write_model(tmp_path / "model.safetensors")
    partitions = [Partition(f"p{i}", "", "", None, str(tmp_path / f"p{i}")) for i in range(3)]
    rounds = ModelRounds(model, partitions, tmp_path, 1.0)
    assert len(rounds.finish().forest_.arrays()["point_class"]) == 300
    for number in (2, 0):
        (tmp_path / f"p{number}").mkdir()
        twin = load(model).empty_twin().partial_fit(X[number::3], Y[number::3])
        twin.save(tmp_path / f"p{number}" / "learned.safetensors")
    merged = rounds.finish().forest_.arrays()
    assert merged["point_class"][300:].tolist() == [*Y[0::3], *Y[2::3]]


def test_the_learned_model_does_not_depend_on_kills(tmp_path):
    paths = write_stream(tmp_path, 2, 1500)
    model = write_model(tmp_path / "model.safetensors")
    learned = []
    for name, kills in (("calm", ()), ("killed", (("part-00.csv", 700),))):
        folder = tmp_path / name
        folder.mkdir()
        stream_job = StreamJob(model=model, every_records=300, learn=True, merged_folder=str(folder), merge_every_s=0.2)
        partitions = make_partitions(paths, checkpoints=folder / "c", outputs=folder)
        rounds = ModelRounds(model, partitions, folder, 0.2)
        job = KillingJob(stream_job, str(folder), kills)
        report = supervise(job, partitions, workers=1, rounds=rounds)
        assert report.lost == len(kills)
        assert sum(result.learned for result in report.results.values()) == report.summary.answered
        learned.append(rounds.finish())
    calm, killed = (model.forest_.arrays() for model in learned)
    assert len(calm["point_class"]) == 300 + report.summary.answered
    np.testing.assert_array_equal(killed["points"], calm["points"])
    np.testing.assert_array_equal(learned[1].predict_proba(X), learned[0].predict_proba(X))
