"""The native core of anystream."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class StopToken:
    """
    A flag that ends work in progress: give it to a Budget, set it from any thread.
    """

    def __init__(self) -> None: ...

    def set(self) -> None:
        """End the work that looks at this token."""

    def clear(self) -> None:
        """Make the token usable again."""

    def is_set(self) -> bool:
        """Whether the token was set."""

class Counter:
    """How far a piece of native work has come."""

    def __init__(self) -> None: ...

    @property
    def value(self) -> int: ...

isa: str = 'avx512'

def thread_count(requested: int = 0) -> int:
    """The number of threads that a request stands for."""

class BuildStopped(RuntimeError):
    pass

def build_shape(method: str, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, fanout: int, seed: int = 0, threads: int = 1, sample_size: int = 2000, kernel_variance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, progress: Counter | None = None, stop: StopToken | None = None) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')]]:
    """
    The tree of one class's objects, as (first_entry, entry): node i owns entry[first_entry[i]:first_entry[i + 1]],
    where a number >= 0 is a child node and ~entry an object.

    `method` is em_top_down (which alone reads `seed` and `sample_size`), goldberger or virtual_sampling (which
    alone read `kernel_variance`), hilbert, z_curve, str_packing or guttman. `progress` counts the objects placed;
    setting `stop` ends the work with BuildStopped.
    """
