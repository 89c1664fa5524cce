"""Pages of a mapped model that each step reads, for nodes packed back to back and for nodes in pages.

    python -m benchmarks.bayes_tree.paging [--sets letter] [--queries 50] [--steps 20,100] [--fanout 7]

The file is dropped from memory before each query, so every page that a query visits is read from disk. Trees only, with
diagonal entries; the model is fitted on three quarters of the set. Counts pages by mincore, so Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from anystream import BayesTreeClassifier
from anystream.model_file import read_model
from anystream.models import restore_model
from benchmarks.bayes_tree.variants import PLAIN, available_folds
from benchmarks.table import machine, print_table

PAGE_BYTES = 4096


class CannotCountPagesError(OSError):
    """The file system keeps files in memory, or the system does not tell which pages are."""


def mapping_of(array: np.ndarray) -> tuple[mmap.mmap, int]:
    """Return the mapping that an array lies in, and its address."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    mapping = owner.obj if isinstance(owner, memoryview) else owner
    return mapping, np.frombuffer(mapping, np.uint8).ctypes.data


class MappedTrees:
    """A mapped model whose file is dropped from memory before each query, with one page read per fault."""

    def __init__(self, path: Path) -> None:
        self.path = path
        file = read_model(path, mmap=True, verify=False)
        self.model = restore_model(file, mapped=True)
        self.blob = file.arrays["blob"]
        self.mapping, _ = mapping_of(self.blob)
        self.mapping.madvise(mmap.MADV_RANDOM)

    def drop(self) -> None:
        """Drop the file from memory."""
        self.mapping.madvise(mmap.MADV_DONTNEED)
        descriptor = os.open(self.path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
        if self.resident_pages():
            raise CannotCountPagesError("this file system keeps files in memory")

    def resident_pages(self) -> int:
        """Return how many pages of the nodes are in memory."""
        start = self.blob.ctypes.data // mmap.PAGESIZE * mmap.PAGESIZE
        n_bytes = self.blob.ctypes.data + self.blob.nbytes - start
        pages = np.zeros(-(-n_bytes // mmap.PAGESIZE), np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(n_bytes), ctypes.c_void_p(pages.ctypes.data)):
            raise CannotCountPagesError(f"mincore fails: {os.strerror(ctypes.get_errno())}")
        return int((pages & 1).sum())

    def read_by_refinements(self, records: np.ndarray, steps: int) -> tuple[np.ndarray, int]:
        """Return the pages that each refinement reads, and the major faults of all."""
        read, faults = [], 0
        for record in records:
            self.drop()
            query = self.model.query(record)
            before, faulted = self.resident_pages(), resource.getrusage(resource.RUSAGE_SELF).ru_majflt
            for _ in range(steps):
                query.refine(1)
                now = self.resident_pages()
                read.append(now - before)
                before = now
            faults += resource.getrusage(resource.RUSAGE_SELF).ru_majflt - faulted
        return np.array(read), faults


def measure(model: BayesTreeClassifier, queries: np.ndarray, steps: list[int], folder: Path) -> list[list[str]]:
    """Return the bytes of the nodes and the mean pages per step, packed and paged."""
    rows = []
    model.set_params(fanout=model.recipe_.fanout)  # "page" cannot be saved packed
    for form, page_bytes in (("packed", None), (f"page_bytes={PAGE_BYTES}", PAGE_BYTES)):
        path = folder / f"{form}.safetensors"
        model.set_params(page_bytes=page_bytes).save(path)
        trees = MappedTrees(path)
        means = (trees.read_by_refinements(queries, count)[0].mean() for count in steps)
        rows.append([f"fanout {model.fanout}, {form}", f"{trees.blob.nbytes:,}", *(f"{mean:.3f}" for mean in means)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="letter")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--steps", default="20,100")
    parser.add_argument("--fanout", default="7", help='a number, or "page"')
    arguments = parser.parse_args()
    steps = [int(count) for count in arguments.steps.split(",")]
    fanout = arguments.fanout if arguments.fanout == "page" else int(arguments.fanout)
    rows = []
    for name, parts in available_folds(arguments.sets.split(","), 1, arguments.queries).items():
        X, y, queries, _ = parts[0]
        model = BayesTreeClassifier(**PLAIN, covariance="diagonal", fanout=fanout, page_bytes=PAGE_BYTES).fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            rows += [[name, *row] for row in measure(model, queries, steps, Path(folder))]
    if rows:
        columns = ["", "", "bytes of nodes", *(f"pages per step, {count} steps" for count in steps)]
        print_table(f"pages read per step, {arguments.queries} queries ({machine()})", columns, rows, [])


if __name__ == "__main__":
    main()
