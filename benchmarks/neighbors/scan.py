"""One query against many exemplars: our scan compared with faiss, scikit-learn and NumPy.

Every package runs the same queries one at a time on one thread. Each figure is the minimum of several interleaved
repeats, in CPU time, so that other load on the machine affects all packages alike.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from anystream import _native
from benchmarks.table import machine, print_table

try:
    import faiss
except ImportError:
    faiss = None


def draw_clusters(n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 2 * np.random.default_rng(99).normal(size=(50, d))
    return centres[rng.integers(50, size=n)] + rng.normal(size=(n, d))


def make_scans(X: np.ndarray):
    store = _native.BlockStore(X.shape[1])
    store.assign(X)
    yield "anystream", lambda x: store.nearest(x)[0][0]
    if faiss is not None:
        faiss.omp_set_num_threads(1)
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X.astype(np.float32))
        yield "faiss flat", lambda x: index.search(x[np.newaxis].astype(np.float32), 1)[1][0, 0]
    for algorithm in ("brute", "kd_tree"):
        model = NearestNeighbors(n_neighbors=1, algorithm=algorithm, n_jobs=1).fit(X)
        yield f"sklearn {algorithm}", lambda x, model=model: model.kneighbors(x[np.newaxis])[1][0, 0]
    norms = (X**2).sum(axis=1)
    yield "numpy gemv", lambda x: (norms - 2 * (X @ x)).argmin()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exemplars", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 16, 54, 256])
    arguments = parser.parse_args()
    rows = []
    for d in arguments.dimensions:
        X = draw_clusters(arguments.exemplars, d, seed=0)
        Q = draw_clusters(arguments.queries, d, seed=1)
        names, calls = zip(*make_scans(X), strict=True)
        minimum = dict.fromkeys(names, np.inf)
        for repeat in range(7):
            for name, call in zip(names, calls, strict=True):
                if repeat > 1 and name.startswith(("sklearn", "numpy")):
                    continue
                started = time.thread_time()
                for x in Q:
                    call(x)
                minimum[name] = min(minimum[name], (time.thread_time() - started) / len(Q) / len(X) * 1e9)
        ours = minimum["anystream"]
        agree = np.mean([calls[0](x) == calls[-1](x) for x in Q])
        rows += [[d, name, f"{minimum[name]:.2f}", f"{minimum[name] / ours:.2f}", f"{agree:.2f}"] for name in names]
    notes = [machine(), f"{arguments.exemplars} exemplars in 50 clusters, seed 0; {arguments.queries} queries, seed 1"]
    notes.append("agree: share of our nearest neighbours that float64 arithmetic in NumPy finds too")
    if faiss is None:
        notes.append("faiss is not installed and therefore left out; `make bench-peers` installs it")
    print_table(
        "Scan: ns per exemplar, one query, one thread", ["d", "package", "ns", "times ours", "agree"], rows, notes
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
