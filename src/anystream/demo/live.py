"""What the engine does at this moment, for eyes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from anystream.demo.loads import DEADLINE_S, Load
from anystream.demo.tables import COLOURS, load_table, milliseconds, number, percent
from anystream.runtime.engine import Turn
from anystream.runtime.summary import Summary

EVERY_S = 0.1
_WIDTH = 32  # moments that a row shows
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*#@"


class Moments:
    """The last moments of a run: what happened between two looks at it."""

    def __init__(self) -> None:
        self.way, self.load = "", 0.0
        self._before: tuple[float, Summary] | None = None
        self.rows: dict[str, deque[float]] = {}

    def see(self, way: str, load: float, turn: Turn) -> bool:
        """Take note of a turn if it is time; True if there is something new to show."""
        if (way, load) != (self.way, self.load):
            self.way, self.load, self._before, self.rows = way, load, None, {}
        found = turn.summary
        if self._before is None:
            self._before = turn.now, _copy(found)
            return False
        then, before = self._before
        if turn.now - then < EVERY_S:
            return False
        self._before = turn.now, _copy(found)
        answered = found.answered - before.answered
        ended = answered + found.shed - before.shed
        judged = max(found.judged - before.judged, 1)
        self._add("arrivals a second", (found.taken - before.taken) / (turn.now - then))
        self._add("records that wait", turn.queue_length)
        self._add("steps each", (found.steps - before.steps) / max(answered, 1))
        self._add("waiting time", (found.waited_s - before.waited_s) / max(answered, 1))
        self._add("in time", (found.on_time - before.on_time) / max(ended, 1))
        self._add("right, of answers", (found.right - before.right) / judged)
        return True

    def _add(self, name: str, value: float) -> None:
        self.rows.setdefault(name, deque(maxlen=_WIDTH)).append(value)


def panel(moments: Moments, *, ascii_only: bool = False) -> Table:
    """The last moments as a table of small curves."""
    colour = COLOURS.get(moments.way, "")
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=f"load {moments.load:g}, {moments.way}", title_style=colour)
    table.add_column("now", justify="left", min_width=18)
    table.add_column("", justify="right", min_width=9)
    table.add_column("the last seconds", min_width=_WIDTH, no_wrap=True)
    for name, values in moments.rows.items():
        table.add_row(name, _shown(name, values[-1]), Text(_curve(name, values, ascii_only), style=colour))
    return table


class Screen:
    """Tables that grow in place on a terminal."""

    def __init__(self, live: Live, *, ascii_only: bool) -> None:
        self._live = live
        self._ascii = ascii_only
        self._moments = Moments()
        self._loads: Sequence[Load] = ()

    def watch(self, way: str, load: float, turn: Turn) -> None:
        """Show a turn of the engine."""
        if self._moments.see(way, load, turn):
            self._show(panel(self._moments, ascii_only=self._ascii))

    def done(self, loads: Sequence[Load], *, last: bool) -> None:
        """A load is over."""
        self._loads = list(loads)
        self._show(*([] if last else [panel(self._moments, ascii_only=self._ascii)]))

    def _show(self, *below: RenderableType) -> None:
        parts = [load_table(self._loads)] if self._loads else []
        self._live.update(Group(*parts, *below), refresh=True)


def _copy(summary: Summary) -> Summary:
    return Summary.restored(summary.state())


def _shown(name: str, value: float) -> str:
    if name == "waiting time":
        return milliseconds(value)
    if name in ("in time", "right, of answers"):
        return percent(value)
    return f"{value:,.0f}" if value >= 100 else number(value)


def _curve(name: str, values: Sequence[float], ascii_only: bool) -> str:
    top = 1.0 if name in ("in time", "right, of answers") else DEADLINE_S if name == "waiting time" else max(values)
    marks = _ASCII if ascii_only else _BLOCKS
    return "".join(marks[min(int(value / max(top, 1e-12) * 8 + 0.5), 8)] for value in values)
