"""Recovery after a process was stopped for 300 ms: ``python -m benchmarks.runtime.stall``.

Records of the digits arrive at a share of what the engine can answer at budget 0. In the middle of the stream another
process sends SIGSTOP, and SIGCONT after 300 ms. The table shows how many of the records that could still be in time
were, and when the last late record arrived, from the end of the stall. Run it on an idle machine.
"""

import argparse
import os
import subprocess
import sys

import numpy as np

from anystream.bayes_tree import BayesTreeClassifier
from anystream.demo.capacity import Capacity
from anystream.demo.digits import split_digits
from anystream.runtime import (
    DeadlineShare,
    Engine,
    NullSink,
    RealClock,
    RecordQueue,
    RepeatingSource,
    Replay,
    at_times,
    draw_arrivals,
)
from benchmarks.table import print_table

WITHIN_S, STALL_S, SECONDS = 0.1, 0.3, 2.0
STOPPER = """
import os, signal, sys, time
pid, wait_s, stall_s = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
time.sleep(wait_s)
print(time.monotonic(), flush=True)
os.kill(pid, signal.SIGSTOP)
time.sleep(stall_s)
os.kill(pid, signal.SIGCONT)
print(time.monotonic(), flush=True)
"""


class ArrivalSink(NullSink):
    """Collects the arrival of every record, whether it was late, and whether it was reached."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []

    def write(self, answers: object) -> None:
        """Note the answers."""
        now = RealClock().now()
        self.parts.append(np.stack([now - answers.waited_s, answers.late, answers.reached]))


def run(model: BayesTreeClassifier, X: np.ndarray, y: np.ndarray, rate: float) -> list[str]:
    """Run one stream with a stall, and return a row of the table."""
    times = draw_arrivals(np.full(1, rate), SECONDS, seed=0)
    clock, sink = RealClock(), ArrivalSink()
    source = Replay(RepeatingSource(X, y, len(times)), at_times(times), clock)
    queue = RecordQueue(max(1000, round(2.0 * rate * WITHIN_S)), "answer_now")
    engine = Engine(model, source, sink, scheduler=DeadlineShare(max_steps=200), within_s=WITHIN_S, queue=queue)
    arguments = [str(os.getpid()), str(SECONDS / 2), str(STALL_S)]
    with subprocess.Popen([sys.executable, "-c", STOPPER, *arguments], stdout=subprocess.PIPE, text=True) as stopper:
        engine.run()
        began, ended = map(float, stopper.communicate()[0].split())
    arrived, late, reached = np.concatenate(sink.parts, axis=1)
    in_time = (late == 0) & (reached == 1)
    savable = (arrived > ended - WITHIN_S) & (arrived <= ended)
    after = arrived > ended
    last = (arrived[~in_time].max() - ended) * 1e3
    return [
        f"{1e3 * (ended - began):.0f}",
        f"{in_time[arrived < began - WITHIN_S].mean():.2%}",
        f"{in_time[savable].mean():.2%}",
        f"{in_time[after].mean():.2%}",
        f"{in_time[arrived > ended + WITHIN_S].mean():.2%}",
        f"{last:+.0f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", default="0.1,0.3,0.5,0.7,0.8", help="shares of the limit, separated by commas")
    options = parser.parse_args()
    digits = split_digits(0)
    model = BayesTreeClassifier(
        metric="diagonal", root_model=None, covariance="diagonal", bandwidth="f0.15", decision="mixture", n_jobs=2
    ).fit(digits.X_train, digits.y_train)
    limit = Capacity.measure(model, digits.X_test, digits.y_test).limit
    rows = [
        [f"{load:g}", f"{load * limit:,.0f}", *run(model, digits.X_test, digits.y_test, load * limit)]
        for load in map(float, options.loads.split(","))
    ]
    header = [
        "of the limit",
        "records/s",
        "stall ms",
        "before",
        "savable",
        "after",
        "one deadline after",
        "last late ms",
    ]
    print_table("Answered in time around a stall, deadline 100 ms, 64 features, ten classes", header, rows)


if __name__ == "__main__":
    main()
