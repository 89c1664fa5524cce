from urllib.error import URLError

import pytest
import sklearn.datasets


@pytest.fixture
def data_directory(tmp_path, monkeypatch):
    """A data directory for one test, and no network."""

    def offline(*_, **__):
        raise URLError("name resolution failed")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    monkeypatch.setenv("ANYSTREAM_DATA", str(tmp_path))
    return tmp_path
