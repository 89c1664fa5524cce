import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from typer.testing import CliRunner

from anystream.cli.app import app, main
from anystream.cli.models import MODELS, make_model
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
    "arguments",
    [
        ["classify", "model.safetensors", "copy.csv", "-o", "copy.csv"],
        ["classify", "model.safetensors", "copy.csv", "-o", "out.jsonl", "--dead-letters", "./copy.csv"],
        ["classify", "model.safetensors", "copy.csv", "-o", "new.jsonl", "--dead-letters", "new.jsonl"],
        ["classify", "model.safetensors", "copy.csv", "-o", "model.safetensors"],
        ["fit", "copy.csv", "--label", "class", "--key", "id", "-o", "copy.csv"],
    ],
)
def test_no_file_is_written_that_is_read(home, arguments):
    shutil.copy(home / "test.csv", home / "copy.csv")
    before = (home / "copy.csv").read_bytes(), (home / "model.safetensors").read_bytes()
    done = anystream(*arguments, cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "write to another file" in done.stderr
    assert before == ((home / "copy.csv").read_bytes(), (home / "model.safetensors").read_bytes())
    assert not (home / "new.jsonl").exists()


def test_true_and_false_are_labels_as_json_writes_them(home):
    lines = [json.dumps({"size": size + 0.01 * i, "ok": size > 1}) for i in range(20) for size in (0.0, 2.0)]
    (home / "bool.jsonl").write_text("\n".join(lines) + "\n")
    assert anystream("fit", "bool.jsonl", "--label", "ok", "-o", "bool.safetensors", cwd=home).returncode == 0
    done = anystream("classify", "bool.safetensors", "bool.jsonl", "--json", cwd=home)
    assert {json.loads(line)["label"] for line in done.stdout.splitlines()} == {"true", "false"}
    assert json.loads(done.stderr)["accuracy"] == 1.0


def test_bad_records_that_nobody_keeps_are_told_in_short(home):
    lines = ["id,size,colour,class", "a,1,red,yes", *(f"b{i},wide,red,no" for i in range(5)), "c,0,blue,no"]
    (home / "broken.csv").write_text("\n".join(lines) + "\n")
    done = anystream("classify", "model.safetensors", "broken.csv", cwd=home)
    assert done.returncode == 0
    summary, *told, hint = done.stderr.splitlines()
    assert "2 of 7 records answered" in summary
    assert "5 bad records (skipped)" in summary
    assert told == [*(f"  line {n}: column 'size' has 'wide', which is no number" for n in (3, 4, 5)), "  ..."]
    assert "--dead-letters" in hint
    assert "--strict" in hint
    done = anystream("classify", "model.safetensors", "broken.csv", "--json", cwd=home)
    assert len(json.loads(done.stderr)["first_bad"]) == 3
    done = anystream("classify", "model.safetensors", "broken.csv", "-q", cwd=home)
    assert (
        done.stderr == "anystream: 5 bad records, the first is line 3: column 'size' has 'wide', which is no number\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["classify", "absent.safetensors"], 1, "anystream: absent.safetensors: No such file"),
        (["classify", "train.csv"], 2, "train.csv"),
        (["classify", "model.safetensors", "test.csv", "--within", "soon"], 2, "'soon' is no duration"),
        (["classify", "model.safetensors", "test.csv", "--scheduler", "luck"], 2, "use one of deadline-share"),
        (["classify", "model.safetensors", "test.csv", "--overflow", "drop"], 2, "use one of block"),
        (["classify", "model.safetensors", "test.csv", "--budget", "-3"], 2, "--budget is -3"),
        (["classify", "model.safetensors", "test.csv", "--queue", "0"], 2, "--queue is 0"),
        (["classify", "model.safetensors", "test.csv", "--speed", "2"], 2, "with --time"),
        (["classify", "model.safetensors", "test.csv", "--checkpoint", "kept"], 2, "-o answers.jsonl"),
        (
            [
                "classify",
                "model.safetensors",
                "test.csv",
                "-o",
                "a.jsonl",
                "--checkpoint",
                "kept",
                "--checkpoint-every",
                "many records",
            ],
            2,
            "--checkpoint-every is 'many records'",
        ),
        (["classify", "model.safetensors", "test.csv.gz"], 2, "gunzip -c test.csv.gz |"),
        (["fit", "latin.csv", "--label", "class"], 2, "latin.csv: the file is not UTF-8 (byte 0xfc)"),
        (["classify", "model.safetensors", "-", "--input-format", "arrow"], 2, "name the file"),
        (
            ["classify", "model.safetensors", "test.csv", "--input-format", "arrow"],
            2,
            "test.csv: this is no Arrow file",
        ),
        (["demo", "--seconds", "0"], 2, "--seconds"),
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
    (home / "latin.csv").write_bytes("size,class\n1,gr\xfcn\n".encode("latin-1"))
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
    assert found["chosen"].keys() == {"metric", "bandwidth", "decision", "root_weight"}
    assert "chosen by fit: metric=" in anystream("inspect", "model.safetensors", cwd=home).stdout


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
    assert load(home / "better.safetensors").forest_.records == 600
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


def examples(command):
    """The examples in the help of a command, as they are printed."""
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
    return [line.partition("Example: ")[2].strip() for line in shown.splitlines() if "Example: " in line]


@pytest.mark.parametrize("command", ["fit", "classify", "evaluate", "inspect", "simulate"])
def test_the_examples_in_the_help_run_as_they_are_printed(command, tmp_path):
    for name, n in (("train.csv", 300), ("test.csv", 60)):
        write_table(tmp_path / name, n)
        (tmp_path / name).write_text(re.sub(r"^[^,]*,", "", (tmp_path / name).read_text(), flags=re.MULTILINE))
    (tmp_path / "records.jsonl").write_text('{"size": 3.0, "colour": "red"}\n')
    done = anystream("fit", "train.csv", "--label", "class", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = examples(command)
    assert found
    for example in found:
        assert example.startswith(f"anystream {command} ")
        if "<" in example:
            line = example.replace("anystream", f"{shlex.quote(sys.executable)} -m anystream", 1)
            done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        else:
            done = anystream(*shlex.split(example)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{example}: {done.stderr}"


def test_the_demo_has_an_example_too():
    assert examples("demo") == ["anystream demo --seconds 1"]


def test_standard_input_says_itself_whether_it_is_csv(home):
    done = anystream("classify", "model.safetensors", cwd=home, stdin="\nid,size,colour\na,3.0,red\nb,x,red\n")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["key"] for line in done.stdout.splitlines()] == ["a"]
    assert "1 bad record (skipped)" in done.stderr
    assert anystream("classify", "model.safetensors", "-q", cwd=home, stdin="").returncode == 0


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_fitted_and_asked_by_its_name(home, name):
    target = f"{name}.safetensors"
    done = anystream(*("fit", "train.csv", "--label", "class", "--key", "id", "--model", name, "-o", target), cwd=home)
    assert done.returncode == 0, done.stderr
    done = anystream("classify", target, "test.csv", "--within", "5s", "--json", "-o", "answers.jsonl", cwd=home)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stderr)
    assert summary["answered"] == 200
    assert summary["accuracy"] > 0.7


def test_shell_completion_knows_the_commands(home):
    command = [sys.executable, "-m", "anystream"]
    env = os.environ | {"_ANYSTREAM_COMPLETE": "complete_bash", "COMP_WORDS": "anystream cl", "COMP_CWORD": "1"}
    program = shutil.which("anystream", path=str(Path(sys.executable).parent))
    done = subprocess.run([program] if program else command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["classify"]


def test_settings_are_numbers_names_or_text():
    model = make_model("bayes-tree", ["fanout=5", "bandwidth=haerdle", "n_jobs=None"])
    assert (model.fanout, model.bandwidth, model.n_jobs) == (5, "haerdle", None)
    with pytest.raises(ValueError, match="write name=value"):
        make_model("bayes-tree", ["fanout"])
