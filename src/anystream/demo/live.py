"""Live view of the engine on a terminal."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from anystream.demo.loads import DEADLINE_S, Load
from anystream.demo.tables import COLOURS, format_milliseconds, format_number, format_percent, load_table
from anystream.runtime.engine import Turn
from anystream.runtime.summary import Summary

INTERVAL_S = 0.1
_WIDTH = 32  # intervals that a row shows
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*#@"
_SHARES = ("in time", "right, of answers")


class RecentHistory:
    """Measures of the last intervals of a run, each the difference between two summaries."""

    def __init__(self) -> None:
        self.policy, self.load = "", 0.0
        self.measures: dict[str, deque[float]] = {}
        self._last: tuple[float, Summary] | None = None

    def observe(self, policy: str, load: float, turn: Turn) -> bool:
        """Add the measures of an interval if one has ended; return whether it has."""
        if (policy, load) != (self.policy, self.load):
            self.policy, self.load, self._last, self.measures = policy, load, None, {}
        summary = turn.summary
        if self._last is None:
            self._last = turn.now, summary.copy()
            return False
        then, before = self._last
        if turn.now - then < INTERVAL_S:
            return False
        self._last = turn.now, summary.copy()
        answered = summary.answered - before.answered
        ended = answered + summary.shed - before.shed
        judged = max(summary.judged - before.judged, 1)
        self._add("arrivals per second", (summary.taken - before.taken) / (turn.now - then))
        self._add("waiting records", turn.queue_length)
        self._add("steps each", (summary.steps - before.steps) / max(answered, 1))
        self._add("waiting time", (summary.waited_s - before.waited_s) / max(answered, 1))
        self._add("in time", (summary.on_time - before.on_time) / max(ended, 1))
        self._add("right, of answers", (summary.right - before.right) / judged)
        return True

    def _add(self, name: str, value: float) -> None:
        self.measures.setdefault(name, deque(maxlen=_WIDTH)).append(value)


def history_table(history: RecentHistory, *, ascii_only: bool = False) -> Table:
    """Return the last intervals as a table of small curves."""
    colour = COLOURS.get(history.policy, "")
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=f"load {history.load:g}, {history.policy}", title_style=colour)
    table.add_column("now", justify="left", min_width=18)
    table.add_column("", justify="right", min_width=9)
    table.add_column("the last seconds", min_width=_WIDTH, no_wrap=True)
    for name, values in history.measures.items():
        table.add_row(name, _format_measure(name, values[-1]), Text(_curve(name, values, ascii_only), style=colour))
    return table


class LiveScreen:
    """Tables that are updated in place on a terminal.

    Parameters
    ----------
    live : rich.live.Live
        The display.
    ascii_only : bool
        Whether the terminal shows only ASCII characters.
    """

    def __init__(self, live: Live, *, ascii_only: bool) -> None:
        self._live = live
        self._ascii_only = ascii_only
        self._history = RecentHistory()
        self._loads: Sequence[Load] = ()

    def show_turn(self, policy: str, load: float, turn: Turn) -> None:
        """Show a turn of the engine."""
        if self._history.observe(policy, load, turn):
            self._update(history_table(self._history, ascii_only=self._ascii_only))

    def show_loads(self, loads: Sequence[Load], *, last: bool) -> None:
        """Show the loads that are finished; after the last one, without the history."""
        self._loads = list(loads)
        self._update(*([] if last else [history_table(self._history, ascii_only=self._ascii_only)]))

    def _update(self, *below: RenderableType) -> None:
        parts = [load_table(self._loads)] if self._loads else []
        self._live.update(Group(*parts, *below), refresh=True)


def _format_measure(name: str, value: float) -> str:
    if name == "waiting time":
        return format_milliseconds(value)
    if name in _SHARES:
        return format_percent(value)
    return f"{value:,.0f}" if value >= 100 else format_number(value)


def _curve(name: str, values: Sequence[float], ascii_only: bool) -> str:
    top = 1.0 if name in _SHARES else DEADLINE_S if name == "waiting time" else max(values)
    marks = _ASCII if ascii_only else _BLOCKS
    return "".join(marks[min(int(value / max(top, 1e-12) * 8 + 0.5), 8)] for value in values)
