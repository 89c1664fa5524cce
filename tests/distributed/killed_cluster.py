"""A cluster of Ray on 127.0.0.1 whose nodes are killed."""

import os
import socket
from pathlib import Path

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0")  # before ray is imported

_MEMORY = 100 * 2**20
_HEALTH = {  # the death of a node is noticed in a few seconds
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 3,
}


def start_cluster(n_nodes=2):
    """Return a cluster with a head without CPUs, so that all work is on nodes that can be killed.

    Programs of other machines connect to its `client_address`.
    """
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": _MEMORY, "_system_config": _HEALTH}
    head["ray_client_server_port"] = _free_port()
    cluster = Cluster()
    cluster.client_address = f"ray://127.0.0.1:{head['ray_client_server_port']}"
    _try_again(lambda: cluster.add_node(**head))
    for _ in range(n_nodes):
        add_node(cluster)
    cluster.wait_for_nodes(timeout=120)
    here = str(Path(__file__).parent)
    environment = {"env_vars": {"PYTHONPATH": here}}
    ray.init(address=cluster.address, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    return cluster


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def add_node(cluster):
    """Add a node with one CPU."""
    _try_again(lambda: cluster.add_node(num_cpus=1, object_store_memory=_MEMORY))


def _try_again(start):
    """Start a node; Ray gives it 30 seconds, which are too few on a machine with much other work."""
    for attempt in range(5):
        try:
            return start()
        except Exception:
            if attempt == 4:
                raise
    return None


def stop_cluster(cluster):
    """End all of its processes."""
    import ray

    ray.shutdown()
    cluster.shutdown()


class NodeKiller:
    """Kills a node by SIGKILL at even distances in a stream, and starts another; for `each_turn` of the supervisor."""

    def __init__(self, cluster, n_kills, n_records):
        self._cluster, self._n_kills, self._n_records = cluster, n_kills, n_records
        self.killed_at = []

    def __call__(self, supervisor):
        n = len(self.killed_at)
        if n < self._n_kills and supervisor.answered > self._n_records * (n + 1) / (self._n_kills + 1):
            node = sorted(self._cluster.worker_nodes, key=lambda node: node.unique_id)[0]
            self._cluster.remove_node(node, allow_graceful=False)
            add_node(self._cluster)
            self.killed_at.append(supervisor.answered)
