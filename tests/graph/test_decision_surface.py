"""Decision surfaces: labels on a grid, and plots of several classifiers."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier

from anystream.graph import KAOGClassifier, decision_surface, plot_decision_surfaces

X, Y = make_blobs(90, centers=3, cluster_std=2.0, random_state=0)


def test_the_surface_holds_the_predicted_labels_of_the_grid():
    model = KAOGClassifier().fit(X, Y)
    x, y, labels = decision_surface(model, X, resolution=17)
    assert labels.shape == (17, 17)
    assert x[0] < X[:, 0].min()
    assert y[-1] > X[:, 1].max()
    for i, j in ((0, 0), (3, 11), (16, 5)):
        assert labels[i, j] == model.predict([[x[j], y[i]]])[0]


def test_surfaces_of_several_classifiers_are_plotted_beside_the_records(tmp_path):
    models = {
        "1-NN": KNeighborsClassifier(1).fit(X, Y),
        "15-NN": KNeighborsClassifier(15).fit(X, Y),
        "KAOG": KAOGClassifier().fit(X, Y),
    }
    figure = plot_decision_surfaces(models, X, Y, resolution=30)
    assert [axis.get_title() for axis in figure.axes] == ["records", "1-NN", "15-NN", "KAOG"]
    figure.savefig(tmp_path / "surfaces.png")
    assert (tmp_path / "surfaces.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": X[:, :1]}, r"shape \(90, 1\); a surface needs two features"),
        ({"X": np.full((3, 2), np.nan)}, "no missing values"),
        ({"X": X, "resolution": 1}, "resolution is 1"),
    ],
)
def test_records_that_are_not_a_plane_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        decision_surface(KAOGClassifier().fit(X, Y), **arguments)


def test_matplotlib_is_not_imported_before_it_is_needed():
    code = "import anystream.graph, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
