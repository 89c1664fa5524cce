"""Assignment of partitions, with workers that exist in this process only."""

import numpy as np
import pytest

from anystream.distributed import Partition, PartitionError, PartitionResult, Supervisor
from anystream.distributed.supervisor import Ended, Failed, Finished, Ready
from anystream.runtime.checkpoint import CheckpointInUseError
from anystream.runtime.summary import Summary


class FakeWorker:
    """Answers one record per turn; a partition has as many records as its name says."""

    def __init__(self, world, name):
        self.world, self.name, self.events = world, name, [Ready()]
        self.partition, self.stopping = None, False
        world.living.append(self)

    def start(self, partition):
        assert self.partition is None
        assert partition.name not in [other.partition.name for other in self.world.living if other.partition]
        self.partition = partition

    def stop(self):
        self.stopping = True

    def answered(self):
        return 0 if self.partition is None else self.world.checkpoints.get(self.partition.name, 0)

    def turn(self):
        if self.partition is None:
            return
        name = self.partition.name
        wanted = int(name.split("-")[1])
        done = self.world.checkpoints.get(name, 0)
        if done < wanted and not self.stopping:
            self.world.checkpoints[name] = done = done + 1
            self.world.handled.append((name, done))
        if done == wanted or self.stopping:
            self.partition = None
            summary = Summary(taken=done, answered=done)
            self.events.append(Finished(PartitionResult(name, done == wanted, summary, done, 0)))

    def die(self):
        self.world.living.remove(self)
        self.events.append(Ended("killed"))

    def poll(self):
        return self.events.pop(0) if self.events else None

    def end(self):
        if self in self.world.living:
            self.world.living.remove(self)


class World:
    def __init__(self):
        self.living, self.checkpoints, self.handled, self.max_living = [], {}, [], 0

    def add(self, name):
        return FakeWorker(self, name)

    def wait(self, workers, seconds):
        self.max_living = max(self.max_living, len(self.living))
        for worker in list(self.living):
            worker.turn()


def partitions(*sizes):
    return [Partition(f"p{number}-{size}", "", "", None, "") for number, size in enumerate(sizes)]


def test_every_partition_is_run_once_and_one_summary_has_all_records():
    world = World()
    report = Supervisor(world, partitions(5, 0, 20, 3, 7), n_workers=2).run()
    assert report.finished
    assert report.summary.answered == 35
    assert world.max_living == 2
    assert world.living == []


def test_partitions_of_dead_workers_continue_elsewhere():
    world, random = World(), np.random.default_rng(3)

    def kill(supervisor):
        if random.random() < 0.2 and world.living:
            world.living[random.integers(len(world.living))].die()

    report = Supervisor(world, partitions(*[40] * 6), n_workers=3, each_turn=kill).run()
    assert report.finished
    assert report.lost > 5
    assert len(world.handled) == len(set(world.handled)) == 240
    assert {name: result.position for name, result in report.results.items()} == {f"p{i}-40": 40 for i in range(6)}


def test_members_of_a_group_that_were_never_started_are_left_out_when_one_has_reached_the_end():
    world, killed = World(), []

    def kill(supervisor):
        if world.checkpoints.get("p1-9") == 6 and not killed:
            killed.append(next(worker for worker in world.living if worker.partition.name == "p1-9").die())

    members = [partition._replace(is_member=True) for partition in partitions(4, 9, 5, 5)]
    report = Supervisor(world, members, n_workers=2, each_turn=kill).run()
    assert report.finished
    assert report.lost == 1
    assert {name: result.position for name, result in report.results.items()} == {"p0-4": 4, "p1-9": 9}


def test_workers_are_added_and_removed_while_running():
    world, numbers = World(), iter([1] * 10 + [4] * 10 + [2] * 1000)
    living = []

    def change(supervisor):
        supervisor.set_workers(next(numbers))
        living.append(len(world.living))

    report = Supervisor(world, partitions(*[50] * 5), n_workers=1, each_turn=change).run()
    assert report.finished
    assert report.lost == 0
    assert (living[5], living[18]) == (1, 4)
    assert living[30] == 2
    assert len(world.handled) == len(set(world.handled)) == 250


def test_a_stop_leaves_partitions_to_the_next_run():
    world = World()
    turns = iter(range(1000))
    first = Supervisor(world, partitions(30, 30), n_workers=2, each_turn=lambda s: next(turns) == 9 and s.stop()).run()
    assert not first.finished
    assert 0 < first.summary.answered < 60
    second = Supervisor(world, partitions(30, 30), n_workers=1).run()
    assert second.finished
    assert len(world.handled) == len(set(world.handled)) == 60


def test_a_partition_that_kills_every_worker_ends_the_run():
    world = World()

    def kill(supervisor):
        for worker in list(world.living):
            if worker.partition is not None and worker.partition.name == "p1-0":
                worker.die()

    class Stuck(FakeWorker):
        def turn(self):
            if self.partition is not None and self.partition.name != "p1-0":
                super().turn()

    world.add = lambda name: Stuck(world, name)
    with pytest.raises(PartitionError, match=r"p1-0 failed 6 times without one more answer: worker .* is dead: killed"):
        Supervisor(world, partitions(3, 0), n_workers=2, each_turn=kill).run()
    assert world.living == []


def test_workers_that_never_start_end_the_run():
    world = World()

    class Unborn(FakeWorker):
        def __init__(self, world, name):
            super().__init__(world, name)
            self.events = [Ended("there is no module anystream")]

    world.add = lambda name: Unborn(world, name)
    with pytest.raises(PartitionError, match="11 workers ended before they were ready: there is no module anystream"):
        Supervisor(world, partitions(3), n_workers=2).run()


@pytest.mark.parametrize("again", [True, False])
def test_an_error_that_may_be_over_soon_is_tried_again(again):
    world, clock = World(), [0.0]
    error = CheckpointInUseError("another run uses it") if again else ValueError("no such column")

    class Failing(FakeWorker):
        failures = 2

        def turn(self):
            clock[0] += 0.3
            if self.partition is not None and Failing.failures:
                Failing.failures -= 1
                self.partition = None
                self.events.append(Failed(error, again))
            else:
                super().turn()

    world.add = lambda name: Failing(world, name)
    supervisor = Supervisor(world, partitions(4), n_workers=1, now=lambda: clock[0])
    if again:
        assert supervisor.run().summary.answered == 4
    else:
        with pytest.raises(PartitionError, match="p0-4 failed: no such column"):
            supervisor.run()


def test_partitions_have_different_names():
    with pytest.raises(ValueError, match="same name"):
        Supervisor(World(), partitions(1) * 2, n_workers=1)
    with pytest.raises(ValueError, match="0 workers"):
        Supervisor(World(), partitions(1), n_workers=0)
