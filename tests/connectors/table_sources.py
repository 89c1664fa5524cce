"""A schema and helpers for tests of sources."""

from anystream.connectors.schema import Column, Schema
from anystream.runtime.records import Records

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


def poll_all(source, max_records):
    """All records and the rejected ones of a file, polled in small parts; closes it."""
    parts = []
    while not source.done:
        parts.append(source.poll(max_records))
        assert len(parts[-1].records) <= max_records
    source.close()
    records = Records.concatenate([part.records for part in parts] or [Records.empty(source.schema.n_features)])
    rejected = [found for part in parts for found in part.rejected]
    return records, [found._replace(reason=found.reason.replace("'", "")) for found in rejected]  # numbers or texts
