"""Share of records that calls with a short deadline reach, with one thread and more: ``python -m benchmarks.runtime.reached``.

Records and classifiers are those of `benchmarks.runtime.overshoot`. Calls with different numbers of threads take turns,
so that other work on the machine disturbs all of them alike, and the table shows medians.
"""

import argparse
import gc
import time

import numpy as np

from anystream import Budget
from benchmarks.runtime.overshoot import CLASSIFIERS, N_TRAINING, draw_records
from benchmarks.table import print_table


def measure(models: list[object], X: np.ndarray, seconds: float, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of records that each model reaches, and the microseconds after the deadline, of each call."""
    budget = Budget(seconds=seconds)
    reached, over = np.empty((2, repeats, len(models)))
    for model in models:
        model.classify(X, budget=budget)
    for i in range(repeats):
        for j, model in enumerate(models):
            started = time.perf_counter()
            answer = model.classify(X, budget=budget)
            over[i, j] = 1e6 * (time.perf_counter() - started - seconds)
            reached[i, j] = answer.reached.mean()
            del answer
    return reached, over


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100,1000,10000,100000", help="records per call, separated by commas")
    parser.add_argument("--deadlines", default="0.5,2,10", help="milliseconds per call, separated by commas")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas")
    parser.add_argument("--repeats", type=int, default=50, help="calls per cell")
    parser.add_argument("--only", help="names of classifiers, separated by commas")
    options = parser.parse_args()
    threads = [int(n) for n in options.threads.split(",")]
    deadlines = [float(ms) for ms in options.deadlines.split(",")]
    X, y = draw_records(N_TRAINING, 1)
    gc.collect()
    gc.disable()
    rows = []
    for name in options.only.split(",") if options.only else CLASSIFIERS:
        if "n_jobs" not in CLASSIFIERS[name]().get_params():
            continue
        models = [CLASSIFIERS[name]().set_params(n_jobs=n).fit(X, y) for n in threads]
        for size in map(int, options.sizes.split(",")):
            records, _ = draw_records(size, 2)
            row = [name, f"{size:,}"]
            for ms in deadlines:
                reached, over = measure(models, records, ms / 1000, options.repeats)
                row += [" / ".join(f"{100 * share:.1f}" for share in np.median(reached, axis=0))]
                row += [" / ".join(f"{late:.0f}" for late in np.quantile(over, 0.99, axis=0))]
            rows.append(row)
    header = ["classifier", "records", *(text for ms in deadlines for text in (f"{ms:g} ms: reached", "over"))]
    print_table(
        f"Percent of the records reached (median) and microseconds after the deadline (p99) with {options.threads} "
        "threads, 64 features, ten classes",
        header,
        rows,
    )


if __name__ == "__main__":
    main()
