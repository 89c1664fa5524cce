"""Names from tables and model files are printed as text: never as markup, never as control characters."""

import numpy as np
import pytest

from anystream.cli.output import console
from anystream.drift import GaussianNaiveBayes
from cli.program import run_program

HOSTILE = [
    "[/bold]",
    "[red]x[/]",
    "\x1b[31mred",
    "\x9b2J",
    "a\rb",
    ":smile:",
    "\u202ereversed",
    "line\nbreak",
    "[link=x]",
]
SHOWN = ["[/bold]", "[red]x[/]", r"\x1b[31mred", r"\x9b2J", r"a\rb", ":smile:", r"\u202ereversed", r"line\nbreak"]


def assert_printable(text):
    assert all(line.isprintable() for line in text.split("\n")), text


def test_fit_inspect_and_evaluate_show_hostile_names_as_text(tmp_path):
    columns = [name for name in HOSTILE if "\n" not in name and "\r" not in name]
    rng = np.random.default_rng(0)
    rows = [[*(f"{x:.3f}" for x in rng.normal(size=len(columns))), columns[i % 4]] for i in range(60)]
    (tmp_path / "train.csv").write_text("\n".join(map(",".join, [[*columns, "class"], *rows])))
    fitted = run_program("fit", "train.csv", "--label", "class", "--model", "micro-clusters", cwd=tmp_path)
    inspected = run_program("inspect", "model.safetensors", cwd=tmp_path)
    evaluated = run_program("evaluate", "model.safetensors", "train.csv", cwd=tmp_path)
    for done in (fitted, inspected, evaluated):
        assert done.returncode == 0, done.stderr
        assert_printable(done.stdout + done.stderr)
    assert r"classes (4): \x1b[31mred, [/bold], [red]x[/], \x9b2J" in inspected.stdout
    assert r"\u202ereversed" in fitted.stdout


def test_inspect_shows_hostile_classes_as_text_and_long_ones_short(tmp_path):
    classes = np.array([*HOSTILE, "y" * 5000], dtype=object)
    model = GaussianNaiveBayes().fit(np.arange(20.0).reshape(-1, 1), np.tile(classes, 2))
    model.save(tmp_path / "model.safetensors")
    done = run_program("inspect", "model.safetensors", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_printable(done.stdout)
    assert len(done.stdout) < 3000
    shown = " ".join(done.stdout.split())  # lines are wrapped
    assert all(name in shown for name in SHOWN)


def test_bad_records_and_errors_cannot_control_the_terminal(home):
    (home / "bad.csv").write_text("id,size,colour,class\na\x1b[2J,w\x1b[31mide,\x1b[31mgreen,yes\n")
    done = run_program("classify", "model.safetensors", "bad.csv", cwd=home)
    assert "1 bad record" in done.stderr
    assert_printable(done.stderr)
    (home / "worse.csv").write_text("id,\x1b[31m\n")
    done = run_program("classify", "model.safetensors", "worse.csv", cwd=home)
    assert done.returncode == 2
    assert_printable(done.stderr)
    assert r"the table has id, \x1b[31m" in done.stderr


@pytest.mark.parametrize("text", HOSTILE)
def test_the_console_prints_any_text_in_one_line(capsys, text):
    console().print(text)
    shown = capsys.readouterr().out
    assert shown.count("\n") == 1
    assert_printable(shown)
