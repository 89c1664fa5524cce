"""Experiments of BT*: Figures 6 to 11 and the scalability section of Kranen, Hassani, Seidl, SSDBM 2012."""

from __future__ import annotations

from collections.abc import Mapping

from anystream.reproduce.cells import Results
from anystream.reproduce.facts import Facts
from anystream.reproduce.paper import Paper, Scale, Section
from anystream.reproduce.papers.bt_star.combined import show_absolute, show_combined, show_curves, show_ultimate
from anystream.reproduce.papers.bt_star.measured import Measured
from anystream.reproduce.papers.bt_star.plan import SETS, plan, settings
from anystream.reproduce.papers.bt_star.scalability import show_scalability
from anystream.reproduce.papers.bt_star.single import show_differences, show_static

__all__ = ["PAPER"]


def sections(results: Results, scale: Scale, sources: Mapping[str, str], facts: Facts) -> list[Section]:
    """Return the sections of the report."""
    measured = Measured(results, scale, sources)
    return [
        *(show_differences(measured, facts, "figure 6", method) for method in ("BW", "BN", "MM")),
        show_static(measured, facts),
        *(show_differences(measured, facts, "figure 8", method) for method in ("ENS", "NN")),
        show_combined(measured, facts),
        show_absolute(measured, facts),
        show_curves(measured, facts),
        show_ultimate(measured, facts),
        show_scalability(measured, facts),
    ]


PAPER = Paper("bt-star", "BT*: an advanced algorithm for anytime classification", SETS, plan, sections, settings)
