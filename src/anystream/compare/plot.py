"""Plot of accuracy over the latency of one prediction, with the Pareto front; one panel per task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from anystream.compare.cell import CellResult
from anystream.compare.pareto import pareto_front
from anystream.plotting import new_figure, percent, style_axes

_COLOURS = {
    "anystream": "#c1272d",
    "river": "#0072b2",
    "capymoa": "#009e73",
    "samlb": "#cc79a7",
    "scikit-learn": "#e69f00",
    "lightgbm": "#56b4e9",
    "onnxruntime": "#7f7f7f",
}
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_COLUMNS = 3


class Point(NamedTuple):
    """A method, or an anytime classifier at a budget, in the plot."""

    label: str
    latency_us: float
    accuracy: float


def points_of(result: CellResult) -> list[Point]:
    """Return the point of a method, preceded by those of smaller budgets if it takes one; CPU time, median."""
    name = f"{result.library} {result.method}"
    smaller = [
        Point(f"{name}, budget {point.budget}", point.times.cpu_p50_us, point.accuracy) for point in result.budgets
    ]
    return [*smaller, Point(name, result.predict.cpu_p50_us, result.holdout)]


def front_of(results: Sequence[CellResult]) -> list[Point]:
    """Return the Pareto front of the results of one task, by rising latency."""
    points = [point for result in results for point in points_of(result)]
    return [points[at] for at in pareto_front([p.latency_us for p in points], [p.accuracy for p in points])]


def save_plot(results: Sequence[CellResult], path: Path) -> None:
    """Draw one panel per task into a file; needs matplotlib."""
    tasks = list(dict.fromkeys(result.task for result in results))
    columns = min(len(tasks), _COLUMNS)
    rows = -(-len(tasks) // columns)
    figure = new_figure(4.6 * columns + 3.2, 3.9 * rows, dpi=110)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    styles = _styles(results)
    for axes, task in zip(panels, tasks, strict=False):
        _draw_task(axes, task, [result for result in results if result.task == task], styles)
    for axes in panels[len(tasks) :]:
        axes.set_visible(False)
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    ordered = [label for label in (*styles, "Pareto front") if label in handles]
    figure.legend([handles[label] for label in ordered], ordered, loc="outside right center", frameon=False, fontsize=8)
    figure.savefig(path)


def _styles(results: Sequence[CellResult]) -> dict[str, tuple[str, str]]:
    """Return a colour per library and a marker per method of the library, by label."""
    styles: dict[str, tuple[str, str]] = {}
    for library, colour in _COLOURS.items():
        methods = dict.fromkeys(result.method for result in results if result.library == library)
        for number, method in enumerate(methods):
            styles[f"{library} {method}"] = (colour, _MARKERS[number % len(_MARKERS)])
    return styles


def _draw_task(axes: Any, task: str, results: Sequence[CellResult], styles: dict[str, tuple[str, str]]) -> None:
    style_axes(axes)
    for result in results:
        name = f"{result.library} {result.method}"
        colour, marker = styles[name]
        points = points_of(result)
        if len(points) > 1:
            xs, ys = [point.latency_us for point in points], [point.accuracy for point in points]
            axes.plot(xs, ys, color=colour, linewidth=0.8, alpha=0.6, marker=".", markersize=3)
        last = points[-1]
        axes.plot(
            last.latency_us,
            last.accuracy,
            marker,
            color=colour,
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=name,
            linestyle="none",
        )
    front = front_of(results)
    axes.step(
        [point.latency_us for point in front],
        [point.accuracy for point in front],
        where="post",
        color="black",
        linewidth=1.0,
        linestyle="--",
        label="Pareto front",
        zorder=0,
    )
    axes.set_xscale("log")
    methods = [result.holdout for result in results]
    best = max(point.accuracy for result in results for point in points_of(result))
    margin = 0.05 * (best - min(methods)) + 0.01
    axes.set_ylim(max(0.0, min(methods) - 4 * margin), min(1.0 + margin, best + margin))  # small budgets may be below
    axes.yaxis.set_major_formatter(percent)
    axes.set(title=task, xlabel="one prediction, median CPU time (µs)", ylabel="holdout accuracy")
