"""Papers whose experiments can be run, one module each."""

from __future__ import annotations

from importlib import import_module

from anystream.reproduce.paper import Paper

PAPERS = {
    "bt-star": "bt_star",
    "bulk-loading": "bulk_loading",
    "anytime-neighbours": "anytime_neighbours",
    "kaoginc": "kaoginc",
    "locust": "locust",
}
"""Name of the command and module of each paper."""


def load_paper(name: str) -> Paper:
    """Return a paper by the name of its command."""
    if name not in PAPERS:
        raise ValueError(f"there is no paper {name!r}; use {', '.join(PAPERS)} or all")
    paper: Paper = import_module(f"anystream.reproduce.papers.{PAPERS[name]}").PAPER
    return paper
