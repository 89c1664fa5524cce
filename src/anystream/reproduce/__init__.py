"""The papers' experiments: their printed figures as data, our numbers beside them, verdicts by rule, reports.

A run computes cells (`cells`, `measures`), a paper turns their results into sections with claims (`papers`), rules
judge the claims (`verdicts`), and the report is written as Markdown and as one HTML page (`markdown`, `page`).
"""

from anystream.reproduce.paper import Paper, Report, Scale
from anystream.reproduce.papers import PAPERS, load_paper
from anystream.reproduce.run import run_paper, write_index
from anystream.reproduce.verdicts import Verdict

__all__ = ["PAPERS", "Paper", "Report", "Scale", "Verdict", "load_paper", "run_paper", "write_index"]
