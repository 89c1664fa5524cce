"""``python -m anystream.demo``: results on stdout, messages on stderr, a picture in the current folder."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.live import Live

from anystream.anytime.curve import AnytimeCurve, anytime_curve
from anystream.bayes_tree.classifier import BayesTreeClassifier
from anystream.demo.live import Screen
from anystream.demo.loads import DEADLINE_S, LOADS, STEPS, Load, bursty_arrivals, run_load
from anystream.demo.tables import curve_table, load_table, verdict
from anystream.runtime.engine import Turn

PICTURE = Path("demo.png")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration; returns the exit status."""
    options = _parse(argv)
    out, messages = Console(highlight=False), Console(stderr=True, highlight=False)
    started = time.perf_counter()

    X_train, X_test, y_train, y_test = _digits(options.seed)
    model = BayesTreeClassifier(
        metric="diagonal",
        root_model=None,
        covariance="diagonal",
        bandwidth="f0.15",
        decision="mixture",
        budget=STEPS,
        seed=options.seed,
        n_jobs=2,
    )
    fitting = time.perf_counter()
    model.fit(X_train, y_train)
    messages.print(f"[dim]fitted {len(X_train):,} images in {time.perf_counter() - fitting:.2f} s[/]")

    curve = anytime_curve(model, X_test, y_test)
    out.print()
    out.print("[bold]1  An answer at once, a better one with every step[/]")
    out.print(
        f"Handwritten digits from scikit-learn: a Bayes tree of {len(X_train):,} images (originals, and copies moved "
        f"by one pixel) reads {len(X_test):,} that it has not seen. It can be stopped after any step."
    )
    out.print(curve_table(curve, ascii_only=out.options.ascii_only))
    out.print(f"[dim]{curve.summary()}[/]")

    out.print()
    out.print("[bold]2  A stream that grows to ten times what the machine can do[/]")
    capacity = _measure_capacity(model, X_test)
    out.print(
        f"Two threads do {capacity:,.0f} records a second at {STEPS} steps each: load 1. Records now arrive in "
        f"bursts, and each wants its answer within {DEADLINE_S * 1e3:.0f} ms.\n"
        "[cyan]anytime[/]: everyone in the queue gets an equal share of the time left.\n"
        f"[magenta]fixed[/]:   {STEPS} steps for everyone; a full queue gives up those who have waited longest."
    )
    loads = _run_loads(model, X_test, y_test, capacity, options, out, messages)
    out.print(verdict(loads[-1], STEPS))

    out.print()
    if not options.no_plot:
        _draw(curve, loads, out, messages)
    messages.print(f"[dim]done in {time.perf_counter() - started:.0f} s[/]")
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m anystream.demo",
        description="Watch a classifier answer every record of a stream by its deadline.",
    )
    parser.add_argument("--seconds", type=_seconds, default=2.5, help="length of each phase (default: %(default)s)")
    parser.add_argument("--seed", type=_seed, default=0, help="seeds the split, the model and the arrivals")
    parser.add_argument("--no-plot", action="store_true", help=f"do not write {PICTURE}")
    return parser.parse_args(argv)


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0.0 < (value := float(text)) <= 3600.0:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is no length of a phase; use seconds above 0, up to 3600")


def _seed(text: str) -> int:
    with suppress(ValueError):
        if 0 <= (value := int(text)) < 2**32:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is no seed; use a whole number from 0 to 4294967295")


def _digits(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """Two thirds of the digits and their copies moved by one pixel in four directions, and the last third."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
    images = X_train.reshape(-1, 8, 8)
    moves = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
    moved = np.concatenate([np.roll(images, move, axis=(1, 2)) for move in moves])
    return moved.reshape(-1, 64), X_test, np.tile(y_train, len(moves)), y_test


def _measure_capacity(model: BayesTreeClassifier, X: NDArray[np.float64], seconds: float = 1.0) -> float:
    """Records a second that `model` answers at its full budget, in batches of some milliseconds."""
    batch = X[:64]
    model.classify(batch)  # threads and caches
    started, answered = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - started) < seconds:
        answered += len(model.classify(batch))
    return answered / elapsed


def _run_loads(
    model: BayesTreeClassifier,
    X: NDArray[np.float64],
    y: NDArray[Any],
    capacity: float,
    options: argparse.Namespace,
    out: Console,
    messages: Console,
) -> list[Load]:
    """Every load, both ways: live on a terminal; elsewhere a line for each on stderr, and the table at the end."""
    rng = np.random.default_rng(options.seed)
    loads: list[Load] = []
    with Live(console=out, auto_refresh=False) if out.is_terminal else nullcontext() as live:
        screen = None if live is None else Screen(live, ascii_only=out.options.ascii_only)
        for factor in LOADS:
            times = bursty_arrivals(factor * capacity, options.seconds, rng)
            if screen is None:
                messages.print(f"[dim]load {factor:g}: {len(times):,} records in {options.seconds:g} s, both ways[/]")
            watch = _nobody if screen is None else screen.watch
            loads.append(run_load(model, X, y, factor, capacity=capacity, times=times, watch=watch))
            if screen is not None:
                screen.done(loads, last=factor == LOADS[-1])
    if not out.is_terminal:
        out.print(load_table(loads))
    return loads


def _nobody(way: str, load: float, turn: Turn) -> None:
    """Nobody looks."""


def _draw(curve: AnytimeCurve, loads: list[Load], out: Console, messages: Console) -> None:
    try:
        from anystream.demo.picture import draw
    except ImportError:
        messages.print(f"no {PICTURE}: it needs matplotlib; install anystream\\[report]")
        return
    try:
        draw(curve, loads, PICTURE, deadline_s=DEADLINE_S, steps=STEPS)
    except OSError as error:
        messages.print(f"no {PICTURE}: {error.strerror}; run it in a folder that can be written, or with --no-plot")
        return
    out.print(f"picture: {PICTURE.resolve()}", soft_wrap=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
