"""Executable checks of the anytime contract, for the library's classifiers and for users' own.

Each check is a function of an unfitted estimator and raises AssertionError with the broken promise in its message.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from anystream._native import StopToken
from anystream.anytime.answer import Answer
from anystream.anytime.budget import Budget

Check = Callable[[Any], None]


MAX_FALL = 0.05
"""By how much the accuracy on held-out records may fall below that of fewer steps."""

_LARGE = 3000  # records of a large batch
_MAX_REACHED = 64  # of them, those that may be reached without any time


def check_anytime_classifier(estimator: Any, *, max_fall: float = MAX_FALL) -> None:
    """Check that a classifier keeps the anytime contract.

    Parameters
    ----------
    estimator : classifier
        Unfitted, with `fit`, `predict`, `predict_proba`, `classify`, `staged_predict_proba` and `query`. Features are
        numbers; there are up to three classes. `partial_fit`, `snapshot`, `save` and `merge` are checked if the
        classifier has them.
    max_fall : float, default=0.05
        By how much the accuracy on held-out records may fall below that of fewer steps.

    Raises
    ------
    AssertionError
        With the broken promise.

    Examples
    --------
    >>> from anystream import BayesTreeClassifier
    >>> check_anytime_classifier(BayesTreeClassifier())
    """
    for check in yield_anytime_checks(estimator, max_fall=max_fall):
        check()


def yield_anytime_checks(estimator: Any, *, max_fall: float = MAX_FALL) -> Iterator[partial[None]]:
    """Yield the checks, each ready to be called; ``check.func.__name__`` is its name."""
    for check in _CHECKS:
        yield partial(check, clone(estimator))
    yield partial(check_more_steps_do_not_make_it_worse, clone(estimator), max_fall=max_fall)


def three_clusters(n: int = 150, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return small data that every classifier should learn: three overlapping clusters with text labels."""
    random = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 1.0], [0.0, 4.0, -1.0]])
    number = random.integers(0, 3, n)
    number[:3] = range(3)
    return centres[number] + random.normal(size=(n, 3)), np.array(["ant", "bee", "cat"])[number]


def check_every_record_gets_a_label_at_budget_0(estimator: Any) -> None:
    """Budget 0 gives a label and probabilities for every record, in no steps."""
    X, y = three_clusters()
    answer = estimator.fit(X, y).classify(X, budget=0)
    assert isinstance(answer, Answer), "classify must return an Answer"
    _assert_probabilities(answer.proba, (len(X), len(estimator.classes_)))
    assert np.array_equal(answer.steps, np.zeros(len(X))), "classifying at budget 0 must take no steps"
    assert set(answer.labels) <= set(estimator.classes_), "labels must be classes"
    assert answer.elapsed_s >= 0, "elapsed_s must be a duration"


def check_more_steps_do_not_make_it_worse(estimator: Any, *, max_fall: float = MAX_FALL) -> None:
    """The accuracy on held-out records after more steps is at most `max_fall` below that after fewer."""
    (X, y), (Q, labels) = three_clusters(300, seed=1), three_clusters(400, seed=2)
    estimator.fit(X, y)
    best, best_at = 0.0, 0
    stages = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256]
    for steps, proba in zip(stages, estimator.staged_predict_proba(Q, stages=stages), strict=True):
        accuracy = float((estimator.classes_[proba.argmax(axis=1)] == labels).mean())
        assert accuracy >= best - max_fall, (
            f"the accuracy falls from {best:.3f} after {best_at} steps to {accuracy:.3f} after {steps}"
        )
        if accuracy > best:
            best, best_at = accuracy, steps


def check_labels_are_the_most_probable_classes(estimator: Any) -> None:
    """The label has the highest probability, the first of equals."""
    X, y = three_clusters()
    estimator.fit(X, y)
    for budget in (0, 1, 7, None):
        answer = estimator.classify(X, budget=budget)
        assert np.array_equal(answer.labels, estimator.classes_[answer.proba.argmax(axis=1)])
        assert np.array_equal(answer.labels, estimator.predict(X, budget=budget))
        assert np.array_equal(answer.proba, estimator.predict_proba(X, budget=budget))


def check_steps_are_counted_exactly(estimator: Any) -> None:
    """A record takes as many steps as the budget allows, fewer only if its label is certified or confident."""
    X, y = three_clusters()
    estimator.fit(X, y)
    for budget in (1, 2, 5, 17, 40):
        answer = estimator.classify(X, budget=budget)
        assert (answer.steps <= budget).all(), f"more than {budget} steps were taken"
        unfinished = answer.steps < budget
        assert answer.settled[unfinished].all(), f"fewer than {budget} steps, but the label is not certified"


def check_steps_add_up(estimator: Any) -> None:
    """refine(a) followed by refine(b) equals refine(a + b), bit for bit, and reading results changes nothing."""
    X, y = three_clusters()
    estimator.fit(X, y)
    for x in X[:10]:
        for first, second in ((0, 5), (1, 1), (3, 8), (13, 30)):
            split, whole = estimator.query(x), estimator.query(x)
            split.refine(first)
            _ = split.label, split.proba, split.certified, split.exhausted, split.state
            split.refine(second)
            whole.refine(first + second)
            _assert_same_query(split, whole, f"refine({first}) then refine({second})")


def check_queries_equal_batches(estimator: Any) -> None:
    """A query, a batch and the stages of a batch give the same results."""
    X, y = three_clusters()
    estimator.fit(X, y)
    stages = [0, 1, 4, 11, 33]
    staged = list(estimator.staged_predict_proba(X, stages=stages))
    assert len(staged) == len(stages), "one array of probabilities for each stage"
    for steps, proba in zip(stages, staged, strict=True):
        answer = estimator.classify(X, budget=steps)
        assert np.array_equal(answer.proba, proba), f"the stage of {steps} steps differs from a budget of {steps}"
        for i in (0, 5, 77):
            query = estimator.query(X[i]).refine(steps)
            assert np.array_equal(query.proba, proba[i]), f"a query of {steps} steps differs from the batch"
            assert query.steps == answer.steps[i], "a query and a batch count differently"
            assert query.label == answer.labels[i], "a query and a batch decide differently"


def check_results_do_not_depend_on_the_batch(estimator: Any) -> None:
    """The result of a record does not depend on the other records, their order, or the number of threads."""
    X, y = three_clusters()
    estimator.fit(X, y)
    whole = estimator.predict_proba(X, budget=9)
    assert np.array_equal(whole[::-1], estimator.predict_proba(X[::-1], budget=9)), "the order of records matters"
    alone = np.vstack([estimator.predict_proba(x[np.newaxis], budget=9) for x in X[:12]])
    assert np.array_equal(whole[:12], alone), "the size of the batch matters"
    if "n_jobs" in estimator.get_params():
        for n_jobs in (1, 2):
            estimator.set_params(n_jobs=n_jobs)
            assert np.array_equal(whole, estimator.predict_proba(X, budget=9)), "the number of threads matters"


def check_training_is_repeatable(estimator: Any) -> None:
    """Fitting twice on the same data gives the same results, on any number of threads."""
    X, y = three_clusters()
    first = clone(estimator).fit(X, y).predict_proba(X, budget=9)
    if "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=1)
    assert np.array_equal(first, estimator.fit(X, y).predict_proba(X, budget=9)), "fit is not repeatable"


def check_queries_can_be_suspended(estimator: Any) -> None:
    """A query continues, bit for bit, after pickling and from its state."""
    X, y = three_clusters()
    estimator.fit(X, y)
    for steps in (0, 3, 25):
        query = estimator.query(X[1]).refine(steps)
        pickled = pickle.loads(pickle.dumps(query))
        resumed = estimator.query(state=pickle.loads(pickle.dumps(query.state)))
        for other, how in ((pickled, "pickled"), (resumed, "resumed from its state")):
            _assert_same_query(other, query, f"a query that was {how}")
        query.refine(10)
        for other, how in ((pickled, "pickled"), (resumed, "resumed from its state")):
            _assert_same_query(other.refine(10), query, f"refining a query that was {how}")


def check_deadlines_end_the_work(estimator: Any) -> None:
    """A deadline in the past gives the result of budget 0, or of the classes alone; a little time a valid result."""
    X, y = three_clusters()
    estimator.fit(X, y)
    least = estimator.predict_proba(X, budget=0)
    for budget in (Budget(seconds=0), Budget(until=time.monotonic() - 1), timedelta(0)):
        _assert_least(estimator, estimator.classify(X, budget=budget), least, f"{budget}")
    answer = estimator.classify(X, budget=Budget(seconds=0.02))
    _assert_probabilities(answer.proba, least.shape)
    both = estimator.classify(X, budget=Budget(steps=2, seconds=60))
    assert both.steps.max() <= 2, "of several limits the first one reached must end the work"


def check_work_can_be_stopped(estimator: Any) -> None:
    """A token ends the work, before it starts and while it runs in another thread."""
    X, y = three_clusters()
    estimator.fit(X, y)
    token = StopToken()
    token.set()
    answer = estimator.classify(X, budget=Budget(stop=token))
    _assert_least(estimator, answer, estimator.predict_proba(X, budget=0), "a set token")
    assert estimator.query(X[0]).refine(Budget(stop=token)).steps == 0, "a set token must stop a query"
    token.clear()
    many = np.tile(X, (200, 1))
    answers: list[Answer] = []
    worker = threading.Thread(target=lambda: answers.append(estimator.classify(many, budget=Budget(stop=token))))
    worker.start()
    token.set()
    worker.join(60)
    assert answers, "a set token must end the work"
    _assert_probabilities(answers[0].proba, (len(many), len(estimator.classes_)))


def check_large_batches_end_early(estimator: Any) -> None:
    """Without any time only a few records of a large batch are reached: also the work before the first step ends."""
    X, y = three_clusters()
    estimator.fit(X, y)
    many = np.tile(X, (_LARGE // len(X), 1))
    least = estimator.predict_proba(many, budget=0)
    token = StopToken()
    token.set()
    for budget, what in ((Budget(stop=token), "a set token"), (Budget(seconds=0), "a time of 0")):
        answer = estimator.classify(many, budget=budget)
        n_reached = int(np.count_nonzero(answer.reached))
        assert n_reached <= _MAX_REACHED, (
            f"{what} must end a batch of {len(many)} records after at most {_MAX_REACHED}, {n_reached} were reached"
        )
        _assert_least(estimator, answer, least, what)


def check_exhaustion_is_final(estimator: Any) -> None:
    """Without a limit the work ends by itself; certified labels equal those of the exhausted query."""
    X, y = three_clusters()
    estimator.fit(X, y)
    end = estimator.classify(X, budget=Budget())
    assert end.certified.all(), "exhausted records must be certified"
    query = estimator.query(X[0]).refine()
    assert query.certified, "a query without a limit must end certified"
    steps, proba = query.steps, query.proba
    query.refine(5)
    if query.exhausted:
        assert query.steps == steps, "an exhausted query must take no further step"
        assert np.array_equal(query.proba, proba), "an exhausted query must not change"
    for budget in (1, 8, 30):
        answer = estimator.classify(X, budget=budget)
        sure = answer.certified
        assert np.array_equal(answer.labels[sure], end.labels[sure]), "a certified label changed with more work"


def check_classifying_changes_nothing(estimator: Any) -> None:
    """Classifying changes neither the model nor the records, and many threads may classify at once."""
    X, y = three_clusters()
    estimator.fit(X, y)
    before, records = pickle.dumps(estimator), X.copy()
    expected = estimator.predict_proba(X, budget=9)
    results: list[NDArray[np.float64]] = []
    threads = [threading.Thread(target=lambda: results.append(estimator.predict_proba(X, budget=9))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4, "a thread failed"
    assert all(np.array_equal(result, expected) for result in results), "threads disturb each other"
    estimator.query(X[0]).refine(5)
    assert pickle.dumps(estimator) == before, "classifying changed the model"
    assert np.array_equal(X, records), "classifying changed the records"


def check_queries_keep_their_model(estimator: Any) -> None:
    """A query that was opened before the model learned more, or was fitted again, uses the model as it was."""
    X, y = three_clusters()
    query = estimator.fit(X, y).query(X[0]).refine(4)
    label = query.label
    estimator.fit(X, np.array([f"another {each}" for each in y]))
    assert query.label == label, "fitting the model again changed the classes of an open query"
    if not hasattr(estimator, "partial_fit"):
        return
    estimator.fit(X, y)
    expected = estimator.query(X[0]).refine(9)
    query = estimator.query(X[0]).refine(4)
    later_X, later_y = three_clusters(60, seed=1)
    estimator.partial_fit(later_X, later_y)
    assert np.array_equal(query.refine(5).proba, expected.proba), "learning changed an open query"


def check_snapshots_do_not_change(estimator: Any) -> None:
    """Learning changes neither a snapshot through the model nor the model through a snapshot."""
    if not (hasattr(estimator, "partial_fit") and hasattr(estimator, "snapshot")):
        return
    X, y = three_clusters()
    later_X, later_y = three_clusters(60, seed=1)
    snapshot = estimator.fit(X, y).snapshot()
    expected = snapshot.predict_proba(X)
    estimator.partial_fit(later_X + 9.0, later_y)
    assert np.array_equal(snapshot.predict_proba(X), expected), "learning changed a snapshot"
    expected = estimator.predict_proba(X)
    snapshot.partial_fit(later_X - 9.0, later_y)
    assert np.array_equal(estimator.predict_proba(X), expected), "what a snapshot learned changed the model"


def check_learning_continues(estimator: Any) -> None:
    """partial_fit of a batch equals that of its records one by one; new labels may appear."""
    if not hasattr(estimator, "partial_fit"):
        return
    X, y = three_clusters()
    known = y != "cat"
    estimator.partial_fit(X[known][:50], y[known][:50])
    before = list(estimator.classes_)
    one_by_one = pickle.loads(pickle.dumps(estimator))
    estimator.partial_fit(X[50:80], y[50:80])
    for i in range(50, 80):
        one_by_one.partial_fit(X[i : i + 1], y[i : i + 1])
    assert list(estimator.classes_)[: len(before)] == before, "known classes must keep their positions"
    assert "cat" in estimator.classes_, "a new label must become a class"
    columns = [list(one_by_one.classes_).index(label) for label in estimator.classes_]
    np.testing.assert_allclose(
        estimator.predict_proba(X, budget=9),
        one_by_one.predict_proba(X, budget=9)[:, columns],
        err_msg="a batch and its records one by one must give the same model",
    )


def check_models_can_be_saved(estimator: Any) -> None:
    """A saved model gives the same results when it is loaded, read or mapped, and learns further."""
    if not hasattr(estimator, "save"):
        return
    from anystream.model_file import read_model

    X, y = three_clusters()
    estimator.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        estimator.save(path)
        for mapped in (False, True):
            twin = type(estimator).from_file(read_model(path, mmap=mapped), mapped=mapped)
            loaded, saved = (  # as text, because a parameter may be an estimator
                {name: repr(value) for name, value in model.get_params().items()} for model in (twin, estimator)
            )
            assert loaded == saved, "parameters differ after loading"
            for budget in (0, 9):
                assert np.array_equal(twin.predict_proba(X, budget=budget), estimator.predict_proba(X, budget=budget))
            if hasattr(estimator, "partial_fit"):
                twin.partial_fit(*three_clusters(20, seed=2))
            del twin


def check_models_can_be_merged(estimator: Any) -> None:
    """Models of parts merge into a model of the whole that has all classes.

    An estimator whose `mergeable_parts` is "same classes" is fitted on parts that have all of them; "none" has no
    merge.
    """
    parts_of = getattr(estimator, "mergeable_parts", "any")
    if not hasattr(estimator, "merge") or parts_of == "none":
        return
    X, y = three_clusters()
    first = y == "ant" if parts_of == "any" else np.arange(len(y)) % 3 == 0
    parts = [clone(estimator).fit(X[part], y[part]) for part in (first, ~first)]
    whole = type(estimator).merge(parts)
    assert set(whole.classes_) == set(y), "a merged model must have the classes of all parts"
    right = (whole.predict(X, budget=Budget()) == y).mean()
    assert right > 0.8, f"a merged model must have learned from all parts, but only {right:.0%} are right"


def check_missing_values_are_left_out(estimator: Any) -> None:
    """Records with missing values, even with nothing else, get a label."""
    if not estimator.__sklearn_tags__().input_tags.allow_nan:
        return
    X, y = three_clusters()
    estimator.fit(X, y)
    holes = X.copy()
    holes[::2, 2] = np.nan
    right = (estimator.predict(holes) == y).mean()
    assert right > 0.7, f"one missing feature of three must not ruin the labels, but only {right:.0%} are right"
    nothing = np.full((1, 3), np.nan)
    _assert_probabilities(estimator.predict_proba(nothing), (1, len(estimator.classes_)))


def check_invalid_budgets_are_rejected(estimator: Any) -> None:
    """Invalid budgets raise an error before any work."""
    X, y = three_clusters(30)
    estimator.fit(X, y)
    for budget in (-1, 1.5, "soon", True):
        try:
            estimator.predict(X, budget=budget)
        except (TypeError, ValueError):
            continue
        raise AssertionError(f"a budget of {budget!r} must be rejected")


def check_failed_learning_is_rolled_back(estimator: Any) -> None:
    """If fit or partial_fit raises, the model gives the same results as before and can learn further."""
    X, y = three_clusters()
    estimator.fit(X, y)
    expected = estimator.predict_proba(X, budget=9)
    infinite = X.copy()
    infinite[7, 1] = np.inf
    methods = [estimator.fit] + ([estimator.partial_fit] if hasattr(estimator, "partial_fit") else [])
    for learn in methods:
        for records, labels, fault in ((infinite, y, "an infinite value"), (X[:, :2], y[:-1], "too few labels")):
            try:
                learn(records, labels)
            except ValueError:
                pass
            else:
                raise AssertionError(f"{learn.__name__} must raise ValueError on {fault}")
            assert np.array_equal(estimator.predict_proba(X, budget=9), expected), (
                f"{learn.__name__} raised on {fault} but changed the model"
            )


_CHECKS: tuple[Check, ...] = (
    check_every_record_gets_a_label_at_budget_0,
    check_labels_are_the_most_probable_classes,
    check_steps_are_counted_exactly,
    check_steps_add_up,
    check_queries_equal_batches,
    check_results_do_not_depend_on_the_batch,
    check_training_is_repeatable,
    check_queries_can_be_suspended,
    check_deadlines_end_the_work,
    check_work_can_be_stopped,
    check_large_batches_end_early,
    check_exhaustion_is_final,
    check_classifying_changes_nothing,
    check_queries_keep_their_model,
    check_snapshots_do_not_change,
    check_learning_continues,
    check_models_can_be_saved,
    check_models_can_be_merged,
    check_missing_values_are_left_out,
    check_invalid_budgets_are_rejected,
    check_failed_learning_is_rolled_back,
)


def _assert_least(estimator: Any, answer: Answer, least: NDArray[np.float64], what: str) -> None:
    """Records that were reached must have the result of budget 0, the others that of the classes alone."""
    reached = answer.reached
    assert reached[0], f"{what} must leave an answer for the first record"
    assert np.array_equal(answer.proba[reached], least[reached]), f"{what} must give the result of budget 0"
    assert np.all(answer.proba[~reached] == estimator.prior_proba()), f"{what}: records not reached get prior_proba()"
    assert not answer.steps[~reached].any(), f"{what}: records not reached have 0 steps"
    assert not answer.certified[~reached].any(), f"{what}: records not reached are not certified"


def _assert_probabilities(proba: NDArray[np.float64], shape: tuple[int, int]) -> None:
    assert proba.shape == shape, f"probabilities have the shape {proba.shape}, expected {shape}"
    assert np.isfinite(proba).all(), "probabilities must be finite"
    assert ((proba >= 0) & (proba <= 1)).all(), "probabilities must lie between 0 and 1"
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9, err_msg="probabilities must sum to 1")


def _assert_same_query(one: Any, other: Any, what: str) -> None:
    assert one.steps == other.steps, f"{what}: steps differ"
    assert np.array_equal(one.proba, other.proba), f"{what}: probabilities differ"
    assert one.label == other.label, f"{what}: labels differ"
    assert one.certified == other.certified, f"{what}: certificates differ"
    assert one.exhausted == other.exhausted, f"{what}: exhaustion differs"
