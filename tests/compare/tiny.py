"""A comparison that takes a moment, and results to report on."""

from anystream.compare import CellResult, Settings
from anystream.compare.cell import BudgetPoint
from anystream.compare.timing import Times

TINY = Settings(
    max_train=200, max_test=60, n_single=24, max_pass_s=5.0, rates=(500.0,), stream_s=0.02, within_s=0.05, seed=1
)


def make_result(library="river", method="HoeffdingTree", *, task="SEA", latency_us=10.0, holdout=0.8, **changes):
    times = Times(latency_us, 2 * latency_us, latency_us, 2 * latency_us)
    values = {
        "task": task,
        "library": library,
        "version": "1.0",
        "method": method,
        "commit": "abc1234",
        "trained_by": "pass",
        "n_train": 200,
        "n_trained": 200,
        "n_test": 60,
        "n_features": 3,
        "n_classes": 2,
        "train_cpu_s": 0.5,
        "holdout": holdout,
        "prequential": 0.75,
        "kappa_t": 0.25,
        "n_prequential": 200,
        "learn_batch": 1,
        "predict": times,
        "learn": times,
        "rows_per_s": 1e5,
        "rows_per_cpu_s": 2e5,
        "memory_bytes": 1_500_000,
        "on_time": {500.0: 0.7},
        "budgets": [],
    }
    return CellResult(**(values | changes))


def make_anytime_result(**changes):
    points = [BudgetPoint(budget=0, accuracy=0.5, times=Times(1.0, 2.0, 1.0, 2.0))]
    return make_result("anystream", "bayes-tree", **({"budgets": points, "holdout": 0.9} | changes))
