"""What a drift detector is to us: river's fit as they are."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class DriftDetector(Protocol):
    """Watches a sequence of numbers, such as errors of 0 and 1, for a change.

    River's detectors are of this form: `ADWIN`, `KSWIN`, `PageHinkley`, and the binary ones `DDM`, `EDDM`, `FHDDM`,
    `HDDMA`, `HDDMW`. None is written here.
    """

    @property
    def drift_detected(self) -> bool:
        """Whether the last number completed the evidence for a change."""
        ...

    def update(self, x: Any, /) -> Any:
        """Take the next number."""
        ...


def river_detector(name: str, **parameters: Any) -> DriftDetector:
    """One of river's detectors by its name.

    Parameters
    ----------
    name : str
        Such as ``"ADWIN"``, ``"PageHinkley"`` or ``"DDM"``, from `river.drift` or `river.drift.binary`.
    **parameters
        Given to the detector.

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
    try:
        from river import drift
    except ImportError:
        raise ImportError("drift detectors are river's; install river") from None
    known = {
        found.__name__: found
        for module in (drift, drift.binary)
        for found in vars(module).values()
        if isinstance(found, type) and hasattr(found, "drift_detected")
    }
    if name not in known:
        raise ValueError(f"river has no drift detector {name!r}; it has {', '.join(sorted(known))}")
    detector: DriftDetector = known[name](**parameters)
    return detector
