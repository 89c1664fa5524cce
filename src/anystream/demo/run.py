"""The demonstration: results on standard output, messages on standard error, a picture in the current folder."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.live import Live

from anystream.anytime.curve import AnytimeCurve, anytime_curve
from anystream.bayes_tree.classifier import BayesTreeClassifier
from anystream.demo.capacity import Capacity
from anystream.demo.digits import Digits, split_digits
from anystream.demo.live import LiveScreen
from anystream.demo.loads import DEADLINE_S, STEPS, Load, draw_bursty_arrivals, run_load
from anystream.demo.picture import draw_picture
from anystream.demo.standstill import StandstillWatch
from anystream.demo.tables import curve_table, describe_load, load_table
from anystream.runtime.engine import Turn

PICTURE = Path("demo.png")
_MAX_SECONDS = 3600.0
_MAX_TRIES = 3  # of a load during which the machine stands still


def run_demo(*, seconds: float = 2.5, seed: int = 0, plot: bool = True) -> None:
    """Run the demonstration.

    Parameters
    ----------
    seconds : float, default=2.5
        Length of each run of the second part.
    seed : int, default=0
        Seed of the split, the model and the arrivals.
    plot : bool, default=True
        Whether to write `PICTURE` into the current folder.
    """
    if not 0.0 < seconds <= _MAX_SECONDS:
        raise ValueError(f"seconds is {seconds:g}; use more than 0 and at most {_MAX_SECONDS:g}")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed}; use a whole number from 0 to {2**32 - 1}")
    out, messages = Console(highlight=False), Console(stderr=True, highlight=False)
    started = time.perf_counter()
    digits = split_digits(seed)
    model = fit_model(digits, seed, messages)
    curve = _show_curve(model, digits, out)
    capacity = Capacity.measure(model, digits.X_test, digits.y_test)
    loads = _show_loads(model, digits, capacity, seconds, seed, out, messages)
    if plot:
        _write_picture(curve, loads, capacity, out, messages)
    messages.print(f"[dim]done in {time.perf_counter() - started:.0f} s; live in a browser: anystream demo --serve[/]")


def fit_model(digits: Digits, seed: int, messages: Console) -> BayesTreeClassifier:
    """Return the classifier of the demonstration."""
    model = BayesTreeClassifier(
        metric="diagonal",
        root_model=None,
        covariance="diagonal",
        bandwidth="f0.15",
        decision="mixture",
        budget=STEPS,
        random_state=seed,
        n_jobs=2,
    )
    started = time.perf_counter()
    model.fit(digits.X_train, digits.y_train)
    messages.print(f"[dim]fitted {len(digits.X_train):,} images in {time.perf_counter() - started:.2f} s[/]")
    return model


def _show_curve(model: BayesTreeClassifier, digits: Digits, out: Console) -> AnytimeCurve:
    """Print the first part, accuracy over steps, and return the curve."""
    curve = anytime_curve(model, digits.X_test, digits.y_test)
    out.print()
    out.print("[bold]1  An answer at once, a better one with every step[/]")
    out.print(
        f"Handwritten digits from scikit-learn: a Bayes tree of {len(digits.X_train):,} images (originals, and copies "
        f"shifted by one pixel) classifies {len(digits.X_test):,} images that it was not fitted on. It can be stopped "
        "after any step."
    )
    out.print(curve_table(curve, ascii_only=out.options.ascii_only))
    out.print(f"[dim]{curve.summary()}[/]")
    return curve


def _show_loads(
    model: BayesTreeClassifier,
    digits: Digits,
    capacity: Capacity,
    seconds: float,
    seed: int,
    out: Console,
    messages: Console,
) -> list[Load]:
    """Print the second part, a stream at rising load, and return what became of it."""
    out.print()
    out.print("[bold]2  A stream that grows far beyond what the machine can do[/]")
    out.print(
        f"Two threads classify {capacity.full:,.0f} records per second at {STEPS} steps each: load 1. At budget 0 the "
        f"engine answers {capacity.limit:,.0f}, its limit: load {capacity.limit_factor:.0f}. Records now arrive in "
        f"bursts, which stay below the limit, and each has a deadline of {DEADLINE_S * 1e3:.0f} ms.\n"
        "[cyan]anytime[/]: every record in the queue gets an equal share of the time left.\n"
        f"[magenta]fixed[/]:   {STEPS} steps for every record; a full queue evicts the oldest records."
    )
    loads = _run_loads(model, digits, capacity, seconds, seed, out, messages)
    out.print(describe_load(loads[-1], STEPS))
    out.print()
    return loads


def _run_loads(
    model: BayesTreeClassifier,
    digits: Digits,
    capacity: Capacity,
    seconds: float,
    seed: int,
    out: Console,
    messages: Console,
) -> list[Load]:
    """Run every load; on a terminal the table grows live, otherwise it is printed at the end.

    A load during which the machine stood still for more than half of a deadline is run again.
    """
    rng = np.random.default_rng(seed)
    loads: list[Load] = []
    with (
        Live(console=out, auto_refresh=False) if out.is_terminal else nullcontext() as live,
        StandstillWatch() as watch,
    ):
        screen = None if live is None else LiveScreen(live, ascii_only=out.options.ascii_only)
        factors = capacity.loads()
        for factor in factors:
            arrival_times_s = draw_bursty_arrivals(factor * capacity.full, seconds, rng)
            if screen is None:
                messages.print(f"[dim]load {factor:g}: {len(arrival_times_s):,} records in {seconds:g} s, twice[/]")
            for left in reversed(range(_MAX_TRIES)):
                began = time.monotonic()
                load = run_load(
                    model,
                    digits.X_test,
                    digits.y_test,
                    factor,
                    capacity=capacity.full,
                    arrival_times_s=arrival_times_s,
                    observer=_ignore_turn if screen is None else screen.show_turn,
                )
                still_s = watch.longest_since(began)
                if still_s <= DEADLINE_S / 2:
                    break
                again = "; once more" if left else ""
                messages.print(f"[dim]load {factor:g}: the machine stood still for {1e3 * still_s:.0f} ms{again}[/]")
            loads.append(load)
            if screen is not None:
                screen.show_loads(loads, last=factor == factors[-1])
    if not out.is_terminal:
        out.print(load_table(loads))
    return loads


def _ignore_turn(policy: str, load: float, turn: Turn) -> None:
    """Do nothing."""


def _write_picture(curve: AnytimeCurve, loads: list[Load], capacity: Capacity, out: Console, messages: Console) -> None:
    limit = capacity.limit_factor
    try:
        draw_picture(curve, loads, PICTURE, deadline_s=DEADLINE_S, steps=STEPS, limit=limit)
    except ImportError:
        messages.print(f"{PICTURE} is not written: it needs matplotlib; install anystream\\[report]")
    except OSError as error:
        messages.print(f"{PICTURE} is not written: {error.strerror}; use a folder that is writable, or --no-plot")
    else:
        out.print(f"picture: {PICTURE.resolve()}", soft_wrap=True)
