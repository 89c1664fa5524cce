"""Drift detectors: the protocol, which river's detectors fulfil, and a lookup of those by name."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class DriftDetector(Protocol):
    """Detector of a change in a sequence of numbers, such as errors of 0 and 1.

    River's detectors have this form: `ADWIN`, `KSWIN`, `PageHinkley`, and the binary ones `DDM`, `EDDM`, `FHDDM`,
    `HDDMA`, `HDDMW`. This package has none of its own.
    """

    @property
    def drift_detected(self) -> bool:
        """Whether the last number completed the evidence for a change."""
        ...

    def update(self, x: Any, /) -> Any:
        """Observe the next number."""
        ...


def river_detector(name: str, **parameters: Any) -> DriftDetector:
    """Return a new detector of river.

    Parameters
    ----------
    name : str
        Such as ``"ADWIN"``, ``"PageHinkley"`` or ``"DDM"``, from `river.drift` or `river.drift.binary`.
    **parameters
        Passed to the detector.

    Examples
    --------
    >>> detector = river_detector("ADWIN", delta=0.01)
    >>> for error in [0] * 300 + [1] * 100:
    ...     _ = detector.update(error)
    ...     if detector.drift_detected:
    ...         break
    >>> detector.drift_detected
    True
    """
    detector: DriftDetector = find_river_detector(name)(**parameters)
    return detector


def find_river_detector(name: str) -> Any:
    """Return the class of one of river's detectors; ValueError if river has none of this name."""
    try:
        from river import drift
    except ImportError:
        raise ImportError("drift detectors come from river; install river") from None
    known = {
        found.__name__: found
        for module in (drift, drift.binary)
        for found in vars(module).values()
        if isinstance(found, type) and hasattr(found, "drift_detected")
    }
    if name not in known:
        raise ValueError(f"river has no drift detector {name!r}; it has {', '.join(sorted(known))}")
    return known[name]
