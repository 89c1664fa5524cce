"""Beyond one process: fit by parts and merge, and partitioned streams, on local processes or on Ray."""

from anystream.distributed.fit import FittedParts, PartError, fit, fit_parts
from anystream.distributed.partitions import Partition, make_partitions
from anystream.distributed.parts import ColumnRoles
from anystream.distributed.run import run, supervise
from anystream.distributed.stream_job import StreamJob
from anystream.distributed.supervisor import PartitionError, RunReport, Supervisor
from anystream.distributed.worker import Job, PartitionResult

__all__ = [
    "ColumnRoles",
    "FittedParts",
    "Job",
    "PartError",
    "Partition",
    "PartitionError",
    "PartitionResult",
    "RunReport",
    "StreamJob",
    "Supervisor",
    "fit",
    "fit_parts",
    "make_partitions",
    "run",
    "supervise",
]
