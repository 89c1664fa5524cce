"""The short benchmarks, one after another: ``python -m benchmarks`` or ``make bench``. Each also runs alone."""

import runpy

TABLES = [
    "benchmarks.bayes_tree.speed",
    "benchmarks.neighbors.scan",
    "benchmarks.graph.speed",
    "benchmarks.locust.rates",
]
"""The longer ones are named in docs/benchmarks.md."""

if __name__ == "__main__":
    for table in TABLES:
        runpy.run_module(table, run_name="__main__")
