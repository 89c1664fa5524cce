"""Modules that are imported when they are used, in place of when another module imports them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


@contextmanager
def deferred(names: Mapping[str, Collection[str]]) -> Iterator[None]:
    """Let modules that are installed and not imported yet be deferred until the end of the context.

    Modules that import the real ones on first use stand in for them in `sys.modules` and in their parents; afterwards
    nothing is left of them there, and whoever imported one inside the context keeps it. This changes tables that belong
    to the whole process, so only a program may do it, never the library.

    Parameters
    ----------
    names : mapping of str to collection of str
        Modules, parents before their children; and of each of them the functions and classes that ``from module import
        name`` gives inside the context without importing the module, because they are only used later. Any other
        attribute that is read imports it.
    """
    stand_ins = [_DeferredModule(name, callables) for name, callables in names.items() if _can_be_deferred(name)]
    for module in stand_ins:
        sys.modules[module.__name__] = module
        _set_in_parent(module)
    try:
        yield
    finally:
        for module in stand_ins:
            _remove(module)


class _DeferredModule(ModuleType):
    """Stands for a module, which is imported when an attribute of it is read.

    `importlib.util.LazyLoader` does not serve: the statement ``import`` reads ``__spec__``, which loads the module.
    """

    def __init__(self, name: str, callables: Collection[str]) -> None:
        super().__init__(name)
        self.__path__ = _DeferredPath(name)  # type: ignore[assignment]  # importlib only iterates over it
        for function in callables:
            setattr(self, function, _DeferredCallable(name, function))

    def __getattr__(self, name: str) -> Any:
        return getattr(_load(self.__name__), name)


class _DeferredPath:
    """Stands for the folders of a package, which is imported when its submodules are searched."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(_load(self._module), "__path__", ()))


class _DeferredCallable:
    """Stands for a function or class, whose module is imported when it is called, inspected or derived from."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._load()(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, self._load())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._load(),)

    def _load(self) -> Any:
        return getattr(_load(self._module), self._name)


def _can_be_deferred(name: str) -> bool:
    return name not in sys.modules and find_spec(name.partition(".")[0]) is not None


def _load(name: str) -> ModuleType:
    """Import the module for which another may stand at the moment."""
    module = sys.modules.get(name)
    if isinstance(module, _DeferredModule):
        _remove(module)
    return import_module(name)


def _set_in_parent(module: _DeferredModule) -> None:
    parent, _, child = module.__name__.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, module)


def _remove(module: _DeferredModule) -> None:
    """Remove a module from `sys.modules` and from its parent, unless that is deferred itself and kept by others."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    parent, _, child = module.__name__.rpartition(".")
    holder = sys.modules.get(parent)
    if holder is not None and not isinstance(holder, _DeferredModule) and vars(holder).get(child) is module:
        delattr(holder, child)
