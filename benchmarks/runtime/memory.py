"""Peak memory of a long run: it stays flat, however many records flow through.

python -m benchmarks.runtime.memory --records 10000000
"""

import argparse
import resource
import time

from anystream.bayes_tree import BayesTreeClassifier
from anystream.connectors.generated import GeneratedSource
from anystream.runtime import Engine, FixedBudget
from anystream.runtime.simulation import Nowhere
from anystream.streams import SEA


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500_000)
    options = parser.parse_args()
    stream = SEA(concepts=(8,), seed=1)
    model = BayesTreeClassifier().fit(*stream.take(2000))
    engine = Engine(model, GeneratedSource(stream, options.records), Nowhere(), scheduler=FixedBudget(0), batch_s=0.02)
    marks = [options.records * tenth // 10 for tenth in range(1, 11)]
    began = time.perf_counter()

    def watch(turn) -> None:
        if marks and turn.summary.answered >= marks[0]:
            marks.pop(0)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            seconds = time.perf_counter() - began
            print(
                f"{turn.summary.answered:>12,} records  {peak:8.1f} MB peak  {turn.summary.answered / seconds:>10,.0f}/s"
            )

    engine.watch(watch)
    engine.run()


if __name__ == "__main__":
    main()
