"""Spark Structured Streaming: classify micro-batches with foreachBatch; a batch that is repeated changes nothing."""

import os
import sys
import tempfile
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from sklearn.datasets import load_digits

from anystream import BayesTreeClassifier, Budget, load

FEATURES = [f"p{i}" for i in range(64)]
BATCH_S = 0.05  # time for the answers to a micro-batch, however large it is


def main() -> None:
    X, y = load_digits(return_X_y=True)
    folder = Path(tempfile.mkdtemp())
    BayesTreeClassifier().fit(X[::2], y[::2]).save(folder / "model.safetensors")
    (folder / "records").mkdir()
    for part in range(3):  # stands for what arrives: a folder, a Kafka topic
        rows = pd.DataFrame(X[1 + 2 * part :: 6], columns=FEATURES)
        rows.assign(id=range(part * 1000, part * 1000 + len(rows))).to_parquet(folder / f"records/{part}.parquet")

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    model = load(folder / "model.safetensors", mmap=True)

    def classify_batch(batch: DataFrame, number: int) -> None:
        """Classify a micro-batch on the driver; Spark may call this again with the same number after a failure."""
        records = batch.toPandas()
        answer = model.classify(records[FEATURES].to_numpy(), budget=Budget(seconds=BATCH_S))
        answers = pd.DataFrame({"id": records["id"], "label": answer.labels, "reached": answer.reached})
        answers.to_parquet(folder / f"answers-{number}.parquet")  # by number: written again, not twice

    stream = spark.readStream.schema(spark.read.parquet(str(folder / "records")).schema)
    query = (
        stream.option("maxFilesPerTrigger", "1")
        .parquet(str(folder / "records"))
        .writeStream.foreachBatch(classify_batch)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()
    parts = [pd.read_parquet(found) for found in sorted(folder.glob("answers-*.parquet"))]
    answers = pd.concat(parts)
    print(f"{len(parts)} batches, {len(answers)} records, {answers['id'].nunique()} different")


if __name__ == "__main__":
    main()
