"""A schema and helpers for tests of sources."""

from anystream.connectors.schema import Column, Schema

SCHEMA = Schema(
    (Column("x"), Column("colour", ("blue", "red"))), label="y", key="id", label_type="int", unknown="reject"
)


def drain(source, max_records=3):
    """All records of a source, as (key, features, label), and the rejected ones."""
    records, rejected = [], []
    while not source.done:
        found, malformed = source.poll(max_records)
        records.extend(zip(found.key.tolist(), found.features.tolist(), found.label, strict=True))
        rejected.extend(malformed)
    return records, rejected
