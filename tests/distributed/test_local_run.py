"""Partitioned streams in local processes."""

from pathlib import Path

import pytest
from streams_of_parts import KillingJob, check_outputs, same_outputs, write_model, write_stream

from anystream.distributed import StreamJob, make_partitions, run, supervise
from anystream.distributed.partitions import Partition, create_folders

pytestmark = pytest.mark.slow

N_RECORDS = 6000


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    paths = write_stream(folder, 3, N_RECORDS)
    model = write_model(folder / "model.safetensors")
    calm = folder / "calm"
    report = run(model, paths, f"{calm}/", workers=1, dead_letters=str(calm / "dead"), checkpoint=folder / "c")
    assert report.finished
    check_outputs(paths, calm, N_RECORDS)
    return paths, model, calm, report


def test_a_stream_whose_workers_are_killed_ends_like_an_undisturbed_one(stream, tmp_path):
    paths, model, calm, undisturbed = stream
    kills = (("part-00.csv", 1000), ("part-01.csv", 3000))
    job = KillingJob(StreamJob(model=model, every_records=400), str(tmp_path), kills)
    partitions = make_partitions(paths, checkpoints=tmp_path / "c", outputs=tmp_path, dead_letters=tmp_path / "dead")
    report = supervise(job, partitions, workers=2)
    assert report.finished
    assert report.lost == 2
    check_outputs(paths, tmp_path, N_RECORDS)
    assert same_outputs(paths, tmp_path, calm)
    assert {name: r.position for name, r in report.results.items()} == {
        name: r.position for name, r in undisturbed.results.items()
    }
    assert report.summary.answered == undisturbed.summary.answered


def test_answers_are_joined_in_the_order_of_the_inputs(stream, tmp_path):
    paths, model, calm, _ = stream
    output = tmp_path / "answers.jsonl"
    report = run(model, str(Path(paths[0]).with_name("part-*.csv")), str(output), workers=1, checkpoint=tmp_path / "c")
    assert report.finished
    assert output.read_bytes() == b"".join(Path(calm, f"{Path(path).name}.jsonl").read_bytes() for path in paths)
    again = run(model, paths, str(output), workers=1, checkpoint=tmp_path / "c")  # all of it is done
    assert again.summary.answered == report.summary.answered


def test_an_error_names_the_partition(stream, tmp_path):
    paths, model, _, _ = stream
    bad = tmp_path / "bad.csv"
    bad.write_text("x,y\n1,2\n")
    with pytest.raises(RuntimeError, match=r"bad\.csv failed: .*column"):
        run(model, [str(bad)], str(tmp_path / "answers.jsonl"), workers=1)


def test_an_output_in_a_broker_gets_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers, dead = "redis://127.0.0.1:1/answers", str(tmp_path / "dead" / "a.jsonl")
    create_folders([Partition("a", "redis://127.0.0.1:1/events?group=g", answers, dead, str(tmp_path / "checkpoint"))])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "dead"]
