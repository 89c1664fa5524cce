"""Tree ensembles of other frameworks: imported into one form, and classified exactly as their framework does."""

from anystream.forest.ensemble import TreeEnsemble
from anystream.forest.import_model import import_model
from anystream.forest.link import Link
from anystream.forest.read_ensemble import read_ensemble

__all__ = ["Link", "TreeEnsemble", "import_model", "read_ensemble"]
