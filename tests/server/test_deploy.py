"""The files in deploy use metrics and options that the server has."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.mark.parametrize("name", ["grafana.json", "alerts.yml"])
def test_every_metric_that_is_named_exists(served, name):
    served.post("/v1/classify?model=numbers", {"0": 1.0})
    found = {
        line.split()[2] for line in served.get("/metrics").body.decode().splitlines() if line.startswith("# TYPE ")
    }
    text = (DEPLOY / name).read_text()
    if name.endswith(".json"):
        json.loads(text)
    used = set(re.findall(r"anystream_[a-z_]+", text))
    assert len(used) > 4
    for metric in used:
        assert metric in found or metric.removesuffix("_bucket") in found, metric


@pytest.mark.parametrize("name", ["Containerfile", "anystream.service"])
def test_every_option_that_is_named_exists(name):
    command = [sys.executable, "-c", "from anystream.cli import main; main()", "serve", "--help"]
    help_text = subprocess.run(command, check=True, capture_output=True, text=True, env={"COLUMNS": "200"}).stdout
    text = (DEPLOY / name).read_text()
    lines = re.search(r"^(?:CMD|ExecStart=)(?:.*\\\n)*.*", text[text.rfind("ENTRYPOINT") + 1 :], re.MULTILINE)[0]
    used = re.findall(r"--[a-z-]+", lines)
    assert len(used) > 4
    for option in used:
        assert option in help_text, option


def test_the_unit_is_valid_for_systemd(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    program = tmp_path / "anystream"
    program.touch(0o755)
    unit = tmp_path / "anystream.service"
    unit.write_text((DEPLOY / "anystream.service").read_text().replace("/opt/anystream/bin/anystream", str(program)))
    found = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert [line for line in found.stderr.splitlines() if "anystream.service" in line] == []


def test_rules_configuration_and_metrics_are_valid_for_prometheus(served):
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool, of the package prometheus")
    served.post("/v1/classify?model=numbers", {"0": 1.0})
    metrics = served.get("/metrics").body
    for command, given in ((["config", "prometheus.yml"], b""), (["rules", "alerts.yml"], b""), (["metrics"], metrics)):
        found = subprocess.run(["promtool", "check", *command], input=given, capture_output=True, cwd=DEPLOY)
        assert found.returncode == 0, found.stdout + found.stderr
