import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("reading", ["at-once", "ahead"])
def test_a_stream_killed_at_fifty_points_ends_like_an_undisturbed_one(tmp_path, reading):
    script = Path(__file__).with_name("killed_stream.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "50", "11", reading],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 45, "nearly every kill must have hit a living process"

    calm, killed = tmp_path / "calm", tmp_path / "killed"
    assert (killed / "answers.jsonl").read_bytes() == (calm / "answers.jsonl").read_bytes()
    assert (killed / "dead.jsonl").read_bytes() == (calm / "dead.jsonl").read_bytes()
    assert (killed / "final.safetensors").read_bytes() == (calm / "final.safetensors").read_bytes()

    keys = [json.loads(line)["key"] for line in (killed / "answers.jsonl").read_text().splitlines()]
    lines = [json.loads(line)["line"] for line in (killed / "dead.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys))
    assert len(keys) + len(set(lines)) == 3000
