"""Any kind of input is read, or is one line and exit code 2; nothing about it is ignored in silence."""

import bz2
import gzip
import json
import lzma
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from anystream.connectors.saved_model import open_model
from cli.program import run_program

READ = {
    "compressed.csv.gz": lambda text: gzip.compress(text.encode()),
    "gzip.csv": lambda text: gzip.compress(text.encode()),
    "bzip2.csv.bz2": lambda text: bz2.compress(text.encode()),
    "xz": lambda text: lzma.compress(text.encode()),
    "zstd.csv.zst": lambda text: pytest.importorskip("zstandard").ZstdCompressor().compress(text.encode()),
    "utf16.csv": lambda text: text.encode("utf-16"),
    "mac.csv": lambda text: text.replace("\n", "\r").encode(),
    "no suffix": lambda text: text.encode(),
    "objects": lambda text: to_json_lines(text).encode(),
    "objects.txt": lambda text: to_json_lines(text).encode(),
    "objects.jsonl.gz": lambda text: gzip.compress(to_json_lines(text).encode()),
    "parquet.csv": lambda text: to_parquet(text),
    "parquet": lambda text: to_parquet(text),
}
COMMANDS = {
    "classify": lambda name: ("classify", "model.safetensors", name, "-o", "answers.jsonl"),
    "evaluate": lambda name: ("evaluate", "model.safetensors", name, "--budgets", "0,5"),
    "fit": lambda name: ("fit", name, "--label", "class", "--key", "id", "-o", "other.safetensors"),
    "simulate": lambda name: (
        *("simulate", "model.safetensors", "--data", name),
        *("--duration", "20ms", "--machines", "1", "--burst-time", "20ms"),
    ),
}


def to_json_lines(text):
    names, *rows = (line.split(",") for line in text.splitlines())
    objects = (dict(zip(names, row, strict=True)) for row in rows)
    return "".join(json.dumps(found | {"size": float(found["size"])}) + "\n" for found in objects)


def to_parquet(text):
    pa, csv, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"))
    out = pa.BufferOutputStream()
    parquet.write_table(csv.read_csv(pa.BufferReader(text.encode())), out)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", READ)
def test_every_command_reads_every_kind_of_file(home, name, command):
    (home / name).write_bytes(READ[name]((home / "test.csv").read_text()))
    done = run_program(*COMMANDS[command](name), cwd=home)
    assert done.returncode == 0, done.stderr
    if command == "classify":
        assert len((home / "answers.jsonl").read_text().splitlines()) == 200
        assert "200 of 200 records answered" in done.stderr
    elif command != "simulate":
        assert "200 records" in done.stdout


UNREADABLE = {
    "noise.csv": lambda text: random.Random(0).randbytes(5000),
    "noise": lambda text: random.Random(1).randbytes(5000),
    "noise.jsonl": lambda text: random.Random(2).randbytes(5000),
    "zip.csv": lambda text: b"PK\x03\x04" + random.Random(3).randbytes(500),
    "half.csv.gz": lambda text: gzip.compress(text.encode())[:-30],
    "damaged.parquet": lambda text: b"PAR1" + random.Random(4).randbytes(500),
    "utf16 without mark.csv": lambda text: text.encode("utf-16-le"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(home, name, command):
    (home / name).write_bytes(UNREADABLE[name]((home / "test.csv").read_text()))
    done = run_program(*COMMANDS[command](name), cwd=home)
    assert done.returncode == 2
    assert name in done.stderr or (command == "classify" and "0 of" in done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("content", ["", "\n\n", "id,size,colour,class\n"])
@pytest.mark.parametrize("name", ["empty.csv", "empty.jsonl", "empty"])
def test_an_empty_input_has_no_answers_and_cannot_be_fitted_or_evaluated(home, name, content):
    if name == "empty.jsonl" and content.strip():
        content = ""
    (home / name).write_text(content)
    done = run_program("classify", "model.safetensors", name, "-o", "answers.jsonl", cwd=home)
    assert (done.returncode, (home / "answers.jsonl").read_text()) == (0, "")
    assert "0 of 0 records answered" in done.stderr
    for command in ("fit", "evaluate", "simulate"):
        done = run_program(*COMMANDS[command](name), cwd=home)
        assert done.returncode == 2
        assert f"{name}: " in done.stderr


def test_standard_input_is_read_by_fit_and_evaluate_from_files_and_pipes(home):
    text = (home / "test.csv").read_text()
    done = run_program("fit", "-", "--label", "class", "--key", "id", "-o", "piped.safetensors", cwd=home, stdin=text)
    assert done.returncode == 0, done.stderr
    assert "200 records" in done.stdout
    with open(home / "test.csv") as file:
        command = [sys.executable, "-m", "anystream", "evaluate", "model.safetensors", "-"]
        done = subprocess.run(command, cwd=home, stdin=file, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "200 records" in done.stdout


def test_a_stray_carriage_return_and_a_long_cell_are_dead_letters(home):
    text = (home / "test.csv").read_text().replace("r5,", "r\r5,", 1).replace("r9,", "r" + "x" * 140_000 + ",", 1)
    (home / "odd.csv").write_bytes(text.encode())
    done = run_program(
        *("classify", "model.safetensors", "odd.csv", "-o", "a.jsonl", "--dead-letters", "dead.jsonl"), cwd=home
    )
    assert done.returncode == 0
    assert [json.loads(line)["line"] for line in (home / "dead.jsonl").read_text().splitlines()] == [7, 11]
    done = run_program("evaluate", "model.safetensors", "odd.csv", cwd=home)
    assert (done.returncode, "odd.csv: line 7: the line is not CSV" in done.stderr) == (2, True)


# -- columns that are not there ----------------------------------------------------------------------------------------


def test_records_without_any_column_of_the_model_are_bad_and_none_answered_is_an_error(home):
    (home / "none.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    done = run_program("classify", "model.safetensors", "none.jsonl", cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 1: the record has no column of the model, which are size, colour" in done.stderr
    (home / "some.jsonl").write_text('{"a": 1}\n{"size": 2}\n')
    done = run_program("classify", "model.safetensors", "some.jsonl", cwd=home)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)


def test_a_column_that_never_occurs_is_a_warning_and_is_counted(home):
    (home / "one.jsonl").write_text('{"size": 1}\n{"size": 2}\n')
    done = run_program("classify", "model.safetensors", "one.jsonl", cwd=home)
    assert "warning: no record had the column 'colour', which the model was fitted on" in done.stderr
    done = run_program("classify", "model.safetensors", "one.jsonl", "--json", cwd=home)
    assert json.loads(done.stderr)["absent_columns"] == {"colour": 2}
    (home / "both.jsonl").write_text('{"size": 1}\n{"size": 2, "colour": "red"}\n')
    assert "warning" not in run_program("classify", "model.safetensors", "both.jsonl", cwd=home).stderr


@pytest.mark.parametrize("option", ["--key", "--time", "--label", "--keep"])
def test_a_named_column_that_no_object_has_is_an_error(home, option):
    (home / "r.jsonl").write_text(to_json_lines((home / "test.csv").read_text()))
    done = run_program("classify", "model.safetensors", "r.jsonl", option, "absent", cwd=home)
    assert done.returncode == 2
    assert "r.jsonl: there is no column 'absent' in the first 200 records; they have id, size" in done.stderr


@pytest.mark.parametrize(
    "labels", ["key,label\nr1,yes\nr2,no\n", "id,class\nr1,yes\nr2,no\n", '{"key": "r1", "label": "yes"}\n' * 2]
)
def test_labels_are_named_as_in_the_input_or_key_and_label(home, labels):
    (home / "labels").write_text(labels)
    done = run_program(
        *("classify", "model.safetensors", "test.csv", "-o", "a.csv", "--label", "class", "--json"),
        *("--learn", "--labels", "labels"),
        cwd=home,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr)["labels_received"] == 2


def test_labels_without_their_columns_are_an_error(home):
    (home / "labels.csv").write_text("foo,bar\nr1,yes\n")
    done = run_program("classify", "model.safetensors", "test.csv", "--learn", "--labels", "labels.csv", cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "labels.csv: there is no column 'id'; the table has foo, bar" in done.stderr


def test_times_of_iso_8601_are_read_by_fit_and_classify(home):
    lines = (home / "train.csv").read_text().splitlines()
    rows = [f"{line},2024-01-01T00:{i // 60:02}:{i % 60:02}Z" for i, line in enumerate(lines[1:])]
    (home / "timed.csv").write_text("\n".join([lines[0] + ",at", *rows]) + "\n")
    done = run_program("fit", "timed.csv", "--label", "class", "--key", "id", "--time", "at", cwd=home)
    assert done.returncode == 0, done.stderr
    done = run_program(
        *("classify", "model.safetensors", "timed.csv", "-o", "a.csv", "--speed", "10000", "--within", "10s", "--json"),
        cwd=home,
    )
    found = json.loads(done.stderr)
    assert (found["answered"], found["late"], found["deadlines_from"]) == (400, 0, "arrival")


def test_input_columns_are_carried_into_the_answers(home):
    for name, extra in (("a.jsonl", ()), ("a.csv", ()), ("a.parquet", ())):
        done = run_program(
            *("classify", "model.safetensors", "test.csv", "-o", name, "--keep", "colour,id", *extra), cwd=home
        )
        assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in (home / "test.csv").read_text().splitlines()[1:]]
    found = [json.loads(line) for line in (home / "a.jsonl").read_text().splitlines()]
    assert [(each["id"], each["colour"]) for each in found] == [(row[0], row[2]) for row in rows]
    answers = (home / "a.csv").read_text().splitlines()
    assert answers[0] == "key,label,confidence,steps,certified,late,reached,unknown,colour,id"
    assert answers[1].split(",")[-2:] == [rows[0][2], rows[0][0]]
    table = pytest.importorskip("pyarrow.parquet").read_table(home / "a.parquet")
    assert table.column("colour").to_pylist() == [row[2] for row in rows]


# -- categories --------------------------------------------------------------------------------------------------------


def test_unknown_categories_are_answered_as_missing_counted_and_marked(home):
    text = (home / "test.csv").read_text()
    n_red = text.count("red")
    (home / "green.csv").write_text(text.replace("red", "green"))
    (home / "gaps.csv").write_text(text.replace("red", ""))
    done = run_program("classify", "model.safetensors", "green.csv", "-o", "green.jsonl", "--json", cwd=home)
    found = json.loads(done.stderr)
    assert (found["answered"], found["unknown"], found["dead_letters"]) == (200, n_red, 0)
    assert "column 'colour' has 'green', a category that is not in the training data" in found["first_unknown"][0]
    run_program("classify", "model.safetensors", "gaps.csv", "-o", "gaps.jsonl", cwd=home)
    answers, as_missing = (
        [json.loads(line) for line in (home / name).read_text().splitlines()] for name in ("green.jsonl", "gaps.jsonl")
    )
    assert sum(answer.pop("unknown", False) for answer in answers) == n_red
    assert answers == as_missing
    done = run_program("evaluate", "model.safetensors", "green.csv", "--json", cwd=home)
    assert json.loads(done.stdout)["unknown"] == n_red
    done = run_program(*COMMANDS["simulate"]("green.csv"), cwd=home)
    assert (done.returncode, f"{n_red} records with a category" in done.stderr) == (0, True)


def test_unknown_categories_can_be_rejected(home):
    (home / "green.csv").write_text((home / "test.csv").read_text().replace("red", "green"))
    done = run_program(
        *("classify", "model.safetensors", "green.csv", "-o", "a.jsonl", "--unknown", "reject", "--json"), cwd=home
    )
    found = json.loads(done.stderr)
    assert found["dead_letters"] + found["answered"] == 200 > found["dead_letters"] > 0
    for command in ("evaluate", "simulate"):
        done = run_program(*COMMANDS[command]("green.csv"), "--unknown", "reject", cwd=home)
        assert (done.returncode, "a category that is not in the training data" in done.stderr) == (2, True)


def test_all_columns_of_too_many_categories_are_named_and_can_be_bucketed(home):
    rows = [f"r{i},t{i % 150 if i % 3 else 0},s{i % 300},{i * 0.5},{i % 2}" for i in range(600)]
    (home / "many.csv").write_text("\n".join(["id,town,street,size,class", *rows]) + "\n")
    fit = ("fit", "many.csv", "--label", "class", "--key", "id", "-o", "many.safetensors")
    done = run_program(*fit, cwd=home)
    assert done.returncode == 2
    assert "'town' (101), 'street' (300)" in done.stderr
    assert "--ignore town --ignore street" in done.stderr
    done = run_program(*fit, "--categorical", "town", "--ignore", "street", cwd=home)
    assert done.returncode == 0, done.stderr
    town, size = open_model(home / "many.safetensors").schema.columns
    assert (town.n_categories, town.other, size.categories) == (100, True, None)
    assert "t0" in town.categories
    (home / "new.csv").write_text("id,town,size\n1,nowhere,3\n")
    done = run_program("classify", "many.safetensors", "new.csv", "--json", cwd=home)
    assert "unknown" not in json.loads(done.stderr)  # it is one of the others


def test_a_word_in_a_column_of_numbers_is_reported_with_its_line(home):
    rows = [f"{'hello' if i == 76 else i * 0.5},{i % 7},{i % 2}" for i in range(400)]
    (home / "hello.csv").write_text("\n".join(["size,b,class", *rows]) + "\n")
    for options in ((), ("--numeric", "size")):
        done = run_program("fit", "hello.csv", "--label", "class", *options, cwd=home)
        assert done.returncode == 2
        assert "hello.csv: line 78: column 'size' has 'hello', which is no" in done.stderr
    done = run_program("fit", "train.csv", "--label", "class", "--key", "id", "--numeric", "colour", cwd=home)
    assert "line 2: column 'colour' has" in done.stderr


@pytest.mark.parametrize("options", [("--model", "locust"), ("--model", "neighbors", "--set", "metric=gower")])
def test_models_that_compare_categories_get_one_feature_per_column(home, options):
    done = run_program("fit", "train.csv", "--label", "class", "--key", "id", *options, "-o", "c.safetensors", cwd=home)
    assert done.returncode == 0, done.stderr
    saved = open_model(home / "c.safetensors")
    assert saved.schema.feature_names == ["size", "colour"]
    parameters = saved.classifier.get_params()
    assert (parameters.get("categorical") or parameters["metric_params"]["categorical"]) == [1]
    done = run_program("classify", "c.safetensors", "test.csv", "-o", "a.jsonl", "--json", cwd=home)
    assert json.loads(done.stderr)["accuracy"] > 0.8


def test_a_sample_is_drawn_from_the_whole_table(home):
    found = []
    for seed in ("0", "0", "1"):
        arguments = ("fit", "train.csv", "--label", "class", "--key", "id", "--sample", "50", "--seed", seed, "--json")
        done = run_program(*arguments, "-o", "s.safetensors", cwd=home)
        assert json.loads(done.stdout)["records"] == 50
        found.append((home / "s.safetensors").read_bytes())
    assert found[0] == found[1] != found[2]


# -- the end of a run --------------------------------------------------------------------------------------------------


def test_an_interrupted_run_says_where_and_ends_with_130_and_a_checkpoint(home):
    rows = (home / "test.csv").read_text().splitlines()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "anystream",
            "classify",
            "model.safetensors",
            "-",
            "-o",
            "a.jsonl",
            "--checkpoint",
            "ck",
        ],
        cwd=home,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(("\n".join(rows[:101]) + "\n").encode())
    process.stdin.flush()
    while not (home / "a.jsonl").exists() or len((home / "a.jsonl").read_text().splitlines()) < 100:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "interrupted at line 101; the input after it was not read" in error.decode()
    done = run_program(
        *("classify", "model.safetensors", "-", "-o", "a.jsonl", "--checkpoint", "ck"),
        cwd=home,
        stdin="\n".join(rows) + "\n",
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["key"] for line in (home / "a.jsonl").read_text().splitlines()] == [
        row.split(",")[0] for row in rows[1:]
    ]


def cpu_s(pid):
    """Return the CPU time that a process has used."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the CPU time of a process from /proc")
@pytest.mark.parametrize(
    ("module", "then_s"),
    [("anystream.cli.interrupts", 0.02), ("typer", 0), ("numpy._core.multiarray", 0), ("sklearn.utils", 0)]
    + [("anystream.bayes_tree.classifier", after_s) for after_s in (0, 0.2, 1.0)],
)
def test_an_interrupted_fit_ends_with_130_and_leaves_the_model_file(home, module, then_s):
    rng = np.random.default_rng(0)
    rows = [
        ",".join(f"{value:.4f}" for value in row) + f",{i % 5}" for i, row in enumerate(rng.normal(size=(30_000, 12)))
    ]
    (home / "large.csv").write_text(",".join([*(f"c{i}" for i in range(12)), "class"]) + "\n" + "\n".join(rows) + "\n")
    before = (home / "model.safetensors").read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "anystream", "fit", "large.csv", "--label", "class"],
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # it is ignored where tests run in the background
    )
    imported = [f"| {' ' * depth}{module}" for depth in range(0, 40, 2)]
    for line in process.stderr:
        if any(line.rstrip().endswith(name) for name in imported):
            break
    else:
        pytest.fail(f"{module} was never imported")
    until = cpu_s(process.pid) + then_s
    while cpu_s(process.pid) < until:  # reading the table and fitting take some seconds
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert "anystream: interrupted" in error
    assert "Traceback" not in error
    assert "terminate called" not in error
    assert (home / "model.safetensors").read_bytes() == before
