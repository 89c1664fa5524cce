"""Published accuracies, repeated through our prequential run: a check that the harness measures what others measure.

Each check runs twice, through `run_prequential` and through the library's own evaluation. The verdict follows from the
three numbers: *reproduced* if ours is the published one, *library changed* if ours is that of the library's own
evaluation with the installed version but not the published one, *differs* otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anystream.compare.methods import installed_version
from anystream.compare.tasks import DECIMALS
from anystream.evaluate import run_prequential
from anystream.streams import available_datasets, load_dataset

Arrays = tuple[NDArray[np.float64], NDArray[Any]]

RIVER_SOURCE = "river, docs/benchmarks at a7f5a29887^ (October 2023)"
CAPYMOA_SOURCE = "CapyMOA, tests/test_classifiers.py at 04af42c1 (±0.1 points)"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published accuracy and the method that it belongs to.

    Parameters
    ----------
    library, stream, method : str
        What was published; `method` is an expression of the library.
    accuracy : float
        The printed share.
    tolerance : float
        Difference that still counts as the same: half of the last digit, or what the source allows.
    slow : bool, default=False
        Whether it takes more than some seconds.
    """

    library: str
    stream: str
    method: str
    accuracy: float
    tolerance: float
    slow: bool = False


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """A published accuracy beside ours and that of the library's own evaluation."""

    library: str
    version: str
    stream: str
    method: str
    published: float
    ours: float
    own: float
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """Return the result as a dictionary."""
        return asdict(self)


_HT = "tree.HoeffdingTreeClassifier()"
_NEIGHBOURS = "preprocessing.StandardScaler() | neighbors.KNNClassifier()"


def _river(stream: str, rows: dict[str, float], *, slow: bool) -> list[Published]:
    return [
        Published(library="river", stream=stream, method=method, accuracy=value, tolerance=5e-5, slow=slow)
        for method, value in rows.items()
    ]


PUBLISHED: tuple[Published, ...] = (
    *_river(
        "ImageSegments",
        {"naive_bayes.GaussianNB()": 0.7319, _HT: 0.7761, "forest.AMFClassifier(seed=42)": 0.9017},
        slow=False,
    ),
    Published(  # its search draws at random, without a seed: one run differs from the next by up to a point
        library="river", stream="ImageSegments", method=_NEIGHBOURS, accuracy=0.8735, tolerance=0.01
    ),
    *_river(
        "elec2",
        {
            "dummy.NoChangeClassifier()": 0.8533,
            "naive_bayes.GaussianNB()": 0.7287,
            _HT: 0.7956,
            "tree.HoeffdingAdaptiveTreeClassifier(seed=42)": 0.8213,
            "preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.005))": 0.8221,
            "preprocessing.StandardScaler() | linear_model.ALMAClassifier()": 0.9064,
        },
        slow=True,
    ),
    *(
        Published(library="capymoa", stream="electricity_tiny", method=method, accuracy=value, tolerance=1e-3)
        for method, value in {
            "NoChange": 0.8595,
            "NaiveBayes": 0.84,
            "HoeffdingTree": 0.8265,
            "HoeffdingAdaptiveTree": 0.8415,
            "KNN": 0.816,
            "SAMkNN": 0.8265,
            "DynamicWeightedMajority": 0.8405,
        }.items()
    ),
)
"""Published figures: `RIVER_SOURCE` and `CAPYMOA_SOURCE`, as facts."""


def find_checks(*, quick: bool) -> Iterator[tuple[Published, str | None]]:
    """Yield each published figure with the reason why it cannot be checked here, or None if it can."""
    for published in PUBLISHED:
        if quick and published.slow:
            continue
        reason = None
        if installed_version(published.library) is None:
            reason = f"{published.library} is not installed"
        elif published.stream != "ImageSegments" and "elec2" not in available_datasets():
            reason = "elec2 is not in the data directory"
        yield published, reason


def run_check(published: Published) -> CheckResult:
    """Run one method through our harness and through its library's own evaluation."""
    run = {"river": _run_river, "capymoa": _run_capymoa}[published.library]
    ours, own = run(published)
    return CheckResult(
        library=published.library,
        version=installed_version(published.library) or "unknown",
        stream=published.stream,
        method=published.method,
        published=published.accuracy,
        ours=ours,
        own=own,
        verdict=find_verdict(published, ours, own),
    )


def find_verdict(published: Published, ours: float, own: float) -> str:
    """Return the verdict on three accuracies, by the rule of this module.

    Examples
    --------
    >>> figure = Published(library="river", stream="s", method="m", accuracy=0.7319, tolerance=5e-5)
    >>> find_verdict(figure, 0.73192, 0.73192), find_verdict(figure, 0.7337, 0.7337), find_verdict(figure, 0.7, 0.8)
    ('reproduced', 'library changed', 'differs')
    """
    if abs(ours - published.accuracy) <= published.tolerance + 1e-9:
        return "reproduced"
    return "library changed" if abs(ours - own) < 1e-9 else "differs"


def _run_river(published: Published) -> tuple[float, float]:
    """River leaves records without a prediction out of the accuracy, so they are left out of ours as well."""
    names = ("dummy", "forest", "linear_model", "naive_bayes", "neighbors", "optim", "preprocessing", "tree")
    modules = {name: import_module(f"river.{name}") for name in names}

    def create() -> Any:
        return eval(published.method, {"__builtins__": {}}, modules)  # one of the texts in PUBLISHED

    records, labels = _river_stream(published.stream)
    run = run_prequential(create(), (records, labels))
    answered = run.predicted >= 0
    ours = float((run.predicted == run.truth)[answered].mean())
    evaluate, metrics = import_module("river.evaluate"), import_module("river.metrics")
    stream = ((dict(enumerate(row)), label) for row, label in zip(records.tolist(), labels.tolist(), strict=True))
    own = evaluate.progressive_val_score(stream, create(), metrics.Accuracy()).get()
    return ours, float(own)


def _river_stream(name: str) -> Arrays:
    if name == "elec2":
        X, y = _read_elec2()
        return X, y.astype(np.bool_)
    records = [(list(features.values()), label) for features, label in import_module("river.datasets").ImageSegments()]
    return np.array([row for row, _ in records], dtype=np.float64), np.array([label for _, label in records])


def _run_capymoa(published: Published) -> tuple[float, float]:
    """CapyMOA's small file is the first 2,000 records of elec2 without date and day.

    MOA's evaluation counts a record without a prediction as the first class, so ours does as well. Our run gives
    `predict` a record without its label; `SAMkNN` reads the label there, and so differs.
    """
    from anystream.compare.libraries.capymoa import CapymoaCandidate, make_schema
    from anystream.compare.prequential import run_pass

    X, y = _read_elec2()
    X, y = X[:2_000, 2:], y[:2_000]
    create: Callable[[Any], Any] = getattr(import_module("capymoa.classifier"), published.method)
    schema = make_schema(X.shape[1], 2)
    candidate = CapymoaCandidate(create(schema), schema)
    run = run_pass(candidate, published.stream, X, y, max_s=600.0, method=published.method)
    stream_module, evaluation = import_module("capymoa.stream"), import_module("capymoa.evaluation")
    stream = stream_module.NumpyStream(X, y, target_type="categorical")
    results = evaluation.prequential_evaluation(stream, create(stream.get_schema()), window_size=100)
    first = list(run.classes).index(0)
    ours = float((np.where(run.predicted < 0, first, run.predicted) == run.truth).mean())
    return ours, float(results.cumulative.accuracy()) / 100


def _read_elec2() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    data = load_dataset("elec2")
    return np.asarray(np.asarray(data.X, dtype=np.float64).round(DECIMALS), dtype=np.float64), data.y
