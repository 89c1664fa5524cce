"""The program ``anystream`` as tests run it, and the table that they run it on."""

import contextlib
import io
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

from anystream.cli.app import main


def run_program(*arguments, cwd, stdin=None):
    """Run the program in this process, or in one of its own if it reads standard input."""
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


def write_table(path, n_records, seed=0):
    """Write a CSV file with a key, a number, a category and a class that depends on both."""
    rng = np.random.default_rng(seed)
    lines = ["id,size,colour,class"]
    for i in range(n_records):
        label = int(rng.integers(2))
        colour = "red" if rng.random() < (0.8 if label else 0.2) else "blue"
        lines.append(f"r{i},{rng.normal() + 2 * label:.4f},{colour},{'yes' if label else 'no'}")
    path.write_text("\n".join(lines) + "\n")
