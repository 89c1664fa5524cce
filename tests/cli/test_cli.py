import contextlib
import io
import json
import signal
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

from anystream.cli.app import app, main
from anystream.cli.models import make_model
from anystream.saved_models import load


def write_table(path, n, seed=0):
    rng = np.random.default_rng(seed)
    lines = ["id,size,colour,class"]
    for i in range(n):
        label = int(rng.integers(2))
        colour = "red" if rng.random() < (0.8 if label else 0.2) else "blue"
        lines.append(f"r{i},{rng.normal() + 2 * label:.4f},{colour},{'yes' if label else 'no'}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    write_table(folder / "train.csv", 400)
    write_table(folder / "test.csv", 200, seed=1)
    done = anystream("fit", "train.csv", "--label", "class", "--key", "id", "--profile", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "400 records, 3 features, 2 classes" in done.stdout
    assert "2 categories: blue, red" in done.stdout
    return folder


def anystream(*arguments, cwd, stdin=None):
    """The program: in this process, or in one of its own if it reads standard input."""
    if stdin is not None:
        command = [sys.executable, "-m", "anystream", *arguments]
        return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["anystream", *arguments]),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, ended.value.code, *texts)


def test_a_file_is_classified_and_the_summary_goes_to_standard_error(home):
    done = anystream("classify", "model.safetensors", "test.csv", "--within", "5s", "--json", cwd=home)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["key"] for row in rows] == [f"r{i}" for i in range(200)]
    summary = json.loads(done.stderr)
    assert (summary["answered"], summary["late"], summary["dead_letters"]) == (200, 0, 0)
    assert summary["accuracy"] > 0.8


def test_json_lines_flow_through_standard_streams(home):
    stdin = '{"id": 1, "size": 3.0, "colour": "red"}\n{"id": 2, "size": -1.0}\n'
    done = anystream("classify", "model.safetensors", "--proba", "-q", cwd=home, stdin=stdin)
    assert done.returncode == 0
    assert done.stderr == ""
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["key"], row["label"]) for row in rows] == [(1, "yes"), (2, "no")]
    assert set(rows[0]["proba"]) == {"yes", "no"}


def test_bad_records_go_to_the_dead_letters_and_strict_stops_at_the_first(home):
    (home / "broken.csv").write_text(
        "id,size,colour,class\na,1,red,yes\nb,1\nc,wide,red,no\nd,1,green,no\ne,0,blue,no\n"
    )
    arguments = ("classify", "model.safetensors", "broken.csv", "--dead-letters", "dead.jsonl")
    done = anystream(*arguments, cwd=home)
    assert done.returncode == 0
    assert [json.loads(line)["key"] for line in done.stdout.splitlines()] == ["a", "e"]
    assert "3 bad records (in dead.jsonl)" in done.stderr
    assert [json.loads(line)["line"] for line in (home / "dead.jsonl").read_text().splitlines()] == [3, 4, 5]
    done = anystream(*arguments, "--strict", cwd=home)
    assert done.returncode == 2
    assert done.stderr.strip() == "anystream: line 3: the line has 2 fields, the header 4"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["classify", "absent.safetensors"], 1, "No such file"),
        (["classify", "train.csv"], 2, "train.csv"),
        (["classify", "model.safetensors", "test.csv", "--within", "soon"], 2, "'soon' is no duration"),
        (["classify", "model.safetensors", "test.csv", "--scheduler", "luck"], 2, "use one of deadline-share"),
        (["classify", "model.safetensors", "test.csv", "--overflow", "drop"], 2, "use one of block"),
        (["fit", "train.csv", "--label", "klass"], 2, "there is no column 'klass'"),
        (
            ["fit", "train.csv", "--label", "class", "--ignore", "id", "--model", "tarot"],
            2,
            "there is no model 'tarot'",
        ),
        (["fit", "train.csv", "--label", "class", "--ignore", "id", "--set", "depth=3"], 2, "has no parameter 'depth'"),
        (["fit", "train.csv", "--label", "class"], 2, "--ignore id"),
        (["evaluate", "model.safetensors", "test.csv", "--budgets", "5,1"], 2, "ascending whole numbers"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_errors_are_one_clear_line_with_the_documented_exit_code(home, arguments, code, message):
    done = anystream(*arguments, cwd=home)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_accuracy_over_budget_as_table_json_and_plot(home):
    done = anystream("evaluate", "model.safetensors", "test.csv", "--json", "--plot", "c.png", cwd=home)
    found = json.loads(done.stdout)
    assert found["budgets"][0] == 0
    assert found["records"] == 200
    assert max(found["accuracy"]) > 0.8
    assert (home / "c.png").stat().st_size > 1000
    assert "200 records of test.csv" in anystream("evaluate", "model.safetensors", "test.csv", cwd=home).stdout


def test_inspect_tells_what_a_file_holds(home):
    found = json.loads(anystream("inspect", "model.safetensors", "--json", cwd=home).stdout)
    assert (found["kind"], found["classes"], found["profile"]) == ("bayes-tree", ["no", "yes"], True)
    assert "performance profile: yes" in anystream("inspect", "model.safetensors", cwd=home).stdout


def test_simulate_says_how_much_machine_is_needed(home):
    arguments = (
        "simulate",
        "model.safetensors",
        "--rate",
        "100",
        "--burst",
        "5x",
        "--duration",
        "10s",
        "--machines",
        "0.5,1",
    )
    found = json.loads(anystream(*arguments, "--data", "test.csv", "--json", cwd=home).stdout)
    assert [row["machine"] for row in found["machines"]] == [0.5, 1.0]
    assert all(row["taken"] == found["records"] for row in found["machines"])
    assert found["machines"][1]["accuracy"] > 0.8
    assert "this machine is enough" in anystream(*arguments, cwd=home).stdout


def test_marginal_gain_uses_the_profile_of_the_model(home):
    done = anystream(
        "classify",
        "model.safetensors",
        "test.csv",
        "--within",
        "2s",
        "--scheduler",
        "marginal-gain",
        "--json",
        cwd=home,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr)["answered"] == 200


def test_learning_from_later_labels_and_saving_the_model(home):
    table = (home / "test.csv").read_text().splitlines()[1:]
    with open(home / "records.jsonl", "w") as records, open(home / "labels.jsonl", "w") as labels:
        for line in table:
            key, size, colour, label = line.split(",")
            records.write(json.dumps({"id": key, "size": float(size), "colour": colour}) + "\n")
            labels.write(json.dumps({"id": key, "class": label}) + "\n")
    done = anystream(
        *("classify", "model.safetensors", "records.jsonl", "--learn", "--labels", "labels.jsonl"),
        *("--save", "better.safetensors", "--json"),
        cwd=home,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr)["learned"] == 200
    assert load(home / "better.safetensors").forest_.objects == 600
    assert anystream("evaluate", "better.safetensors", "test.csv", cwd=home).returncode == 0  # the schema went along


def test_a_checkpointed_run_is_complete_and_a_second_start_adds_nothing(home):
    arguments = ("classify", "model.safetensors", "test.csv", "-o", "kept.csv", "--checkpoint", "ck", "-q")
    for _ in range(2):
        done = anystream(*arguments, "--checkpoint-every", "50 records", cwd=home)
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


def test_every_command_shows_an_example_in_its_help():
    from typer.testing import CliRunner

    for command in ("fit", "classify", "evaluate", "inspect", "simulate", "demo"):
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        assert "Example" in shown
        assert f"anystream {command}" in shown


def test_settings_are_numbers_names_or_text():
    model = make_model("bayes-tree", ["fanout=5", "bandwidth=haerdle", "n_jobs=None"])
    assert (model.fanout, model.bandwidth, model.n_jobs) == (5, "haerdle", None)
    with pytest.raises(ValueError, match="write name=value"):
        make_model("bayes-tree", ["fanout"])
