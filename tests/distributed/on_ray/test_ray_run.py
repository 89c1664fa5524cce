"""Partitioned streams on a cluster of Ray whose nodes are killed."""

import pytest
from killed_cluster import NodeKiller
from streams_of_parts import check_outputs, same_outputs, write_model, write_stream

from anystream.distributed import StreamJob, make_partitions, run, supervise

N_PARTITIONS, N_RECORDS = 6, 20_000


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    paths = write_stream(folder, N_PARTITIONS, N_RECORDS)
    model = write_model(folder / "model.safetensors")
    calm = folder / "calm"
    report = run(
        model, paths, f"{calm}/", workers=1, dead_letters=str(calm / "dead"), checkpoint=folder / "c", budget=50
    )
    check_outputs(paths, calm, N_RECORDS)
    return paths, model, calm, report


def positions(report):
    return {name: result.position for name, result in report.results.items()}


def test_a_stream_whose_node_is_killed_five_times_ends_like_an_undisturbed_one(cluster, stream, tmp_path):
    paths, model, calm, undisturbed = stream
    killer = NodeKiller(cluster, 5, N_PARTITIONS * N_RECORDS)
    job = StreamJob(model=model, every_records=1000, budget=50)
    partitions = make_partitions(paths, checkpoints=tmp_path / "c", outputs=tmp_path, dead_letters=tmp_path / "dead")
    report = supervise(job, partitions, workers=2, on="ray", each_turn=killer)
    assert report.finished
    assert len(killer.killed_at) == 5
    assert report.lost >= 3, "nodes must have had workers"
    check_outputs(paths, tmp_path, N_RECORDS)
    assert same_outputs(paths, tmp_path, calm)
    assert positions(report) == positions(undisturbed)
    assert report.summary.answered == undisturbed.summary.answered


def test_workers_are_added_and_removed_while_running(cluster, stream, tmp_path):
    paths, model, calm, undisturbed = stream
    seen = set()

    def change(supervisor):
        seen.add(len(supervisor.workers))
        share = supervisor.answered / (N_PARTITIONS * N_RECORDS)
        supervisor.set_workers(2 if 0.2 < share < 0.6 else 1)

    job = StreamJob(model=model, every_records=1000, budget=50)
    partitions = make_partitions(paths, checkpoints=tmp_path / "c", outputs=tmp_path, dead_letters=tmp_path / "dead")
    report = supervise(job, partitions, workers=1, on="ray", each_turn=change)
    assert report.finished
    assert seen >= {1, 2}
    assert report.lost == 0
    assert same_outputs(paths, tmp_path, calm)
    assert positions(report) == positions(undisturbed)


def test_workers_on_ray_need_a_shared_folder(stream):
    paths, model, _, _ = stream
    with pytest.raises(ValueError, match="checkpoint="):
        run(model, paths, "answers.jsonl", on="ray")
