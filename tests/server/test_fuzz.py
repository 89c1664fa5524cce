"""Damaged requests do no harm; ``make fuzz-server`` sends as many as one likes."""

import pytest

from anystream.server.model_store import LearningSettings
from server.fuzz import run_cases
from server.serving import serving


@pytest.mark.parametrize("seed", [0, 1])
def test_some_hundred_damaged_requests_give_no_5xx_but_503(model_files, tmp_path, seed):
    with serving(model_files, learning=LearningSettings(folder=tmp_path)) as served:
        statuses = run_cases(served.port, 400, seed)
        assert served.get("/readyz").status == 200
        assert served.post("/v1/classify?model=mixed", {"size": 3, "colour": "red"}).status == 200
    assert statuses[200] > 20
    assert statuses[400] > 100
