"""An installed wheel works where nothing else of the project is: `python tests/installed_wheel.py`, without pytest."""

import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits

import anystream
from anystream import AnytimeNeighborsClassifier, BayesTreeClassifier, Budget, LocustClassifier, load


def check() -> None:
    """Fit, classify by the clock, save, load, and run the program."""
    X, y = load_digits(return_X_y=True)
    for make in (BayesTreeClassifier, AnytimeNeighborsClassifier, LocustClassifier):
        model = make().fit(X[::2], y[::2])
        assert (model.predict(X[1::2]) == y[1::2]).mean() > 0.9, make
        assert len(model.classify(X[1::2], budget=Budget(seconds=0.01)).labels) == len(X[1::2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        assert (load(path).predict(X) == model.predict(X)).all()
        table = Path(folder) / "table.csv"
        table.write_text("a,b,class\n" + "".join(f"{i % 7},{i % 2},{i % 2}\n" for i in range(200)))
        fitted = Path(folder) / "fitted.safetensors"
        for command in (["fit", table, "--label", "class", "-o", fitted], ["evaluate", fitted, table], ["--version"]):
            done = subprocess.run(
                [sys.executable, "-m", "anystream", *map(str, command)], capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
        assert anystream.__version__ in done.stdout
    assert "site-packages" in anystream.__file__
    print(f"anystream {anystream.__version__} works, installed in {Path(anystream.__file__).parent}")


if __name__ == "__main__":
    check()
