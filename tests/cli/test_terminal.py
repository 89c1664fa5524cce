"""The program in a terminal of 80 columns: progress bars, and tables that keep their figures."""

import os
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
fcntl, struct, termios = (pytest.importorskip(name) for name in ("fcntl", "struct", "termios"))


def run_in_terminal(*arguments, cwd):
    """Return the exit code, and what a terminal of 80 columns receives from standard output and standard error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [sys.executable, "-m", "anystream", *arguments], cwd=cwd, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    received = b""
    while True:
        try:
            chunk = os.read(ours, 2**16)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        received += chunk
    os.close(ours)
    return process.wait(), received.decode()


def test_classify_into_a_file_shows_a_bar_and_counts(home):
    header, *rows = (home / "test.csv").read_text().splitlines()
    (home / "long.csv").write_text("\n".join([header, *(rows * 50)]) + "\n")
    code, shown = run_in_terminal("classify", "model.safetensors", "long.csv", "-o", "a.jsonl", cwd=home)
    assert code == 0, shown
    assert "100%" in shown
    assert "10000 answered, 0 waiting" in shown
    assert "10000 of 10000 records answered" in shown


def test_the_table_of_simulate_keeps_all_figures(home):
    code, shown = run_in_terminal(
        *("simulate", "model.safetensors", "--data", "test.csv", "--machines", "0.25,1"),
        *("--duration", "50ms", "--burst-time", "50ms", "--every", "50ms"),
        cwd=home,
    )
    assert code == 0, shown
    assert "…" not in shown
    row = next(line.split() for line in shown.splitlines() if line.strip().startswith("0.25 x"))
    assert row[2].endswith("%")
    assert 0.5 < float(row[-1]) <= 1.0
