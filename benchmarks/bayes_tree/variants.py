"""Accuracy of every improvement of BT*, of ours and of other classifiers on eight data sets like those of the papers.

    python -m benchmarks.bayes_tree.variants [--sets letter,vowel] [--folds 4] [--queries 600]

Stratified folds (seed 1); up to `--queries` test records of each are classified, 200 steps each. Cells are avg / max /
mon in percent, as defined in section 4 of the paper; other classifiers have one figure, their accuracy. Data come from
ANYSTREAM_DATA; missing data sets are skipped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anystream import AnytimeCurve, BayesTreeClassifier, anytime_curve
from anystream.bayes_tree import StaticMixtureClassifier
from anystream.streams import DatasetNotFoundError, load_dataset
from benchmarks.table import machine, print_table

SETS = ["letter", "pendigits", "vowel", "segment", "optdigits", "spambase", "kr_vs_kp", "page_blocks"]

FOLDS = 4
"""Number of folds that a data set is divided into, as in the papers."""

_PAPER = {"bandwidth": "langley", "decision": "mixture"}
_R = {"construction": "guttman"}
VARIANTS = {
    "R baseline": _PAPER | _R,
    "R + BW (f0.05)": _R | {"decision": "mixture"},
    "R + BN (s = d, m = 1)": _PAPER | _R | {"covariance": "full", "covariance_levels": 1},
    "R + MM (m = 1)": _PAPER | _R | {"margin_levels": 1},
    "R + ENS": _R | {"bandwidth": "langley"},
    "R + NN": _R | {"bandwidth": "langley", "decision": "nearest"},
    "EM baseline": _PAPER,
    "EM + BW (f0.05)": {"decision": "mixture"},
    "EM + BN (s = d, m = 1)": _PAPER | {"covariance": "full", "covariance_levels": 1},
    "EM + BN (s = 4, m = 2)": _PAPER | {"covariance": 4},
    "EM + MM (m = 1)": _PAPER | {"margin_levels": 1},
    "EM + ENS": {"bandwidth": "langley"},
    "EM + NN": {"bandwidth": "langley", "decision": "nearest"},
    "BT* as published": {},
}
"""Changes to `BayesTreeClassifier.bt_star`: single improvements over a baseline."""

PLAIN = {"metric": None, "root_model": None}
"""Parameters with which nothing but the trees is chosen or learned."""

OURS = {
    "ours, trees only, diagonal": PLAIN | {"covariance": "diagonal"},
    "ours, trees only": PLAIN,
    'ours, metric="whiten"': PLAIN | {"metric": "whiten"},
    'ours, root_model="auto"': PLAIN | {"root_model": "auto"},
    'ours, metric="auto"': PLAIN | {"metric": "auto"},
    "ours: the default": {},
}


class KernelDensityBayes:
    """Bayes classifier over scikit-learn's KernelDensity for each class on standardised data, Scott's bandwidth."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> KernelDensityBayes:
        self.scaler = StandardScaler().fit(X)
        self.classes = np.unique(y)
        Z = self.scaler.transform(X)
        self.parts = [(np.log((y == c).mean()), KernelDensity(bandwidth="scott").fit(Z[y == c])) for c in self.classes]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        Z = self.scaler.transform(X)
        scores = [prior + density.score_samples(Z) for prior, density in self.parts]
        return self.classes[np.argmax(scores, axis=0)]


PEERS: dict[str, Callable[[], object]] = {
    "static mixture, 7, EM": lambda: StaticMixtureClassifier(components=7, margin=False),
    "static mixture, 7, MM": lambda: StaticMixtureClassifier(components=7),
    "static mixture, 49, EM": lambda: StaticMixtureClassifier(components=49, margin=False),
    "static mixture, 49, MM": lambda: StaticMixtureClassifier(components=49),
    "RandomForest(100)": lambda: RandomForestClassifier(100, random_state=0, n_jobs=2),
    "1-NN, standardised": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
    "KDE-Bayes": KernelDensityBayes,
    "GaussianNB": GaussianNB,
}


def folds_of(name: str, folds: int, queries: int, records: int | None = None) -> list[tuple[np.ndarray, ...]]:
    """Return training and test parts of the first folds, of all records or of so many drawn ones (seed 1)."""
    found = load_dataset(name)
    X, y = np.asarray(found.X, dtype=np.float64), found.y
    if records is not None and records < len(y):
        drawn = np.sort(np.random.default_rng(1).permutation(len(y))[:records])
        X, y = X[drawn], y[drawn]
    parts = []
    for number, (train, test) in enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=1).split(X, y)):
        if number < folds:
            chosen = np.random.default_rng(number).permutation(test)[:queries]
            parts.append((X[train], y[train], X[chosen], y[chosen]))
    return parts


def available_folds(
    names: Iterable[str], folds: int, queries: int, records: int | None = None
) -> dict[str, list[tuple[np.ndarray, ...]]]:
    """Return the parts of the available data sets."""
    data = {}
    for name in names:
        try:
            data[name] = folds_of(name, folds, queries, records)
        except DatasetNotFoundError:
            print(f"{name} is not in ANYSTREAM_DATA: skipped", file=sys.stderr)
    return data


def cell(make: Callable[[], object], parts: list[tuple[np.ndarray, ...]]) -> tuple[str, np.ndarray]:
    """Return avg / max / mon of an anytime classifier, or the accuracy of another; and (avg, at 0, at 200) or the accuracy."""
    models = [make().fit(X, y) for X, y, _, _ in parts]
    if not hasattr(models[0], "staged_predict"):
        accuracy = 100 * np.mean([(m.predict(Q) == z).mean() for m, (_, _, Q, z) in zip(models, parts, strict=True)])
        return f"{accuracy:.1f}", np.full(3, accuracy)
    curves = [anytime_curve(m, Q, z, stages=range(201)) for m, (_, _, Q, z) in zip(models, parts, strict=True)]
    curve = AnytimeCurve.mean(curves)
    text = f"{100 * curve.avg:.1f} / {100 * curve.max:.1f} / {100 * curve.mon:.1f}"
    return text, 100 * np.array([curve.avg, curve.accuracy[0], curve.accuracy[-1]])


def compare_rows(figures: dict[str, np.ndarray]) -> list[str]:
    """Return one line for each row that changes one thing in another: the differences in this run, over all its sets."""
    baselines = {name: f"{name[: name.index('+')].strip()} baseline" for name in figures if "+" in name}
    baselines |= {name: name.replace("MM", "EM") for name in figures if name.startswith("static") and "MM" in name}
    lines = []
    for name, baseline in baselines.items():
        if baseline not in figures:
            continue
        change = figures[name] - figures[baseline]
        avg, start, end = change.mean(axis=0)
        lines.append(
            f"{name} against {baseline}: avg {avg:+.2f}, at 0 {start:+.2f}, at 200 {end:+.2f} on average; "
            f"avg higher on {(change[:, 0] > 0).sum()} and lower on {(change[:, 0] < 0).sum()} of {len(change)} sets"
        )
    return lines


def candidates() -> dict[str, Callable[[], object]]:
    makers: dict[str, Callable[[], object]] = {}
    for name, changes in VARIANTS.items():
        makers[name] = lambda changes=changes: BayesTreeClassifier.bt_star(**changes)
    for name, changes in OURS.items():
        makers[name] = lambda changes=changes: BayesTreeClassifier(**changes)
    return makers | PEERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=FOLDS, choices=range(1, FOLDS + 1))
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--only", default="", help="only the rows whose name contains this")
    arguments = parser.parse_args()
    data = available_folds(arguments.sets.split(","), arguments.folds, arguments.queries)
    if not data:
        return
    rows, figures = [], {}
    for name, make in candidates().items():
        if arguments.only not in name:
            continue
        cells = [cell(make, parts) for parts in data.values()]
        figures[name] = np.array([values for _, values in cells])
        mean = figures[name].mean(axis=0)
        rows.append([name, *(text for text, _ in cells), f"{mean[0]:.2f}", f"{mean[1]:.2f}", f"{mean[2]:.2f}"])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)  # a row at a time: the whole takes a while
    print_table(
        f"avg / max / mon over 200 steps, {arguments.folds} of {FOLDS} folds, up to {arguments.queries} queries each ({machine()})",
        ["variant", *data, "mean avg", "mean at 0", "mean at 200"],
        rows,
        compare_rows(figures),
    )
    if "RandomForest(100)" in figures:
        forest = figures["RandomForest(100)"][:, 2]
        for name in OURS:
            if name in figures:
                ahead = figures[name][:, 2] - forest
                listed = ", ".join(f"{key} {value:+.1f}" for key, value in zip(data, ahead, strict=True))
                print(f"- {name} at 200 steps against RandomForest(100): {listed}; ahead on {(ahead > 0).sum()}")


if __name__ == "__main__":
    main()
