"""ResetOnDrift works with river's detectors and with those of a user."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from anystream.drift import DriftDetector, ResetOnDrift, river_detector


@pytest.mark.parametrize("name", ["ADWIN", "PageHinkley", "KSWIN", "DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW"])
def test_the_detectors_of_river_fulfil_the_protocol(name):
    detector = river_detector(name)
    assert isinstance(detector, DriftDetector)
    detector.update(0)
    assert detector.drift_detected is False


class TenErrors:
    """Detects a drift after every tenth error."""

    def __init__(self):
        self.errors = 0

    @property
    def drift_detected(self):
        return self.errors >= 10

    def update(self, x):
        self.errors += x


def test_a_detector_of_a_user_is_copied_and_used():
    X, y = np.random.default_rng(0).random((300, 2)), np.random.default_rng(1).integers(0, 2, 300)
    detector = TenErrors()
    model = ResetOnDrift(detector=detector, keep=5).fit(X, y)
    assert len(model.resets_) > 5
    assert detector.errors == 0
    for wrong in (7, TenErrors):
        with pytest.raises(TypeError, match="use the name of one of river's detectors, or an object"):
            ResetOnDrift(detector=wrong).fit(X, y)
    with pytest.raises(TypeError, match="DecisionTreeClassifier, which has no partial_fit"):
        ResetOnDrift(DecisionTreeClassifier()).fit(X, y)


def test_the_error_about_an_unknown_detector_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"no drift detector 'Oracle'; it has ADWIN, DDM"):
        river_detector("Oracle")
