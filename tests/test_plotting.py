"""The helpers shared by all plots."""

import sys

import matplotlib as mpl
import pytest

from anystream.plotting import accuracy_axes, new_axes, new_figure, set_ticks

mpl.use("Agg")


@pytest.mark.parametrize("draw", [new_axes, lambda: new_figure(4, 3), lambda: accuracy_axes(max_steps=5)])
def test_without_matplotlib_the_error_names_the_extra(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"install anystream\[report\]"):
        draw()


def test_given_axes_are_styled_and_returned():
    ax = new_figure(4, 3, dpi=50).subplots()
    assert new_axes(ax) is ax
    assert not ax.spines["top"].get_visible()
    assert not ax.spines["right"].get_visible()
    assert all(line.get_visible() for line in ax.get_xgridlines())


def test_new_figures_have_the_given_size():
    assert new_figure(4, 3).get_size_inches().tolist() == [4, 3]
    assert new_axes(width=5, height=2).figure.get_size_inches().tolist() == [5, 2]
    mpl.pyplot.close("all")


def test_ticks_are_where_they_are_set_and_nowhere_else():
    ax = new_axes()
    ax.set_xscale("log")
    ax.set_xlim(0.4, 12)
    set_ticks(ax.xaxis, [0.5, 1, 10], "{x:g} x")
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.5 x", "1 x", "10 x"]
    assert len(ax.xaxis.get_minorticklocs()) == 0
    mpl.pyplot.close("all")
