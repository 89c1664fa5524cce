"""Layout of a simulated cluster: the share of the traffic that each worker has, which are slow, and which are lost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SAME = 0.001  # shares that differ by no more than this count as the same


@dataclass(frozen=True, kw_only=True)
class ClusterFaults:
    """What is uneven in a cluster, and what fails.

    Parameters
    ----------
    n_partitions : int, default=512
        Partitions of the stream; a worker reads whole partitions.
    skew : float, default=0.3
        Partition k has a share of the traffic in proportion to k ** -skew; 0 is an even spread.
    n_stragglers : int, default=1
        Slow workers; never more than half of them.
    straggler_speed : float, default=0.5
        Speed of a slow worker, relative to the others.
    n_lost : int, default=1
        Workers that are lost, those with the largest shares of the traffic.
    lost_at_s : float, default=3.0
        When they are lost, in seconds from the start of the traffic.
    detect_s : float, default=2.0
        Seconds until the loss is noticed and other workers have opened the partitions.
    replay_s : float, default=1.0
        Age of the last checkpoint: records that arrived in so many seconds before the loss are classified again.
    """

    n_partitions: int = 512
    skew: float = 0.3
    n_stragglers: int = 1
    straggler_speed: float = 0.5
    n_lost: int = 1
    lost_at_s: float = 3.0
    detect_s: float = 2.0
    replay_s: float = 1.0

    def __post_init__(self) -> None:
        if self.n_partitions < 1:
            raise ValueError(f"the number of partitions is {self.n_partitions}; use 1 or more")
        if not 0.0 <= self.skew <= 4.0:
            raise ValueError(f"the skew is {self.skew}; use 0 (even) to 4")
        if self.n_stragglers < 0 or self.n_lost < 0:
            raise ValueError(f"{self.n_stragglers} slow and {self.n_lost} lost workers are asked for; use 0 or more")
        if not 0.0 < self.straggler_speed <= 1.0:
            raise ValueError(f"the speed of slow workers is {self.straggler_speed}; use a factor above 0 and up to 1")
        times_s = (self.lost_at_s, self.detect_s, self.replay_s)
        if not all(0.0 <= seconds < math.inf for seconds in times_s):
            raise ValueError(f"loss, detection and replay take {times_s} seconds; use 0 or more")


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """Shares and speeds of the workers, before and after the loss.

    Parameters
    ----------
    shares : array of shape (n_workers,)
        Share of the traffic of each worker; they sum to 1.
    speeds : array of shape (n_workers,)
        Speed of each worker, relative to the others.
    lost : array
        Numbers of the workers that are lost.
    taken_over : array of shape (n_workers,)
        Share of the traffic that each worker takes over from the lost ones. If all are lost, each is replaced by a new
        one, which takes over what the lost one had.
    """

    shares: NDArray[np.float64]
    speeds: NDArray[np.float64]
    lost: NDArray[np.int64]
    taken_over: NDArray[np.float64]

    @property
    def has_survivors(self) -> bool:
        """Whether any worker is not lost."""
        return len(self.lost) < len(self.shares)

    @classmethod
    def draw(cls, n_workers: int, faults: ClusterFaults, *, seed: int = 0) -> ClusterLayout:
        """Assign the partitions to workers, as many to each, and those of the lost workers to the others.

        Who has which partition is random: a broker assigns by number of partitions, not by their traffic.
        """
        if not 1 <= n_workers <= faults.n_partitions:
            raise ValueError(
                f"{n_workers} workers share {faults.n_partitions} partitions; use 1 worker or more, and no more than "
                "partitions, for the rest would be idle"
            )
        rng = np.random.default_rng([seed, n_workers])
        weights = np.arange(1, faults.n_partitions + 1) ** -faults.skew
        partition_shares = rng.permutation(weights / weights.sum())
        owners = np.arange(faults.n_partitions) % n_workers
        shares = _sum_by(owners, partition_shares, n_workers)
        by_share = np.argsort(-shares, kind="stable")
        lost = np.sort(by_share[: faults.n_lost])
        speeds = np.ones(n_workers)
        n_slow = min(faults.n_stragglers, n_workers // 2, n_workers - len(lost))
        survivors = np.setdiff1d(np.arange(n_workers), lost)
        speeds[rng.permutation(survivors)[:n_slow]] = faults.straggler_speed
        moved = np.flatnonzero(np.isin(owners, lost))
        heirs = np.resize(rng.permutation(survivors), len(moved)) if len(survivors) else owners[moved]
        return cls(shares, speeds, lost, _sum_by(heirs, partition_shares[moved], n_workers))

    def choose_examples(self, max_alike: int = 3) -> list[tuple[int, float]]:
        """Return workers to simulate, each with how many times its traffic the workers have that it stands for.

        All lost ones; of the stragglers, of those that take something over and of the rest each, the one with the
        largest share of the traffic (after the loss), and the middle ones of `max_alike` - 1 groups of similar shares;
        a single one if their shares are the same.
        """
        kinds = np.where(self.speeds < 1.0, 1, np.where(self.taken_over > 0.0, 2, 3))
        kinds[self.lost] = 0
        examples = [(int(worker), 1.0) for worker in self.lost]
        load = (self.shares + self.taken_over) / self.speeds
        for kind in (1, 2, 3):
            alike = np.flatnonzero(kinds == kind)
            alike = alike[np.argsort(-load[alike], kind="stable")]
            if len(alike) and load[alike[0]] <= load[alike[-1]] * (1.0 + _SAME):
                groups = [alike]
            else:
                groups = [alike[:1], *np.array_split(alike[1:], max_alike - 1)]
            examples += [self._middle(group) for group in groups if len(group)]
        return examples

    def _middle(self, group: NDArray[np.int64]) -> tuple[int, float]:
        middle = int(group[len(group) // 2])
        return middle, float(self.shares[group].sum() / self.shares[middle])


def _sum_by(workers: NDArray[np.int64], shares: NDArray[np.float64], n_workers: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(workers, shares, n_workers), dtype=np.float64)
