"""Report of a comparison: tables as text and Markdown, raw figures as CSV, the plot."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anystream.compare.cell import CellResult
from anystream.compare.machine import describe_machine, versions
from anystream.compare.plot import front_of, save_plot
from anystream.compare.published import CheckResult
from anystream.compare.settings import Settings
from anystream.compare.timing import Times
from anystream.evaluate.table import build_table, render_text

_NONE = "-"


@dataclass(frozen=True)
class Report:
    """Results with the settings that they were measured with.

    Parameters
    ----------
    results : sequence of CellResult
        All cells, in the order of the tables.
    settings : Settings
        How much was measured.
    checks : sequence of CheckResult
        Published figures beside ours.
    """

    results: Sequence[CellResult]
    settings: Settings
    checks: Sequence[CheckResult] = field(default_factory=list)

    @property
    def tasks(self) -> list[str]:
        """The tasks, in order of appearance."""
        return list(dict.fromkeys(result.task for result in self.results))

    def describe(self) -> list[str]:
        """Return lines about machine, versions, seed and settings."""
        settings = self.settings
        rates = ", ".join(f"{rate:,.0f}" for rate in settings.rates)
        commits = sorted({result.commit for result in self.results if result.commit is not None})
        return [
            f"machine: {describe_machine()}",
            "versions: " + ", ".join(f"{package} {version}" for package, version in versions().items()),
            f"commit: {', '.join(commits) or 'not from a checkout'}; seed {settings.seed}",
            f"at most {settings.max_train:,} training and {settings.max_test:,} test records; one thread; a pass over "
            f"the training records ends after {settings.max_pass_s:g} s of processor time",
            f"on time: {settings.stream_s:g} s at {rates} records/s, due within {1e3 * settings.within_s:g} ms; the "
            "clock counts processor time",
        ]

    def __str__(self) -> str:
        tables = [render_text(build_table(self._title(task), self._header(), self._rows(task))) for task in self.tasks]
        if self.checks:
            tables.append(render_text(build_table("published figures", _CHECK_HEADER, _check_rows(self.checks))))
        return "\n\n".join([*tables, "\n".join(self.describe()), _LEGEND])

    def to_markdown(self) -> str:
        """Return the tables, the Pareto fronts and the description as Markdown."""
        parts = ["# Comparison", *(f"- {line}" for line in self.describe()), "", _LEGEND, ""]
        for task in self.tasks:
            parts += [f"## {self._title(task)}", "", *_markdown(self._header(), self._rows(task)), ""]
            front = front_of([result for result in self.results if result.task == task])
            names = "; ".join(f"{p.label} ({p.latency_us:.1f} µs, {100 * p.accuracy:.1f} %)" for p in front)
            parts += [f"Pareto front of accuracy over CPU time of one prediction: {names}.", ""]
        if self.checks:
            parts += ["## Published figures", "", *_markdown(_CHECK_HEADER, _check_rows(self.checks)), ""]
        return "\n".join(parts)

    def save(self, folder: Path) -> list[Path]:
        """Write ``report.md``, ``results.csv``, ``budgets.csv`` and ``accuracy-over-latency.png``; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / name for name in ("report.md", "results.csv", "budgets.csv", "accuracy-over-latency.png")]
        paths[0].write_text(self.to_markdown(), encoding="utf-8")
        _write_csv(paths[1], [self._csv_row(result) for result in self.results])
        _write_csv(paths[2], [row for result in self.results for row in _budget_rows(result)])
        save_plot(self.results, paths[3])
        if self.checks:
            paths.append(folder / "published.csv")
            _write_csv(paths[-1], [check.to_json() for check in self.checks])
        return paths

    def _title(self, task: str) -> str:
        first = next(result for result in self.results if result.task == task)
        return (
            f"{task}: {first.n_train:,} training, {first.n_test:,} test records, {first.n_features} features, "
            f"{first.n_classes} classes"
        )

    def _header(self) -> list[str]:
        rates = [f"on time {rate:,.0f}/s" for rate in self.settings.rates]
        return [
            *("method", "holdout %", "prequential %", "kappa-T", "predict p50 µs", "p99", "learn p50 µs", "p99"),
            *("batch rows/CPU s", "memory MB", "training CPU s", *rates),
        ]

    def _rows(self, task: str) -> list[list[str]]:
        return [self._row(result) for result in self.results if result.task == task]

    def _row(self, result: CellResult) -> list[str]:
        short = "*" if result.n_trained < result.n_train or 0 < result.n_prequential < result.n_train else ""
        memory = _NONE if result.memory_bytes is None else f"{result.memory_bytes / 1e6:.2f}"
        return [
            f"{result.library} {result.method}{short}",
            _percent(result.holdout),
            _percent(result.prequential),
            _percent(result.kappa_t),
            *_micros(result.predict),
            *_micros(result.learn),
            f"{result.rows_per_cpu_s:,.0f}",
            memory,
            f"{result.train_cpu_s:.2f}",
            *(_percent(result.on_time.get(rate, math.nan)) for rate in self.settings.rates),
        ]

    def _csv_row(self, result: CellResult) -> dict[str, Any]:
        row = result.to_json()
        for name in ("predict", "learn"):
            times = row.pop(name)
            fields = Times._fields if times is None else times
            row |= {f"{name}_{key}": "" if times is None else fields[at] for at, key in enumerate(Times._fields)}
        row |= {f"on_time_{rate:g}_per_s": share for rate, share in row.pop("on_time")}
        row.pop("budgets")
        settings = {f"setting_{key}": value for key, value in self.settings.to_json().items()}
        return row | settings | {"machine": describe_machine()}


_LEGEND = (
    "Times of single calls are CPU time; real time is in results.csv. * not all training records were learned within "
    "the limit of processor time. - the method cannot do it. kappa-T in %."
)
_CHECK_HEADER = ["stream", "method", "published", "ours", "library's own evaluation", "version", "verdict"]


def _check_rows(checks: Sequence[CheckResult]) -> list[list[str]]:
    return [
        [
            check.stream,
            f"{check.library} {check.method}",
            f"{check.published:.4f}",
            f"{check.ours:.4f}",
            f"{check.own:.4f}",
            check.version,
            check.verdict,
        ]
        for check in checks
    ]


def _budget_rows(result: CellResult) -> Iterable[dict[str, Any]]:
    for point in result.budgets:
        yield {
            "task": result.task,
            "method": result.method,
            "budget": point.budget,
            "accuracy": point.accuracy,
            **point.times._asdict(),
        }


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _percent(share: float) -> str:
    return _NONE if math.isnan(share) else f"{100 * share:.1f}"


def _micros(times: Times | None) -> list[str]:
    return [_NONE, _NONE] if times is None else [f"{times.cpu_p50_us:.1f}", f"{times.cpu_p99_us:.0f}"]


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
