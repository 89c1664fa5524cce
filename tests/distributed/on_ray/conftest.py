"""A cluster of Ray on 127.0.0.1; without Ray these tests are skipped by name (make test-ray installs it)."""

import os
import sys
from pathlib import Path

import pytest

TESTS = str(Path(__file__).parents[1])
sys.path.insert(0, TESTS)  # what these tests share with those of local processes

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0")
ray = pytest.importorskip("ray")

MEMORY = 100 * 2**20


@pytest.fixture(scope="session")
def cluster():
    """A head without CPUs, so that all work is on nodes that can be killed."""
    from ray.cluster_utils import Cluster

    health = {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 300,
        "health_check_timeout_ms": 2000,
        "health_check_failure_threshold": 3,
    }
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": MEMORY, "_system_config": health}
    found = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        found.add_node(num_cpus=1, object_store_memory=MEMORY)
    found.wait_for_nodes()
    ray.init(
        address=found.address,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": TESTS}},
    )
    yield found
    ray.shutdown()
    found.shutdown()
