"""Speed of the Bayes tree at learning and classifying, compared with the papers and with peers.

    python -m benchmarks.bayes_tree.speed [--full]
    python -m benchmarks.bayes_tree.speed --fit

Peers run in the same process on the same records, one thread each. Times are the minimum of several repeats. Letter, pendigits
and covtype come from ANYSTREAM_DATA; missing ones are replaced by a generated stream of the same size, and the rows of the table name it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity

from anystream import BayesTreeClassifier, Budget, load
from anystream.bayes_tree.recipe import CONSTRUCTIONS
from anystream.streams import DatasetNotFoundError, RandomRBF, load_dataset
from benchmarks.table import machine, print_table
from benchmarks.timing import min_seconds

PLAIN = {"metric": None, "root_model": None}  # trees only
SIZES = {"pendigits": (10_992, 16, 10), "letter": (20_000, 16, 26), "covtype": (500_000, 54, 7)}


def data(name: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the name and the data in random order, or generated data of the same size."""
    n, d, classes = SIZES[name]
    try:
        found = load_dataset(name).shuffled(seed=0)
        return name, np.asarray(found.X[: n + 1000]), found.y[: n + 1000]
    except DatasetNotFoundError:
        X, y = RandomRBF(n_features=d, n_classes=classes, seed=0).take(n + 1000)
        return f"generated, {name}'s size", X, y


min_thread_seconds = partial(min_seconds, clock=time.thread_time)


def kde_bayes(X: np.ndarray, y: np.ndarray, queries: np.ndarray, h: float) -> np.ndarray:
    """scikit-learn's KernelDensity for each class, on standardised data: the usual way to build the same classifier."""
    scale = X.std(axis=0)
    scale[scale == 0] = 1
    scores = []
    for label in np.unique(y):
        own = X[y == label]
        density = KernelDensity(bandwidth=h).fit(own / scale)
        scores.append(density.score_samples(queries / scale) + np.log(len(own)))
    return np.argmax(scores, axis=0)


def refinements(names: list[str]) -> list[list[object]]:
    rows: list[list[object]] = []
    bounds = {"pendigits": 130, "letter": 180, "covtype": 280}  # with AVX-512
    for name in names:
        called, X, y = data(name)
        model = BayesTreeClassifier(**PLAIN, n_jobs=1).fit(X[1000:], y[1000:])
        queries = X[:1000]
        seconds = min_thread_seconds(lambda model=model, queries=queries: model.classify(queries, budget=200))
        steps = model.classify(queries, budget=200).steps.sum()
        ns = seconds / steps * 1e9
        rows.append(
            [f"one refinement, {called}", f"{ns:.0f} ns", f"<= {bounds[name]} ns", f"{64_000 / ns:.0f} x the paper"]
        )
        rows.append(deadline_row(called, model, queries[:200]))
        even = min_thread_seconds(
            lambda model=model, queries=queries: model.classify(queries, budget=Budget(steps=200, seconds=1e6))
        )
        rows.append(
            [f"  a batch in even rounds, {called}", f"{even / steps * 1e9:.0f} ns", "", f"{even / seconds - 1:+.1%}"]
        )
    return rows


def deadline_row(called: str, model: BayesTreeClassifier, queries: np.ndarray) -> list[object]:
    """Return the cost of checking the clock inside the native loop: the same query with and without a far deadline."""
    plain, timed = [], []
    for _ in range(7):
        for budget, into in ((Budget(steps=2000), plain), (Budget(steps=2000, seconds=1e6), timed)):
            opened = [model.query(x) for x in queries[:50]]
            started = time.thread_time()
            taken = sum(query.refine(budget).steps for query in opened)
            into.append((time.thread_time() - started) / taken * 1e9)
    share = min(timed) / min(plain) - 1
    return [f"  with a deadline to check, {called}", f"{min(timed):.0f} ns", "<= + 1 %", f"{share:+.1%}"]


def against_kde(names: list[str]) -> list[list[object]]:
    rows: list[list[object]] = []
    for name in names:
        called, X, y = data(name)
        train_X, train_y, queries, truth = X[1000:], y[1000:], X[:1000], y[:1000]
        model = BayesTreeClassifier(n_jobs=1).fit(train_X, train_y)
        ours = min_thread_seconds(lambda model=model, queries=queries: model.predict(queries, budget=200))
        theirs = min_thread_seconds(lambda a=train_X, b=train_y, c=queries: kde_bayes(a, b, c, 0.05**0.5), repeats=1)
        accuracy = (
            (model.predict(queries, budget=200) == truth).mean(),
            (np.unique(train_y)[kde_bayes(train_X, train_y, queries, 0.05**0.5)] == truth).mean(),
        )
        rows.append(
            [
                f"records/s at budget 200 against KernelDensity-Bayes, {called}",
                f"{1000 / ours:,.0f} : {1000 / theirs:,.0f}",
                ">= 10 x",
                f"{theirs / ours:.0f} x, accuracy {accuracy[0]:.1%} : {accuracy[1]:.1%}",
            ]
        )
    return rows


def certification(names: list[str]) -> list[list[object]]:
    """Return the cost of the label of the complete kernel density, proven early, compared with computing all of it."""
    rows: list[list[object]] = []
    for name in names:
        called, X, y = data(name)
        train_X, train_y, queries = X[1000:], y[1000:], X[:1000]
        model = BayesTreeClassifier(**PLAIN, refine_for="certificate", n_jobs=1).fit(train_X, train_y)
        ours = min_thread_seconds(lambda model=model, queries=queries: model.predict(queries, budget=10**9), repeats=3)
        answer = model.classify(queries, budget=10**9)
        all_steps = model.set_params(refine_for="accuracy", decision="mixture").classify(queries[:100], budget=10**9)
        exhausted = (
            min_thread_seconds(lambda model=model, few=queries[:100]: model.predict(few, budget=10**9), repeats=1) * 10
        )
        theirs = min_thread_seconds(lambda a=train_X, b=train_y, c=queries: kde_bayes(a, b, c, 0.05**0.5), repeats=1)
        p50, p99 = np.percentile(answer.steps, [50, 99])
        rows.append(
            [
                f"a certified label, {called}: steps p50 / p99, us",
                f"{p50:.0f} / {p99:.0f}, {ours * 1e3:.0f} us",
                ">= 10 x",
                f"all {np.median(all_steps.steps):,.0f} steps {exhausted / ours:.0f} x, KernelDensity {theirs / ours:.1f} x",
            ]
        )
    return rows


def one_record() -> list[list[object]]:
    rows: list[list[object]] = []
    for called, X, y in (data("pendigits"), data("letter"), ("digits", *load_digits(return_X_y=True))):
        n_held_out = min(1000, len(X) // 3)
        model = BayesTreeClassifier(budget=20).fit(X[n_held_out:], y[n_held_out:])
        record, as_dict = X[0], dict(enumerate(X[0].tolist()))
        batch = record[np.newaxis]
        query = per_call(lambda model=model, record=record: model.query(record).label)
        river = per_call(lambda model=model, as_dict=as_dict: model.predict_one(as_dict))
        table_0 = per_call(lambda model=model, batch=batch: model.predict(batch, budget=0))
        river_0 = per_call(lambda model=model, as_dict=as_dict: model.predict_one(as_dict, budget=0))
        learn = per_call(lambda model=model, as_dict=as_dict, label=y[0]: model.learn_one(as_dict, label), calls=300)
        naive = GaussianNB().fit(X[n_held_out:], y[n_held_out:])
        forest = RandomForestClassifier(100, random_state=0, n_jobs=1).fit(X[n_held_out:6000], y[n_held_out:6000])
        peers = per_call(lambda: naive.predict(batch), 300), per_call(lambda: forest.predict(batch), 20)
        rows += [
            [
                f"query(x) and its label at budget 0, {called}",
                f"{query:.1f} us",
                "<= 5 us",
                f"GaussianNB {peers[0]:,.0f} us",
            ],
            [f"predict of a table of one record at budget 0, {called}", f"{table_0:.1f} us", "<= 10 us", ""],
            [f"predict_one at budget 0, {called}", f"{river_0:.1f} us", "<= 10 us", ""],
            [f"predict_one at budget 20, {called}", f"{river:.1f} us", "<= 20 us", f"RandomForest {peers[1]:,.0f} us"],
            [f"learn_one, {called}", f"{learn:.1f} us", "", ""],
        ]
    return rows


def per_call(work: Callable[[], object], calls: int = 2000) -> float:
    return min_thread_seconds(lambda: [work() for _ in range(calls)], repeats=20) / calls * 1e6


def construction(names: list[str]) -> list[list[object]]:
    rows: list[list[object]] = []
    for name in names:
        called, X, y = data(name)
        threads, bound = (2, 12.0) if name == "covtype" else (1, 0.3)
        clock = time.process_time if threads == 1 else time.perf_counter
        started = clock()
        BayesTreeClassifier(**PLAIN, n_jobs=threads).fit(X, y)
        seconds = clock() - started
        rows.append(
            [
                f"EMTopDown, {called}, {threads} thread(s)",
                f"{seconds:.2f} s",
                f"<= {bound} s",
                f"{len(X) / seconds:,.0f} records/s",
            ]
        )
    return rows


def choosing(names: list[str]) -> list[list[object]]:
    """Return the processor time of `fit` by default, everything that it tries included, beside a random forest's.

    Both use two threads and run in turn, so that what else the machine does slows down both; the minimum counts.
    """
    rows: list[list[object]] = []
    for name in names:
        called, X, y = data(name)
        X, y = X[: SIZES[name][0]], y[: SIZES[name][0]]
        ours, theirs = [], []
        for _ in range(1 if name == "covtype" else 5):
            model = BayesTreeClassifier(n_jobs=2)
            ours.append(min_seconds(lambda model=model, X=X, y=y: model.fit(X, y), repeats=1))
            forest = RandomForestClassifier(100, random_state=0, n_jobs=2)
            theirs.append(min_seconds(lambda forest=forest, X=X, y=y: forest.fit(X, y), repeats=1))
        recipe = model.recipe_
        chosen = f"{recipe.metric}, {recipe.bandwidth}, {recipe.decision}, {recipe.root_weight}"
        rows.append(
            [
                f"fit, processor time of 2 threads, {called}: {chosen}",
                f"{min(ours):.2f} s",
                "<= RandomForest",
                f"RandomForest {min(theirs):.2f} s, {min(ours) / min(theirs):.2f} of it",
            ]
        )
    return rows


def other_constructions() -> list[list[object]]:
    called, X, y = data("letter")
    rows: list[list[object]] = []
    for name in CONSTRUCTIONS[1:]:
        started = time.process_time()
        BayesTreeClassifier(**PLAIN, construction=name, n_jobs=1).fit(X, y)
        seconds = time.process_time() - started
        rows.append([f"{name}, {called}, 1 thread", f"{seconds:.2f} s", "<= 2 s", f"{len(X) / seconds:,.0f} records/s"])
    return rows


def overshoot() -> list[list[object]]:
    called, X, y = data("letter")
    model = BayesTreeClassifier().fit(X[1000:], y[1000:])
    late = []
    for i in range(1000):
        query = model.query(X[i])
        until = time.monotonic() + 100e-6
        query.refine(Budget(until=until))
        late.append(time.monotonic() - until)
    p50, p99 = np.percentile(late, [50, 99]) * 1e6
    return [["overshoot of a deadline of 100 us, p50 / p99", f"{p50:.0f} / {p99:.0f} us", "p99 <= 100 us", "idle core"]]


def opening() -> list[list[object]]:
    X, y = RandomRBF(n_features=16, n_classes=4, seed=0).take(150_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        BayesTreeClassifier(**PLAIN).fit(X, y).save(path)
        mapped = partial(load, path, mmap=True)
        seconds, verified = (
            min_seconds(lambda verify=verify: mapped(verify=verify).query(X[0]).refine(20).label, 15, time.perf_counter)
            for verify in (False, True)
        )
        megabytes = path.stat().st_size / 1e6
        read = min_seconds(lambda: load(path).query(X[0]).refine(20).label, 3, time.perf_counter)
    return [
        [
            f"open a {megabytes:.0f} MB model mapped and classify one record",
            f"{seconds * 1e3:.1f} ms",
            "<= 5 ms, unverified",
            f"checksums compared {verified * 1e3:.0f} ms, not mapped {read * 1e3:.0f} ms",
        ]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="with covtype, 500,000 records (a minute more)")
    parser.add_argument("--fit", action="store_true", help="fit alone, beside a random forest, on all three data sets")
    arguments = parser.parse_args()
    if arguments.fit:
        header = ["what", "measured", "bound", "for comparison"]
        print_table("Bayes tree: fit by default", header, choosing(list(SIZES)), [machine()])
        return
    names = ["pendigits", "letter", *(["covtype"] if arguments.full else [])]
    rows = [
        *refinements(names),
        *against_kde(["pendigits", "letter"]),
        *certification(["pendigits", "letter"]),
        *one_record(),
        *construction(["letter", *names[2:]]),
        *choosing(["pendigits", "letter", *names[2:]]),
        *other_constructions(),
    ]
    rows += [*overshoot(), *opening()]
    print_table(
        "Bayes tree: speed",
        ["what", "measured", "bound", "for comparison"],
        rows,
        [machine(), "the paper's refinement: 64,000 ns"],
    )


if __name__ == "__main__":
    main()
