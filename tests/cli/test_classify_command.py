import json
import signal
import subprocess
import sys

import pytest

from anystream.model_file import read_model
from cli.program import run_program


def read_answers(text):
    return [json.loads(line) for line in text.splitlines()]


def split_labels(folder):
    """Write the test table as records.jsonl without labels, and labels.jsonl with keys and labels."""
    with open(folder / "records.jsonl", "w") as records, open(folder / "labels.jsonl", "w") as labels:
        for line in (folder / "test.csv").read_text().splitlines()[1:]:
            key, size, colour, label = line.split(",")
            records.write(json.dumps({"id": key, "size": float(size), "colour": colour}) + "\n")
            labels.write(json.dumps({"id": key, "class": label}) + "\n")


def test_a_file_is_classified_and_the_summary_goes_to_standard_error(home):
    done = run_program("classify", "model.safetensors", "test.csv", "--within", "5s", "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    assert [answer["key"] for answer in read_answers(done.stdout)] == [f"r{i}" for i in range(200)]
    summary = json.loads(done.stderr)
    assert (summary["answered"], summary["late"], summary["dead_letters"]) == (200, 0, 0)
    assert summary["accuracy"] > 0.8
    assert "labels_received" not in summary


def test_json_lines_flow_through_standard_streams(home):
    stdin = '{"id": 1, "size": 3.0, "colour": "red"}\n{"id": 2, "size": -1.0}\n'
    done = run_program("classify", "model.safetensors", "--proba", "-q", cwd=home, stdin=stdin)
    assert done.returncode == 0
    assert done.stderr == ""
    answers = read_answers(done.stdout)
    assert [(answer["key"], answer["label"]) for answer in answers] == [(1, "yes"), (2, "no")]
    assert set(answers[0]["proba"]) == {"yes", "no"}


def test_csv_on_standard_input_is_recognised_by_its_first_byte(home):
    done = run_program("classify", "model.safetensors", cwd=home, stdin="\nid,size,colour\na,3.0,red\nb,x,red\n")
    assert done.returncode == 0, done.stderr
    assert [answer["key"] for answer in read_answers(done.stdout)] == ["a"]
    assert "1 bad record (skipped)" in done.stderr
    assert run_program("classify", "model.safetensors", "-q", cwd=home, stdin="").returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--within", "2s", "--scheduler", "marginal-gain"),
        ("--within", "2s", "--scheduler", "deadline-share", "--budget", "3"),
        ("--target-wait", "1s"),
        ("--budget", "0"),
        ("--rate", "5000"),
    ],
    ids=lambda options: " ".join(options),
)
def test_every_scheduler_and_pace_classifies_all_records(home, options):
    done = run_program("classify", "model.safetensors", "test.csv", *options, "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stderr)
    assert summary["answered"] == 200
    if "--budget" in options:
        assert summary["steps_per_record"] <= int(options[-1])


def test_recorded_times_set_the_pace_only_with_speed(home):
    lines = (home / "test.csv").read_text().splitlines()
    rows = [f"{line},{when / 1000}" for when, line in enumerate(lines[1:])]
    (home / "timed.csv").write_text("\n".join([f"{lines[0]},seconds", *rows]) + "\n")
    arguments = ("classify", "model.safetensors", "timed.csv", "--time", "seconds", "--within", "5s", "--json")
    replayed = json.loads(run_program(*arguments, "--speed", "1", cwd=home).stderr)
    assert replayed["answered"] == 200
    assert replayed["seconds"] > 0.19
    at_once = json.loads(run_program(*arguments, cwd=home).stderr)
    assert (at_once["answered"], at_once["late"]) == (200, 0)  # due 5 s after they were read, not after 1970


def test_an_error_in_the_input_leaves_the_outputs_untouched(home):
    (home / "answers.jsonl").write_text("yesterday\n")
    (home / "narrow.csv").write_text("id,size\na,1\n")
    arguments = ("-o", "answers.jsonl", "--dead-letters", "dead.jsonl")
    done = run_program("classify", "model.safetensors", "narrow.csv", *arguments, cwd=home)
    assert done.returncode == 2
    assert "there is no column 'colour', which the model was fitted on" in done.stderr
    assert (home / "answers.jsonl").read_text() == "yesterday\n"
    assert not (home / "dead.jsonl").exists()


def test_the_model_file_is_read_once(home, monkeypatch):
    from anystream.cli import classify_run

    reads = []

    def read_model(path, **options):
        reads.append(path)
        return original(path, **options)

    original = classify_run.read_model
    monkeypatch.setattr("anystream.cli.classify_run.read_model", read_model)
    monkeypatch.setattr("anystream.model_file.read_model", read_model)
    assert run_program("classify", "model.safetensors", "test.csv", cwd=home).returncode == 0
    assert reads == ["model.safetensors"]


def test_later_labels_are_learned_and_the_model_is_saved(home):
    split_labels(home)
    done = run_program(
        *("classify", "model.safetensors", "records.jsonl", "--learn", "--labels", "labels.jsonl"),
        *("--save", "better.safetensors", "--json"),
        cwd=home,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stderr)
    assert (summary["learned"], summary["labels_received"], summary["labels_matched"]) == (200, 200, 200)
    assert read_model(home / "better.safetensors").arrays["class_count"].sum() == 600
    assert run_program("evaluate", "better.safetensors", "test.csv", cwd=home).returncode == 0  # with its schema


def test_a_model_that_cannot_learn_further_is_refused_with_learn(home):
    arguments = ("fit", "train.csv", "--label", "class", "--key", "id", "--model", "kaog", "-o", "kaog.safetensors")
    assert run_program(*arguments, cwd=home).returncode == 0
    done = run_program("classify", "kaog.safetensors", "test.csv", "-o", "answers.jsonl", "--learn", cwd=home)
    assert done.returncode == 2
    assert "kaog.safetensors: a model of kind kaog cannot learn further; leave --learn out" in done.stderr
    assert not (home / "answers.jsonl").exists()


def test_a_checkpointed_run_is_complete_and_a_second_start_adds_nothing(home):
    arguments = ("classify", "model.safetensors", "test.csv", "-o", "kept.csv", "--checkpoint", "ck", "-q")
    for _ in range(2):
        done = run_program(*arguments, "--checkpoint-every", "50 records", cwd=home)
        assert done.returncode == 0, done.stderr
        assert len((home / "kept.csv").read_text().splitlines()) == 201


def test_sigterm_ends_a_running_stream_gracefully(home):
    process = subprocess.Popen(
        [sys.executable, "-m", "anystream", "classify", "model.safetensors", "-", "--json"],
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b'{"id": 1, "size": 3.0, "colour": "red"}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["key"] == 1  # answered while the input stays open
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 0
    assert json.loads(error)["answered"] == 1
