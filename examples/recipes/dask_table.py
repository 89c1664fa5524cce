"""Dask: classify a data frame with map_partitions; the model is a file that every worker opens once."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import pandas as pd
from dask.distributed import Client, LocalCluster
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier, load

FEATURES = [f"p{i}" for i in range(64)]
STEPS = 40


@cache
def open_model(path: str) -> Any:
    """Return the model, read once per worker; its pages are shared by the workers of a machine."""
    return load(path, mmap=True)


def classify(part: pd.DataFrame, path: str) -> pd.DataFrame:
    """Return the answers to one partition."""
    answer = open_model(path).classify(part[FEATURES].to_numpy(), budget=STEPS)
    return pd.DataFrame({"label": answer.labels, "steps": answer.steps}, index=part.index)


def main() -> None:
    X, y = load_digits(return_X_y=True)
    path = str(Path(tempfile.mkdtemp()) / "model.safetensors")  # on a cluster: a path that every worker can read
    BayesTreeClassifier().fit(X[::2], y[::2]).save(path)

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with cluster, Client(cluster):
        table = dd.from_pandas(pd.DataFrame(X[1::2], columns=FEATURES), npartitions=4)
        answers = table.map_partitions(classify, path, meta={"label": "int64", "steps": "int64"}).compute()
    right = (answers["label"].to_numpy() == y[1::2]).mean()
    print(f"{len(answers)} records, {right:.3f} right")


if __name__ == "__main__":
    main()
