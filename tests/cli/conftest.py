import shutil

import pytest

from cli.program import run_program, write_table


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with train.csv, test.csv and a model with a gain table."""
    folder = tmp_path_factory.mktemp("fitted")
    write_table(folder / "train.csv", 400)
    write_table(folder / "test.csv", 200, seed=1)
    done = run_program("fit", "train.csv", "--label", "class", "--key", "id", "--gain-table", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def home(fitted, tmp_path):
    """A copy of the fitted folder."""
    return shutil.copytree(fitted, tmp_path / "home")
