"""Damage model files at random: loading one must work or raise ModelFileError, and nothing else.

    python tests/model_file/fuzz.py --seconds 60 --seed 0     search; exit 1 if there are findings
    python tests/model_file/fuzz.py FILE...                   run the targets on these files

A loader joins by appending a function that writes a valid file to SEEDS and one that loads a file to TARGETS.
Half of the damaged files get valid checksums again, as a forger would write them; the others are read without and with
verification. So damage of all kinds reaches the code behind the checksums. With atheris installed its coverage guides
the search; without it the same damage is done at random.
"""

import argparse
import importlib.util
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anystream import (
    AnytimeForestClassifier,
    AnytimeNeighborsClassifier,
    BayesTreeClassifier,
    KAOGClassifier,
    KAOGINCClassifier,
    LocustClassifier,
    MicroClusterClassifier,
    load,
)
from anystream.drift import WCEA, DynamicWeightedMajority, GaussianNaiveBayes, OnlineTree2, SEAEnsemble
from anystream.model_file import (
    ArraySpec,
    ModelFileError,
    check_arrays,
    container,
    errors,
    read_model,
    require_kind,
    require_metadata,
    write_model,
)
from anystream.subspace import BlockLocustClassifier

CSR_SPECS = {
    "mean": ArraySpec("float32", ("entries", "d"), finite=True),
    "variance": ArraySpec("float64", ("entries", "d"), low=sys.float_info.min),
    "first": ArraySpec("int32", ("nodes+1",), low=0, high="entries", sorted=True),
    "class_of": ArraySpec("uint16", ("entries",), high="classes-1"),
    "is_leaf": ArraySpec("bool", ("nodes",)),
    "count": ArraySpec("int64", (), low=0),
}


def write_csr(path: Path) -> None:
    """Write nodes with entries, the layout of most models."""
    arrays = {
        "mean": np.arange(12, dtype=np.float32).reshape(6, 2),
        "variance": np.full((6, 2), 0.25),
        "first": np.array([0, 2, 5, 6], np.int32),
        "class_of": np.array([0, 1, 2, 0, 1, 2], np.uint16),
        "is_leaf": np.array([False, True, True]),
        "count": np.array(6, np.int64),
    }
    metadata = {"features": 2, "labels": ["a", "b", 'ü\\"[{'], "decay": 0.5, "nested": {"seeds": [1, 2, {}]}}
    write_model(path, kind="csr", version=2, metadata=metadata, arrays=arrays)


def write_odd(path: Path) -> None:
    """Write empty arrays, odd sizes and hardly any metadata."""
    arrays = {
        "empty": np.empty((0, 3), np.float64),
        "bytes": np.arange(7, dtype=np.uint8),
        "small": np.array([-1], np.int8),
        "wide": np.array([2**64 - 1], np.uint64),
        "name \u20ac": np.array([[1, -2]], np.int16),
    }
    write_model(path, kind="odd", version=1, metadata={}, arrays=arrays)


def write_nothing(path: Path) -> None:
    write_model(path, kind="nothing", version=1, metadata={}, arrays={})


def load_mapped(path: Path) -> None:
    for array in read_model(path, mmap=True, verify=False).arrays.values():
        array.tobytes()


def load_verified(path: Path) -> None:
    """A file with valid checksums is read alike, mapped or not."""
    copied, mapped = read_model(path), read_model(path, mmap=True)
    for name, array in copied.arrays.items():
        assert array.tobytes() == mapped.arrays[name].tobytes(), "a mapped array differs"


def load_checked(path: Path) -> None:
    """Load like a model, then do in Python what native code would do: look up by the indices."""
    content = read_model(path, verify=False)
    require_kind(content, "csr", range(1, 4))
    labels = require_metadata(content, "labels", list[str])
    require_metadata(content, "decay", float, low=0, high=1)
    features = require_metadata(content, "features", int, allowed=range(1, 1000))
    arrays, sizes = check_arrays(content, CSR_SPECS, sizes={"d": features, "classes": len(labels)})
    for begin, end in zip(arrays["first"], arrays["first"][1:], strict=False):
        assert 0 <= begin <= end <= sizes["entries"], "an index passed the checks"
        assert np.isfinite(arrays["mean"][begin:end]).all(), "a value passed the checks"
        assert all(labels[c] is not None for c in arrays["class_of"][begin:end])
    assert (arrays["variance"] > 0).all(), "a range passed the checks"
    assert arrays["is_leaf"].view(np.uint8).max(initial=0) <= 1, "a bool passed the checks"


def save_fitted(model: Any, path: Path) -> None:
    """Fit a model on a few records, let it learn further if it can, and save it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    X[:, 0] += 3 * y
    model.fit(X[:40], y[:40])
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[40:], y[40:])
    model.save(path)


def writer(make: Callable[[], Any]) -> Callable[[Path], None]:
    """Return a function that writes a file of a small model."""
    return lambda path: save_fitted(make(), path)


def use_model(path: Path) -> None:
    """A model that loads must give probabilities, refine a query and learn further."""
    for mmap in (True, False):
        model = load(path, mmap=mmap, verify=False)
        X = np.zeros((3, model.n_features_in_))
        for budget in (0, 10**6):
            proba = model.predict_proba(X, budget=budget)
            assert np.isfinite(proba).all(), "a probability is not a number"
            assert np.allclose(proba.sum(axis=1), 1.0), "probabilities do not add up"
        model.query(X[0]).refine(3)
        if hasattr(model, "partial_fit"):
            model.partial_fit(X, model.classes_[[0, 0, 0]])
            assert np.isfinite(model.predict_proba(X)).all(), "a probability is not a number after learning"


MODELS: list[Callable[[], Any]] = [
    lambda: BayesTreeClassifier(budget=20),
    lambda: BayesTreeClassifier(covariance=2, root_model=1.0, budget=20),
    lambda: AnytimeNeighborsClassifier(),
    lambda: AnytimeNeighborsClassifier(search="inverted", metric="gower", window=50, trim="auto"),
    lambda: AnytimeNeighborsClassifier(metric="mahalanobis", scaling="standard", k=3),
    lambda: AnytimeNeighborsClassifier(metric="dtw"),
    lambda: LocustClassifier(level_size=16),
    lambda: BlockLocustClassifier(block_size=16),
    lambda: MicroClusterClassifier(n_clusters=12, snapshot_every=4, choose_every=8, hold_back=3),
    lambda: KAOGClassifier(),
    lambda: KAOGINCClassifier(batch_size=16),
    lambda: KAOGINCClassifier.paper(batch_size=16),
    lambda: AnytimeForestClassifier(n_estimators=4),
    lambda: AnytimeForestClassifier(base="hist_gradient_boosting", n_estimators=2),
    lambda: GaussianNaiveBayes(),
    lambda: OnlineTree2(min_window=4, max_window=20, test_every=2),
    lambda: DynamicWeightedMajority(period=5),
    lambda: SEAEnsemble(chunk_size=10),
    lambda: SEAEnsemble(KAOGINCClassifier(batch_size=8), chunk_size=10),
    lambda: WCEA(chunk_size=10),
    lambda: WCEA(BayesTreeClassifier(budget=5), chunk_size=10),
]
SEEDS: list[Callable[[Path], None]] = [write_csr, write_odd, write_nothing, *map(writer, MODELS)]
TARGETS: list[Callable[[Path], None]] = [load_mapped, load_verified, load_checked, use_model]

INTEGERS = [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 255, 256, 1000, 2**16 - 1, 2**20, 2**24 + 1]
INTEGERS += [base + step for base in (2**31, 2**32, 2**53, 2**62, 2**63, 2**64) for step in (-1, 0, 1)]
VALUES: list[Any] = [
    *INTEGERS,
    *(-n for n in INTEGERS),
    10**99,
    10**100,
    0.5,
    1e308,
    True,
    False,
    None,
    "",
    "0",
]
VALUES += [
    "\x00",
    "_padding_1",
    "__metadata__",
    [],
    {},
    [[]],
    [0],
    [0, 0],
    [2**62, 4],
    [0, 2**63 - 1],
    [1] * 33,
]
VALUES += [*container._DTYPES, "F16", "BF16", "C64"]
TOKENS = [b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"[" * 5000, b'{"a":' * 5000, b'"\\ud800"', b'"\xff"']
TOKENS += [b'{"a":1,"a":2}', b"", b",", b"}", b'"', b"\\", b"\x00", b"[]]", b"-0", b"1.", b"\xef\xbb\xbf{}"]
RAW = "@token@"  # placeholder in JSON for raw bytes
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # the header is too damaged to edit


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def put_integer(data: bytes, rng: random.Random) -> bytes:
    width = rng.choice((1, 2, 4, 8))
    at = 0 if rng.random() < 0.2 else rng.randrange(len(data) + 1)
    number = rng.choice(INTEGERS) * rng.choice((1, -1)) % 2 ** (8 * width)
    return data[:at] + number.to_bytes(width, "little") + data[at + width :]


def cut(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.5 else data[:at] + data[at + rng.choice((1, 8, 64)) :]


def splice(data: bytes, rng: random.Random) -> bytes:
    """Insert or overwrite with a piece of the same file, zeros or noise."""
    begin, length = rng.randrange(len(data) + 1), rng.choice((1, 2, 8, 64, 300))
    piece = rng.choice((data[begin : begin + length], bytes(length), rng.randbytes(length)))
    at = rng.randrange(len(data) + 1)
    return data[:at] + piece + data[at + (len(piece) if rng.random() < 0.5 else 0) :]


def edit_header(data: bytes, rng: random.Random) -> bytes:
    """Change one node of the header's JSON, or of the JSON within its metadata, and keep the rest intact."""
    try:
        content, payload = split(data)
        inner = rng.choice((None, None, "metadata", "array_checksums"))
        if inner is None:
            edit_node(content, rng)
        else:
            document = [json.loads(content["__metadata__"][inner])]
            edit_node(document, rng)
            text = json.dumps(document[0]).replace(f'"{RAW}"', rng.choice(TOKENS).decode("latin-1"))
            content["__metadata__"][inner] = text
        return join(content, payload, rng.choice(TOKENS))
    except DAMAGED:
        return flip_bits(data, rng)


def edit_node(root: Any, rng: random.Random) -> None:
    parents = [node for node in walk(root) if node]
    parent = rng.choice(parents) if parents else root
    keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
    key = rng.choice(keys) if keys else "new"
    match rng.randrange(6):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[rng.choice(("new", "_padding_9", "", RAW, rng.choice(keys) if keys else "other"))] = parent[key]
        case 2:
            parent[key] = RAW
        case 3 if isinstance(parent[key], int):
            parent[key] += rng.choice((-64, -8, -1, 1, 8, 64))
        case 4:  # swap the parts of two arrays
            other = rng.choice(keys)
            parent[key], parent[other] = parent[other], parent[key]
        case _:
            parent[key] = rng.choice(VALUES)


def walk(node: Any) -> list[Any]:
    """Return all dicts and lists within a JSON value, itself included."""
    if not isinstance(node, dict | list):
        return []
    return [
        node,
        *(inner for child in (node.values() if isinstance(node, dict) else node) for inner in walk(child)),
    ]


def edit_content(data: bytes, rng: random.Random) -> bytes:
    """Return a valid file with other content, which passes the reader and reaches the loaders."""
    try:
        content, payload = split(data)
        fields = content.pop("__metadata__")
        metadata = json.loads(fields["metadata"])
        if rng.random() < 0.2:
            edit_node(metadata, rng)
        arrays = {}
        for name, entry in content.items():
            if not name.startswith("_padding_"):
                values = bytearray(payload[slice(*entry["data_offsets"])])
                arrays[name] = np.frombuffer(values, container._DTYPES[entry["dtype"]]).reshape(entry["shape"])
        for _ in range(rng.choice((1, 1, 2))):
            edit_arrays(arrays, rng)
        version = int(fields["version"]) if rng.random() < 0.95 else rng.choice((1, 3, 999))
        return b"".join(container._encode(fields["kind"], version, metadata, arrays, container.ALIGNMENT))
    except (*DAMAGED, errors.InvalidContent):
        return flip_bits(data, rng)


def edit_arrays(arrays: dict[str, Any], rng: random.Random) -> None:
    """Set a value, or change the dtype, the shape, the order or the presence of an array."""
    name = rng.choice(list(arrays))
    array = arrays[name]
    match rng.randrange(12):
        case 0:
            del arrays[name]
        case 1:
            other = rng.choice(list(arrays))
            arrays[name], arrays[other] = arrays[other], array
        case 2:
            with np.errstate(invalid="ignore"):
                arrays[name] = array.astype(rng.choice(list(container._DTYPES.values())))
        case 3:
            arrays[name] = array.reshape(rng.choice(((-1,), array.shape[::-1], (1, *array.shape))))
        case 4:
            arrays[name] = np.resize(array, (rng.choice((0, 1, 2, 5, 8)), *array.shape[1:]))
        case 5:
            arrays[name] = array[::-1]
        case _ if array.dtype.kind == "f":
            array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -np.inf, -1.0, 0.0, 5e-324, 1e38))
        case _:
            raw = array.reshape(-1).view(np.uint8)
            bits = 8 * array.itemsize
            number = rng.choice((*INTEGERS, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1)) % 2**bits
            at = rng.randrange(array.size) * array.itemsize
            raw[at : at + array.itemsize] = np.frombuffer(number.to_bytes(array.itemsize, "little"), np.uint8)


def split(data: bytes) -> tuple[Any, bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def join(content: Any, payload: bytes, token: bytes = b"") -> bytes:
    header = json.dumps(content).encode().replace(f'"{RAW}"'.encode(), token)
    header += b" " * (-(8 + len(header)) % 64)
    return len(header).to_bytes(8, "little") + header + payload


def sign(data: bytes, payload_too: bool) -> bytes:
    """Recompute the checksums, if enough of the header is left."""
    try:
        content, payload = split(data)
        fields = content.pop("__metadata__")
        entries = [
            container._Entry(name, entry["dtype"], tuple(entry["shape"]), *entry["data_offsets"])
            for name, entry in content.items()
        ]
        sums = {entry.name: container._array_sum([payload[entry.begin : entry.end]]) for entry in entries}
        if payload_too:
            fields["array_checksums"] = json.dumps(sums)
        fields["checksum"] = container._header_sum(fields, entries)
        return join({"__metadata__": fields, **content}, payload)
    except DAMAGED:
        return data


MUTATORS = [flip_bits, put_integer, cut, splice, *[edit_header] * 3, *[edit_content] * 5]


def mutate(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(MUTATORS)(data, rng)
    return sign(data, payload_too=rng.random() < 0.9) if rng.random() < 0.5 else data


@dataclass
class Campaign:
    """Attempts and findings; files that led to a finding are kept in the folder."""

    folder: Path
    executions: int = 0
    rejected: int = 0  # by every target
    findings: dict[str, Path] = field(default_factory=dict)  # by exception and the line that raised it

    def attempt(self, data: bytes) -> None:
        """Run all targets on one file."""
        self.executions += 1
        path = self.folder / "input.safetensors"
        path.unlink(missing_ok=True)  # a new file: an old one may still be mapped
        path.write_bytes(data)
        loaded = False
        for target in TARGETS:
            try:
                target(path)
                loaded = True
            except ModelFileError:
                pass
            except Exception as problem:
                raised_at = traceback.extract_tb(problem.__traceback__)[-1]
                finding = f"{target.__name__}: {type(problem).__name__} in {raised_at.name}:{raised_at.lineno}"
                if finding not in self.findings:
                    self.findings[finding] = self.folder / f"finding-{len(self.findings)}.safetensors"
                    self.findings[finding].write_bytes(data)
                    traceback.print_exception(problem)
        self.rejected += not loaded

    def run(self, seed: int, seconds: float = float("inf"), executions: float = float("inf")) -> None:
        """Damage the seeds at random; the same seed gives the same files in the same order."""
        rng = random.Random(seed)
        corpus = self.corpus()
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.executions < executions:
            self.attempt(mutate(rng.choice(corpus), rng))

    def run_guided(self, seed: int, seconds: float) -> None:
        """Damage the files that reached new code according to atheris; ends the process."""
        import atheris

        for name, module in list(sys.modules.items()):
            if name.startswith("anystream"):
                for function in vars(module).values():
                    if isinstance(function, types.FunctionType) and function.__module__ == name:
                        atheris.instrument_func(function)
        corpus = self.folder / "corpus"
        corpus.mkdir()
        seeds = self.corpus()
        for i, data in enumerate(seeds):
            (corpus / str(i)).write_bytes(data)
        end = time.monotonic() + seconds

        def attempt(data: bytes) -> None:
            self.attempt(data)
            if time.monotonic() > end:  # libFuzzer would end the process silently
                code = self.close(seed)
                sys.stdout.flush()
                os._exit(code)

        def change(data: bytes, max_size: int, number: int) -> bytes:
            rng = random.Random(number)
            basis = rng.choice((data, atheris.Mutate(data, len(data)), *seeds))
            return mutate(basis, rng)[:max_size]

        options = [f"-seed={seed + 1}", "-max_len=20000", "-verbosity=0", "-rss_limit_mb=0", str(corpus)]
        atheris.Setup([sys.argv[0], *options], attempt, custom_mutator=change)
        atheris.Fuzz()

    def corpus(self) -> list[bytes]:
        """Return the seed files; at least one target must load each."""
        path = self.folder / "seed.safetensors"
        files = []
        for write in SEEDS:
            write(path)
            files.append(path.read_bytes())
            self.attempt(files[-1])
        return files

    def close(self, seed: int) -> int:
        """Print the outcome; return 1 if there were findings."""
        for finding, path in self.findings.items():
            print(f"{finding}: {path}")
        if not self.findings:
            shutil.rmtree(self.folder)
        print(
            f"fuzz: {self.executions} executions, {self.rejected} rejected, {len(self.findings)} findings, seed {seed}"
        )
        return int(bool(self.findings))


def main() -> int:
    parser = argparse.ArgumentParser(description="Damage model files at random and load them.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("files", nargs="*", type=Path, help="run the targets on these files instead")
    options = parser.parse_args()
    campaign = Campaign(Path(tempfile.mkdtemp(prefix="fuzz-")))
    if options.files:
        for path in options.files:
            campaign.attempt(path.read_bytes())
    elif importlib.util.find_spec("atheris"):
        campaign.run_guided(options.seed, options.seconds)
    else:
        campaign.run(options.seed, options.seconds)
    return campaign.close(options.seed)


if __name__ == "__main__":
    sys.exit(main())
