"""Comparison of anystream with other libraries of classifiers: accuracy, latency, throughput, memory, deadlines.

Every method gets the same records in the same order and one thread; ``anystream compare`` is the command.

Examples
--------
>>> from anystream.compare import Settings, find_methods, load_task, run_comparison
>>> settings = Settings.quick()
>>> methods, _ = find_methods(["scikit-learn"], ["GaussianNB"])
>>> (result,) = run_comparison([load_task("SEA", settings)], methods, settings, isolate=False)
>>> result.holdout > 0.7, result.n_prequential, result.predict.p50_us > 0
(True, 1000, True)
"""

from anystream.compare.cell import CellResult, run_cell
from anystream.compare.methods import LIBRARIES, Method, find_methods
from anystream.compare.run import load_tasks, run_comparison
from anystream.compare.settings import Settings
from anystream.compare.tasks import Task, load_task

__all__ = [
    "LIBRARIES",
    "CellResult",
    "Method",
    "Settings",
    "Task",
    "find_methods",
    "load_task",
    "load_tasks",
    "run_cell",
    "run_comparison",
]
