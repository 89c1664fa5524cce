"""The recipes run as they are; each is skipped where its package or program is absent."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[2] / "examples" / "recipes"


def run_recipe(name, *arguments, cwd):
    """Run a recipe in a process of its own and return the lines that it prints."""
    done = subprocess.run(
        [sys.executable, str(RECIPES / name), *arguments],
        cwd=cwd,
        env=os.environ | {"RAY_raylet_start_wait_time_s": "200", "TMPDIR": str(cwd)},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def require_package(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed; make test-recipes installs it")


def require_program(name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")


def test_every_recipe_has_a_test():
    text = Path(__file__).read_text()
    assert [path.name for path in RECIPES.glob("*.py") if f'"{path.name}"' not in text] == []


def test_spark_classifies_a_table_with_the_model_as_a_file(tmp_path):
    require_package("pyspark")
    require_program("java")
    counted, right = run_recipe("spark_batch.py", cwd=tmp_path)[-1].split(" records, ")
    assert int(counted) == 898
    assert float(right.split()[0]) > 0.95


def test_spark_streams_micro_batches_and_loses_no_record(tmp_path):
    require_package("pyspark")
    require_program("java")
    assert run_recipe("spark_stream.py", cwd=tmp_path)[-1] == "3 batches, 898 records, 898 different"


def test_dask_classifies_a_table_with_the_model_as_a_file(tmp_path):
    require_package("distributed")
    counted, right = run_recipe("dask_table.py", cwd=tmp_path)[-1].split(" records, ")
    assert int(counted) == 898
    assert float(right.split()[0]) > 0.95


def test_ray_serve_answers_by_deadlines_and_takes_no_step_after_them(tmp_path):
    require_package("ray")
    answered, overdue = run_recipe("ray_serve.py", cwd=tempfile.gettempdir())[-2:]  # paths of sockets are short
    assert answered.startswith("100 requests, ")
    assert float(answered.split(", ")[2].split()[0]) > 0.9
    assert overdue == "overdue: 0 steps, on time: False"


@pytest.mark.parametrize("balancer", ["haproxy", "nginx"])
def test_a_killed_server_behind_a_load_balancer_costs_no_request(balancer, tmp_path):
    require_package("starlette")
    require_program(balancer)
    lines = run_recipe("load_balancer.py", balancer, cwd=tmp_path)
    assert lines == ["both: 40 of 40", "one killed: 40 of 40"]
