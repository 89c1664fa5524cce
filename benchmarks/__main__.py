"""The short benchmarks, one after another."""

import runpy

TABLES = ["benchmarks.bayes_tree.speed"]

if __name__ == "__main__":
    for table in TABLES:
        runpy.run_module(table, run_name="__main__")
