"""Pictures of the reports: lines, bars and panels in one style, as SVG."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anystream.plotting import new_figure, style_axes
from anystream.reproduce.paper import Plot

# Colours that can be told apart with any colour vision (Okabe and Ito), dark ones first.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a6d3b", "#7f7f7f", "#6a3d9a")


@dataclass(frozen=True)
class Lines:
    """One panel of lines.

    Parameters
    ----------
    title : str
        Title of the panel.
    lines : mapping of str to (x, y)
        Points by name.
    x, y : str
        Labels of the axes.
    log : bool, default=False
        Whether x is on a logarithmic scale.
    marks : sequence of float, default=()
        Positions of vertical dotted lines.
    dashed : sequence of str, default=()
        Names of lines that are dashed, such as our default.
    """

    title: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    x: str
    y: str
    log: bool = False
    marks: Sequence[float] = field(default_factory=tuple)
    dashed: Sequence[str] = field(default_factory=tuple)


def draw_lines(name: str, caption: str, panels: Sequence[Lines], *, columns: int = 2, height: float = 3.3) -> Plot:
    """Return panels of lines, with one legend for all if their lines have the same names."""
    rows = -(-len(panels) // columns)
    width = 7.5 if len(panels) == 1 else 5.2 * min(columns, len(panels))
    shared = len({tuple(panel.lines) for panel in panels}) == 1
    figure = new_figure(width + (0.0 if not shared or len(panels) == 1 else 1.6), height * rows)
    axes = figure.subplots(rows, min(columns, len(panels)), squeeze=False)
    for ax, panel in zip(axes.flat, panels, strict=False):
        _draw_panel(ax, panel)
    for ax in list(axes.flat)[len(panels) :]:
        ax.set_visible(False)
    if shared and len(panels) > 1:
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    else:
        for ax, panel in zip(axes.flat, panels, strict=False):
            if panel.lines:
                ax.legend(frameon=False, fontsize=8)
    return Plot(name, _save(figure), caption)


def draw_bars(
    name: str, caption: str, groups: Mapping[str, Mapping[str, float | None]], *, y: str, height: float = 3.4
) -> Plot:
    """Return groups of bars: one group per key, one bar per name in it; None leaves a gap."""
    names = list(dict.fromkeys(bar for group in groups.values() for bar in group))
    figure = new_figure(max(6.0, 0.24 * len(groups) * len(names) + 2.5), height)
    ax = figure.subplots()
    style_axes(ax)
    width = 0.8 / len(names)
    for number, bar in enumerate(names):
        at = [index + (number - (len(names) - 1) / 2) * width for index in range(len(groups))]
        values = [group.get(bar) for group in groups.values()]
        shown = [(x, value) for x, value in zip(at, values, strict=True) if value is not None]
        colour = COLOURS[number % len(COLOURS)]
        ax.bar([x for x, _ in shown], [v for _, v in shown], width=0.92 * width, label=bar, color=colour)
    ax.axhline(0.0, color="#444444", linewidth=0.8)
    ax.set_xticks(
        range(len(groups)),
        list(groups),
        rotation=30 if len(groups) > 5 else 0,
        ha="right" if len(groups) > 5 else "center",
    )
    ax.set_ylabel(y)
    values_shown = [v for group in groups.values() for v in group.values() if v is not None]
    if values_shown and min(values_shown) > 50.0:
        ax.set_ylim(bottom=min(values_shown) - 5.0)
    figure.legend(loc="outside upper center", ncols=min(len(names), 4), frameon=False, fontsize=8)
    return Plot(name, _save(figure), caption)


def save_figure(name: str, caption: str, figure: Any) -> Plot:
    """Return a matplotlib figure as a picture of a report."""
    return Plot(name, _save(figure), caption)


def _draw_panel(ax: Any, panel: Lines) -> None:
    style_axes(ax)
    for number, (name, (x, y)) in enumerate(panel.lines.items()):
        style = "--" if name in panel.dashed else "-"
        ax.plot(x, y, style, color=COLOURS[number % len(COLOURS)], linewidth=1.4, label=name)
    for mark in panel.marks:
        ax.axvline(mark, color="#888888", linestyle=":", linewidth=1.0)
    if panel.log:
        ax.set_xscale("log")
    ax.set_title(panel.title, fontsize=10)
    ax.set_xlabel(panel.x)
    ax.set_ylabel(panel.y)


def _save(figure: Any) -> bytes:
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "anystream", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
