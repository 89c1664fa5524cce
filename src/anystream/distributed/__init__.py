"""Beyond one process: fit by parts and merge, and partitioned streams, on local processes or on Ray."""

from anystream.distributed.fit import FittedParts, PartError, fit, fit_parts
from anystream.distributed.parts import ColumnRoles

__all__ = ["ColumnRoles", "FittedParts", "PartError", "fit", "fit_parts"]
