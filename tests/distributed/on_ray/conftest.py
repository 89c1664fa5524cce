"""A cluster of Ray; without Ray these tests are skipped by name (make test-ray installs it)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # what these tests share with those of local processes


@pytest.fixture(scope="session")
def cluster():
    from killed_cluster import start_cluster, stop_cluster  # first: it sets what Ray reads when it is imported

    pytest.importorskip("ray")
    found = start_cluster()
    yield found
    stop_cluster(found)
