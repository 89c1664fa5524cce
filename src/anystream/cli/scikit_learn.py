"""Quick import of scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_SELDOM_USED = ("pandas", "scipy.special", "scipy.stats")


def import_scikit_learn() -> None:
    """Import `sklearn.base` without pandas and parts of SciPy, which it imports and hardly ever uses.

    They take more than half of the time in which a command starts. While scikit-learn is imported, modules that import
    the real ones on first use stand in for them in `sys.modules`; afterwards nothing is left of them there. This
    changes a table that belongs to the whole process, so only a program may do it, never the library.
    """
    if "sklearn.base" not in sys.modules:
        with _deferred(*_SELDOM_USED):
            import_module("sklearn.base")


class _DeferredModule(ModuleType):
    """Stands for a module, which is imported when an attribute of it is read.

    `importlib.util.LazyLoader` does not serve: the statement ``import`` reads ``__spec__``, which loads the module.
    """

    def __getattr__(self, name: str) -> Any:
        _remove(self)
        return getattr(import_module(self.__name__), name)


@contextmanager
def _deferred(*names: str) -> Iterator[None]:
    """Let modules that are installed and not imported yet be deferred until the end of the context."""
    stand_ins = [_DeferredModule(name) for name in names if name not in sys.modules and find_spec(name) is not None]
    for module in stand_ins:
        sys.modules[module.__name__] = module
    try:
        yield
    finally:
        for module in stand_ins:
            _remove(module)


def _remove(module: ModuleType) -> None:
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
