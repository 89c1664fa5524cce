"""Peak memory of a long run: it stays constant, however many records are classified.

python -m benchmarks.runtime.memory --records 10000000
"""

import argparse
import resource
import time

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.generated import GeneratedSource
from anystream.runtime import Engine, FixedBudget, NullSink
from anystream.streams import SEA
from benchmarks.table import machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500_000, help="number of records")
    options = parser.parse_args()
    stream = SEA(concepts=(8,), seed=1)
    model = BayesTreeClassifier().fit(*stream.take(2000))
    source = GeneratedSource(stream, options.records)
    engine = Engine(model, source, NullSink(), scheduler=FixedBudget(0), batch_s=0.02)
    marks = [options.records * tenth // 10 for tenth in range(1, 11)]
    began = time.perf_counter()

    def watch(turn) -> None:
        if marks and turn.summary.answered >= marks[0]:
            marks.pop(0)
            peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rate = turn.summary.answered / (time.perf_counter() - began)
            print(f"{turn.summary.answered:>12,} records  {peak_mb:8.1f} MB peak  {rate:>10,.0f}/s")

    print(machine())
    engine.watch(watch)
    engine.run()


if __name__ == "__main__":
    main()
