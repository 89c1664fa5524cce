"""Names of backends: where tasks and workers run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anystream.distributed.local_tasks import LocalTasks

if TYPE_CHECKING:
    from anystream.distributed.tasks import TaskBackend


def open_tasks(on: str | TaskBackend, workers: int | None) -> TaskBackend:
    """Return the backend of tasks: ``"local"``, ``"ray"`` or ``"ray://host:port"``, or the one that is given."""
    check_workers(workers)
    if not isinstance(on, str):
        return on
    if is_local(on):
        return LocalTasks(workers)
    from anystream.distributed.ray_tasks import RayTasks  # ray is an extra

    return RayTasks(on)


def is_local(on: str) -> bool:
    """Whether a backend is this machine; ValueError if there is none of this name."""
    if on != "local" and on != "ray" and not on.startswith("ray://"):
        raise ValueError(f"there is no backend {on!r}; use local, ray or ray://host:port")
    return on == "local"


def check_workers(workers: int | None) -> None:
    """Raise ValueError if there are less than 1."""
    if workers is not None and workers < 1:
        raise ValueError(f"there are {workers} workers; use 1 or more")
