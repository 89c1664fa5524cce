"""Spark: classify a table with mapInPandas; the model is a file that every task maps into memory."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier, load

FEATURES = [f"p{i}" for i in range(64)]
STEPS = 40


def classify_parts(path: str, parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield the answers to each part of a partition; the tasks of a machine share the pages of the model's file."""
    model = load(path, mmap=True)
    for part in parts:
        answer = model.classify(part[FEATURES].to_numpy(), budget=STEPS)
        yield pd.DataFrame({"id": part["id"], "label": answer.labels, "steps": answer.steps})


def main() -> None:
    X, y = load_digits(return_X_y=True)
    folder = Path(tempfile.mkdtemp())
    path = str(folder / "model.safetensors")  # on a cluster: a path that every node can read, or SparkContext.addFile
    BayesTreeClassifier().fit(X[::2], y[::2]).save(path)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "2000")
        .getOrCreate()
    )
    table = pd.DataFrame(X[1::2], columns=FEATURES).assign(id=range(len(X[1::2])))
    records = spark.createDataFrame(table).repartition(4)
    answers = records.mapInPandas(lambda parts: classify_parts(path, parts), "id long, label long, steps long")
    found = answers.toPandas().sort_values("id")
    spark.stop()
    right = (found["label"].to_numpy() == y[1::2]).mean()
    print(f"{len(found)} records, {right:.3f} right")


if __name__ == "__main__":
    main()
