"""A run of ``anystream classify`` continues its own checkpoint and nobody else's."""

import errno
import shutil
from unittest import mock

import pytest

from anystream.runtime import CheckpointFolder
from cli.program import run_program, write_table

COMMAND = ("classify", "model.safetensors", "test.csv", "-o", "kept.csv", "--checkpoint", "ck", "-q")


def classify(home, *changes, without=()):
    """Run the command with some of its arguments changed."""
    arguments = [argument for argument in COMMAND if argument not in without]
    return run_program(*arguments, *changes, "--checkpoint-every", "50 records", cwd=home)


def snapshot(home):
    return {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}


def assert_refused(done, *messages):
    assert done.returncode == 2, done.stderr
    for message in messages:
        assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def classified(home):
    """The folder after a complete run with checkpoints."""
    done = classify(home)
    assert done.returncode == 0, done.stderr
    return home


def test_the_next_days_file_of_the_same_size_is_refused_and_restart_begins_anew(classified):
    yesterday = (classified / "kept.csv").read_bytes()
    size = (classified / "test.csv").stat().st_size
    write_table(classified / "test.csv", 200, seed=5)
    content = (classified / "test.csv").read_bytes()[: size - 1]
    (classified / "test.csv").write_bytes(content + b"\n" * (size - len(content)))
    assert_refused(classify(classified), "test.csv: the first", "not those that the run has read", "--restart")
    assert (classified / "kept.csv").read_bytes() == yesterday
    done = classify(classified, "--restart")
    assert done.returncode == 0, done.stderr
    today = (classified / "kept.csv").read_bytes()
    assert today != yesterday
    assert len(today.splitlines()) >= 200


def test_an_input_that_has_grown_is_continued(classified):
    before = (classified / "kept.csv").read_bytes()
    with open(classified / "test.csv", "a") as file:
        file.write("r200,1.5,red,yes\nr201,-0.5,blue,no\n")
    done = classify(classified)
    assert done.returncode == 0, done.stderr
    after = (classified / "kept.csv").read_bytes()
    assert after.startswith(before)
    assert [line.split(b",")[0] for line in after[len(before) :].splitlines()] == [b"r200", b"r201"]


def test_another_output_is_refused_and_stays(classified):
    (classified / "theirs.csv").write_bytes(b"years of work\n" * 1000)
    before = snapshot(classified)
    done = classify(classified, "-o", "theirs.csv", without=("-o", "kept.csv"))
    assert_refused(done, "theirs.csv does not begin with the", "kept.csv; name that file, or begin anew with --restart")
    assert snapshot(classified) == before


def test_an_output_that_someone_added_to_is_refused_and_stays(classified):
    with open(classified / "kept.csv", "a") as file:
        file.write("my own remark\n")
    before = snapshot(classified)
    assert_refused(classify(classified), "kept.csv was complete with", "remove what was added")
    assert snapshot(classified) == before


def test_a_moved_folder_with_all_its_files_is_continued(classified):
    moved = shutil.move(classified, classified.with_name("moved"))
    assert classify(moved).returncode == 0


def test_dead_letters_of_others_are_not_emptied(classified):
    (classified / "bad.jsonl").write_text('{"line": 7}\n')
    before = snapshot(classified)
    done = classify(classified, "--dead-letters", "bad.jsonl")
    assert_refused(done, "bad.jsonl holds 12 bytes that the run did not write; name a new file")
    assert snapshot(classified) == before
    with open(classified / "test.csv", "a") as file:
        file.write("malformed\n")
    for _ in range(2):
        done = classify(classified, "--dead-letters", "new.jsonl")
        assert done.returncode == 0, done.stderr
    assert len((classified / "new.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("--budget", "3"), "with --budget none, this run has 3; give the same"),
        (("--learn",), "with --learn False, this run has True"),
        (("--proba",), "with --proba False, this run has True"),
        (("--within", "1s"), "with --within none, this run has '1s'"),
    ],
)
def test_other_options_are_refused(classified, changes, message):
    before = snapshot(classified)
    assert_refused(classify(classified, *changes), "ck: the checkpoint belongs to a run", message, "--restart")
    assert snapshot(classified) == before


def test_another_model_is_refused(classified):
    write_table(classified / "train.csv", 300, seed=8)
    done = run_program("fit", "train.csv", "--label", "class", "--key", "id", cwd=classified)
    assert done.returncode == 0, done.stderr
    assert_refused(classify(classified), "ck: the checkpoint belongs to a run with another model")


def test_a_run_that_saves_over_its_model_can_be_continued(home):
    for n_records in (200, 201):
        done = classify(home, "--learn", "--save", "model.safetensors")
        assert done.returncode == 0, done.stderr
        assert len((home / "kept.csv").read_text().splitlines()) == n_records + 1
        with open(home / "test.csv", "a") as file:
            file.write("r200,1.5,red,yes\n")


def test_the_second_of_two_runs_at_once_ends_with_one_line(classified):
    before = snapshot(classified)
    with CheckpointFolder(classified / "ck") as first:
        first.lock()
        for restart in ((), ("--restart",)):
            assert_refused(classify(classified, *restart), "ck: another run (process", "name another folder")
    assert snapshot(classified) == before


def test_a_changed_byte_in_the_last_checkpoint_costs_no_record(classified):
    complete = (classified / "kept.csv").read_bytes()
    *_, last = sorted((classified / "ck").glob("checkpoint-*[0-9].safetensors"), key=lambda path: int(path.stem[11:]))
    content = bytearray(last.read_bytes())
    content[-30] ^= 1
    last.write_bytes(content)
    done = classify(classified)
    assert done.returncode == 0, done.stderr
    assert "a checkpoint is damaged" in done.stderr
    assert (classified / "kept.csv").read_bytes() == complete


def test_restart_without_a_checkpoint_folder_is_an_error(home):
    done = run_program("classify", "model.safetensors", "test.csv", "--restart", cwd=home)
    assert_refused(done, "--restart has no effect without --checkpoint")


def test_a_full_disk_costs_checkpoints_but_no_answers(home):
    full = OSError(errno.ENOSPC, "No space left on device", "ck/checkpoint-1.safetensors")
    with mock.patch.object(CheckpointFolder, "save", side_effect=full):
        done = classify(home)
    assert done.returncode == 1, "the last checkpoint failed"
    assert "anystream: a checkpoint could not be saved: ck/checkpoint-1.safetensors: No space left" in done.stderr
    assert len((home / "kept.csv").read_text().splitlines()) == 201
    assert classify(home).returncode == 0
    assert len((home / "kept.csv").read_text().splitlines()) == 201
