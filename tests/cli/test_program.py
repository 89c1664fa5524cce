"""Properties of all commands: exit codes, files, help and start-up."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from anystream.cli.app import app
from cli.program import run_program, write_table

CLASSIFY = ("classify", "model.safetensors", "test.csv")
FIT = ("fit", "train.csv", "--label", "class")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["classify", "absent.safetensors"], 1, "anystream: absent.safetensors: No such file"),
        (["classify", "train.csv"], 2, "train.csv"),
        ([*CLASSIFY, "--within", "soon"], 2, "'soon' is not a duration"),
        ([*CLASSIFY, "--target-wait", "0s"], 2, "'0s' is not a duration"),
        ([*CLASSIFY, "--scheduler", "luck"], 2, "use one of deadline-share"),
        ([*CLASSIFY, "--scheduler", "waiting-time"], 2, "add --target-wait"),
        ([*CLASSIFY, "--scheduler", "marginal-gain"], 2, "add --within"),
        ([*CLASSIFY, "--scheduler", "marginal-gain", "--within", "1s", "--budget", "3"], 2, "leave --budget out"),
        ([*CLASSIFY, "--overflow", "drop"], 2, "use one of block"),
        ([*CLASSIFY, "--budget", "-3"], 2, "--budget is -3"),
        ([*CLASSIFY, "--queue", "0"], 2, "--queue is 0"),
        ([*CLASSIFY, "--rate", "0"], 2, "--rate is 0.0"),
        ([*CLASSIFY, "--rate", "5", "--speed", "2"], 2, "--rate and --speed"),
        ([*CLASSIFY, "--speed", "2"], 2, "with --time"),
        ([*CLASSIFY, "--labels", "labels.jsonl"], 2, "add --learn"),
        ([*CLASSIFY, "--save", "better.safetensors"], 2, "add --learn"),
        ([*CLASSIFY, "--checkpoint", "kept"], 2, "-o answers.jsonl"),
        ([*CLASSIFY, "--checkpoint", "kept", "-o", "answers.parquet"], 2, "-o answers.jsonl"),
        ([*CLASSIFY, "--proba", "-o", "answers.parquet"], 2, "write to .jsonl or .csv"),
        (
            [*CLASSIFY, "-o", "a.jsonl", "--checkpoint", "kept", "--checkpoint-every", "many records"],
            2,
            "--checkpoint-every is 'many records'",
        ),
        ([*CLASSIFY, "-o", "answers.jsonl.gz"], 2, "answers.jsonl.gz would not be compressed"),
        ([*CLASSIFY, "-o", "absent/answers.jsonl"], 1, "absent: there is no such folder"),
        ([*FIT, "--key", "id", "-o", "absent/model.safetensors"], 1, "absent: there is no such folder"),
        (["evaluate", "model.safetensors", "test.csv", "--plot", "absent/x.png"], 1, "absent: there is no such folder"),
        (["simulate", "model.safetensors", "--plot", "absent/x.png"], 1, "absent: there is no such folder"),
        ([*CLASSIFY, "--within", "5"], 2, "'5' has no unit; write 5ms or 5s"),
        ([*CLASSIFY, "--unknown", "ask"], 2, "--unknown is 'ask'; use one of missing, reject"),
        ([*CLASSIFY, "--keep", "size,"], 2, "--keep is 'size,'"),
        ([*CLASSIFY, "--keep", "width"], 2, "test.csv: there is no column 'width'"),
        ([*CLASSIFY, "--key", "number"], 2, "test.csv: there is no column 'number'"),
        ([*CLASSIFY, "--time", "at"], 2, "test.csv: there is no column 'at'"),
        ([*CLASSIFY, "--label", "klass"], 2, "test.csv: there is no column 'klass'"),
        (["inspect", "train.csv"], 2, "train.csv: this is not an anystream model"),
        (["classify", "train.csv", "test.csv"], 2, "train.csv: this is not an anystream model"),
        ([*FIT, "--categorical", "size", "--numeric", "size"], 2, "'size' cannot be both categorical and numeric"),
        ([*FIT, "--key", "id", "--sample", "0"], 2, "--sample is 0"),
        (["classify", "model.safetensors", "-", "--input-format", "arrow"], 2, "name a file"),
        ([*CLASSIFY, "--input-format", "arrow"], 2, "test.csv: this is not an Arrow file"),
        (["demo", "--seconds", "0"], 2, "seconds is 0; use more than 0"),
        (["fit", "latin.csv", "--label", "class"], 2, "latin.csv: line 2: the line is not UTF-8"),
        (["fit", "train.csv", "--label", "klass"], 2, "there is no column 'klass'"),
        ([*FIT, "--ignore", "id", "--model", "tarot"], 2, "there is no model 'tarot'"),
        ([*FIT, "--ignore", "id", "--set", "depth=3"], 2, "has no parameter 'depth'"),
        (FIT, 2, "--ignore id"),
        (["evaluate", "model.safetensors", "test.csv", "--budgets", "5,1"], 2, "ascending whole numbers"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_an_error_is_one_clear_line_with_the_documented_exit_code(home, arguments, code, message):
    (home / "latin.csv").write_bytes("size,class\n1,gr\xfcn\n".encode("latin-1"))
    done = run_program(*arguments, cwd=home)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


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
def test_no_command_overwrites_a_file_that_it_reads(home, arguments):
    shutil.copy(home / "test.csv", home / "copy.csv")
    before = (home / "copy.csv").read_bytes(), (home / "model.safetensors").read_bytes()
    done = run_program(*arguments, cwd=home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "write to another file" in done.stderr
    assert before == ((home / "copy.csv").read_bytes(), (home / "model.safetensors").read_bytes())
    assert not (home / "new.jsonl").exists()


def read_examples(command):
    """Return the examples in the help of a command, as they are printed."""
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
    return [line.partition("Example: ")[2].strip() for line in shown.splitlines() if "Example: " in line]


@pytest.mark.parametrize(
    "command", ["fit", "classify", "evaluate", "inspect", pytest.param("simulate", marks=pytest.mark.slow)]
)
def test_the_examples_in_the_help_run_as_they_are_printed(command, tmp_path):
    for name, n_records in (("train.csv", 300), ("test.csv", 60)):
        write_table(tmp_path / name, n_records)
        (tmp_path / name).write_text(re.sub(r"^[^,]*,", "", (tmp_path / name).read_text(), flags=re.MULTILINE))
    (tmp_path / "records.jsonl").write_text('{"size": 3.0, "colour": "red"}\n')
    done = run_program("fit", "train.csv", "--label", "class", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    examples = read_examples(command)
    assert examples
    for example in examples:
        assert example.startswith(f"anystream {command} ")
        if "<" in example:
            line = example.replace("anystream", f"{shlex.quote(sys.executable)} -m anystream", 1)
            done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        else:
            done = run_program(*shlex.split(example)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{example}: {done.stderr}"


def test_the_help_of_the_demo_has_an_example():
    assert read_examples("demo") == ["anystream demo --seconds 1", "anystream demo --serve"]


def test_the_help_is_printed_without_importing_numpy_or_scikit_learn():
    code = (
        "import sys; from typer.testing import CliRunner; from anystream.cli.app import app; "
        "done = CliRunner().invoke(app, ['fit', '--help']); assert 'micro-clusters' in done.output, done.output; "
        "print({'numpy', 'sklearn', 'matplotlib', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_reader_that_closes_the_pipe_ends_the_program_quietly(home):
    write_table(home / "long.csv", 20_000)
    command = [sys.executable, "-m", "anystream", "classify", "model.safetensors", "long.csv", "--budget", "0"]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_shell_completion_completes_commands(home):
    command = [sys.executable, "-m", "anystream"]
    env = os.environ | {"_ANYSTREAM_COMPLETE": "complete_bash", "COMP_WORDS": "anystream cl", "COMP_CWORD": "1"}
    program = shutil.which("anystream", path=str(Path(sys.executable).parent))
    done = subprocess.run([program] if program else command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["classify"]
