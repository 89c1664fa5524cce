"""Quick import of scikit-learn."""

from __future__ import annotations

import sys
from importlib import import_module

from anystream.cli.deferred_modules import deferred

_SELDOM_USED = {
    "asyncio": (),
    "narwhals": (),
    "narwhals.stable": (),
    "narwhals.stable.v2": (),
    "numpy.f2py": (),
    "numpy.ma": (),
    "numpy.polynomial": (),
    "numpy.testing": (),
    "pandas": (),
    "pydoc": (),
    "scipy.linalg": (),
    "scipy.sparse.csgraph": ("laplacian",),
    "scipy.sparse.linalg": ("LinearOperator", "cg"),
    "scipy.special": (),
    "scipy.stats": (),
}


def import_scikit_learn() -> None:
    """Import `sklearn.base` without the modules that it imports and hardly ever uses.

    They take two thirds of the time in which a command starts. See `deferred`: only a program may do this.
    """
    if "sklearn.base" not in sys.modules:
        import_module("numpy")  # whose parts are deferred
        with deferred(_SELDOM_USED):
            import_module("sklearn.base")
