"""The native core of anystream."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


class ModelFileError(ValueError):
    """
    A file is not a model that can be used; the message describes the fault and what to do.
    """

class BuildStopped(RuntimeError):
    """Building was stopped by its StopToken."""

class StopToken:
    """
    A flag that stops work in progress: pass it to a Budget, set it from any thread.
    """

    def __init__(self) -> None: ...

    def set(self) -> None:
        """Stop the work that polls this token."""

    def clear(self) -> None:
        """Reset the token, so that it can be used again."""

    def is_set(self) -> bool:
        """Whether the token was set."""

class Counter:
    """The progress of some work."""

    def __init__(self) -> None: ...

    def add(self, more: int = 1) -> None:
        """Add to the count."""

    @property
    def value(self) -> int: ...

isa: str

def thread_count(requested: int = 0) -> int:
    """The number of threads to use for a request; 0 is one per core."""

class MappingGuard:
    """
    Replaces pages of a mapping that cannot be read, such as those of a truncated file, by zeros, instead of ending the process.
    """

    def __init__(self, mapping: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Guard all bytes of a mapping, from its first page."""

    @property
    def lost(self) -> bool:
        """Whether a page was replaced."""

class Calibration:
    """Sharpness and floor of probabilities by the number of steps taken."""

    def __init__(self, steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], log_sharpness: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], floor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def apply(self, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], taken: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Calibrate the probabilities of records, in place."""

class BayesFirstLook:
    """A linear discriminant over the features of a record and their squares."""

    def __init__(self, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], square_mean: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], sharpness: float = 1.0, floor: float = 0.0) -> None: ...

    def scores(self, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        log2 of the joint densities of records and classes, up to a number per record.
        """

class BayesMetric:
    """
    A map of records: each feature along its curve, shifted, then a linear map.
    """

    def __init__(self, shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], knots: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], matrix: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def apply(self, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Records in its space."""

def neighbour_gradient(z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
    """
    Mean log share of the own class among the neighbours of each row under weighted distances; `gradient` receives
    its derivatives by the log weights.
    """

class BayesQuerySettings:
    """How queries descend and decide."""

    def __init__(self, descent: str, decision: str, refined_classes: int, root_weight: float = 0.0, certify: bool = False, hand_over: Sequence[float] = []) -> None: ...

class BayesQuery:
    """One classification in progress."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: no limit); return their number."""

    def label(self) -> int:
        """The number of the likeliest class."""

    def proba(self, calibration: Calibration | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The probabilities of the classes."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    @property
    def certified(self) -> bool:
        """Whether no further step can change the label."""

    def state(self) -> bytes:
        """Everything needed to resume the query later, as bytes."""

    def record(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The record, mapped and standardised."""

    def frontier(self) -> list[tuple[int, int, float]]:
        """Rows (class, node or -1 for a kernel, log2 of n_e g_e)."""

    def proba_bounds(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """
        Lower and upper bounds of the probabilities after all steps, class by class.
        """

class BayesForestSettings:
    """How a forest turns records into Gaussians."""

    def __init__(self, fanout: int, bandwidth: str, alpha: float, inner_variance: str, covariance_block: int = 1, covariance_levels: int = 2, common_scale: bool = False, window: int = 0, insertion: str = 'nearest_mean', class_weights: Sequence[float] = [], covariance_shrinkage: float = 1.0, covariance_min_records: float = 2.0) -> None: ...

class BayesForest:
    """
    One Bayes tree per class. Many threads may classify while one learns.

    All calls that classify take raw records, and the metric that the records
    which the trees were built from had been mapped with, if there is one. With a
    first look, its answer comes before the first step.
    """

    @staticmethod
    def build(settings: BayesForestSettings, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], point_class: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, construction: str = 'em_top_down', threads: int = 0, seed: int = 0, placed: Counter | None = None, stop: StopToken | None = None, sample: int | None = 2000, window: int | None = 512, tolerance: float = 0.01) -> BayesForest:
        """
        Build the trees of all records at once. em_top_down alone reads `sample`, goldberger and
        virtual_sampling alone `window`, the latter alone `tolerance`.
        """

    @staticmethod
    def empty(settings: BayesForestSettings, dimensions: int) -> BayesForest:
        """A forest without records."""

    def with_settings(self, settings: BayesForestSettings) -> BayesForest:
        """
        The same trees of the same records with Gaussians by other settings, without a root model. Fanout, window,
        insertion and scale have to be the same.
        """

    @staticmethod
    def merge(parts: Sequence[BayesForest], class_maps: Sequence[Sequence[int]], classes: int) -> BayesForest:
        """One forest of the records of all parts."""

    def insert(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], point_class: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, owner: dict = {}, attributes: dict = {}) -> None:
        """
        Add records one by one, all or none. There are `classes` classes from then on; `attributes` are set in `owner`, the __dict__ of the classifier, together with the change.
        """

    def add_features(self, dimensions: int) -> None:
        """Add features that are missing in all records so far."""

    def maximise_margin(self, levels: int, kappa: float, lambda_: float, iterations: int = 30, weights: bool = False, min_records: float = 10.0, floor: bool = True, threads: int = 0, stop: StopToken | None = None, done: Counter | None = None) -> list[list[float]]:
        """
        Margin maximisation of the upper levels, one after the other; the objectives of each from its start on. `done` counts iterations as they start.
        """

    def train_root_model(self, kappa: float, lambda_: float, max_records: int, iterations: int = 30, seed: int = 0, threads: int = 0, stop: StopToken | None = None, done: Counter | None = None) -> list[float]:
        """
        Train the model of the roots that votes beside the trees; its objectives from the start on. `done` counts iterations as they start.
        """

    @property
    def has_root_model(self) -> bool:
        """
        Whether the model of the roots was trained on the present classes and features.
        """

    @staticmethod
    def from_arrays(settings: BayesForestSettings, dimensions: int, arrays: dict, whole: bool) -> BayesForest:
        """
        A forest over borrowed arrays. With `whole` every index is checked now, else when it is used.
        """

    def arrays(self) -> dict:
        """Every array of the forest, by name, read-only."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    def snapshot(self) -> BayesForest:
        """A handle on the present forest, which later learning does not change."""

    def entries(self) -> dict:
        """
        The entries of all nodes, node by node, as arrays by name: `first` (nodes + 1), `node`, `child` (>= 0: a
        node, else ~record) and `offset`, the index of the child in the array `blob`.
        """

    def node_gaussians(self, node: int) -> tuple:
        """
        Means and precisions (1 / sigma) of a node's entries, standardised, each (entries, dimensions), flat.
        """

    @property
    def dimensions(self) -> int: ...

    @property
    def classes(self) -> int: ...

    @property
    def records(self) -> int: ...

    @property
    def nodes(self) -> int: ...

    @property
    def own_bytes(self) -> int:
        """Bytes of memory held; bytes of a mapped file are not counted."""

    def query(self, settings: BayesQuerySettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], metric: BayesMetric | None = None, look: BayesFirstLook | None = None) -> BayesQuery:
        """Open a query on a record."""

    def resume(self, state: bytes) -> BayesQuery:
        """Resume a suspended query."""

    def label_one(self, settings: BayesQuerySettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int, metric: BayesMetric | None = None, look: BayesFirstLook | None = None) -> int:
        """The number of one record's likeliest class."""

    def proba_one(self, settings: BayesQuerySettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int, metric: BayesMetric | None = None, calibration: Calibration | None = None, look: BayesFirstLook | None = None) -> list[float]:
        """One record's probabilities."""

    def answer(self, settings: BayesQuerySettings, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, nanoseconds: int, stop: StopToken | None, threads: int, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], taken: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], marks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], metric: BayesMetric | None = None, calibration: Calibration | None = None, look: BayesFirstLook | None = None) -> None:
        """Classify every record within the limits."""

    def answer_in_stages(self, settings: BayesQuerySettings, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], metric: BayesMetric | None = None, calibration: Calibration | None = None, look: BayesFirstLook | None = None) -> None:
        """
        Probabilities after each of the ascending numbers of steps: (records, stages, classes).
        """

    def log2_scores_in_stages(self, settings: BayesQuerySettings, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], votes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], exhausted: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], metric: BayesMetric | None = None) -> None:
        """
        log2 of the scores of the trees alone after each of the ascending numbers of steps, (records, stages,
        classes); the votes of the root model, 0 if it has none; and whether no step is left, (records, stages).
        """

    def label_in_stages(self, settings: BayesQuerySettings, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], metric: BayesMetric | None = None) -> None:
        """
        Class numbers after each of the ascending numbers of steps: (records, stages).
        """

def bayes_densities(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], precision: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], log2_norm: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], log2_count: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], log2_density: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], log2_value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    The log2 densities of a node's entries, or with a single norm of a class's kernels; for tests.
    """

def bayes_box_exponents(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], precision: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scatter: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], share: float) -> tuple[float, float, float, float]:
    """Bounds on the exponents of a cloud of records; for tests."""

def powers_of_two(log2_value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], origin: float, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """2^(log2_value - origin), for tests."""

def bayes_sum_powers(log2_value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], origin: float, count: int) -> tuple[float, int]:
    """
    The sum of 2^(log2_value - origin) over the first values, and its flags; for tests.
    """

def bayes_leaf_sum(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], precision: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], log2_norm: float, count: int, origin: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> tuple[float, int]:
    """
    The log2 densities of a leaf's kernels, the sum of 2^(density - origin) over the first, and its flags; for tests.
    """

def bayes_fill_group(log2_density: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], log2_value: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], count: int, origin: float, nodes: int, by_density: bool, step: int) -> tuple[float, int, Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')]]:
    """
    The sum of the children's values, its flags, and keys, values, log2 values and nodes of their group; for tests.
    """

def bayes_take_keys(key: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], node: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
    """The lanes of a group in the order in which they are taken; for tests."""

def bayes_highest_classes(key: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], count: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')]:
    """The classes of the highest keys, the highest first; for tests."""

def build_shape(method: str, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], *, fanout: int, seed: int = 0, threads: int = 1, sample_size: int = 2000, window: int | None = 512, tolerance: float = 0.01, kernel_variance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, progress: Counter | None = None, stop: StopToken | None = None) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')]]:
    """
    The tree of one class's records, as (first_entry, entry): node i owns entry[first_entry[i]:first_entry[i + 1]],
    where a number >= 0 is a child node and ~entry a record.

    `method` is em_top_down (which alone reads `seed` and `sample_size`), goldberger or virtual_sampling (which
    alone read `kernel_variance` and `window`, the latter `tolerance` too), hilbert, z_curve, str_packing or guttman. `progress` counts the records placed;
    setting `stop` ends the work with BuildStopped.
    """

class LocustSamplingSettings:
    """When a query is exhausted."""

    def __init__(self, max_samples: int, error: float) -> None: ...

class LocustLevelsSettings:
    """How levels store points and vote."""

    def __init__(self, n_levels: int, level_size: int, stride: int, n_ranges: int, support: int, smoothing: float, kernel: float, affinity: float, class_floor: int, label_delay: int, max_bytes: int, seed: int, categorical: Sequence[int]) -> None: ...

class LocustLevelsQuery:
    """One classification in progress."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: no limit); return their number."""

    def label(self) -> int:
        """The number of the likeliest class."""

    def proba(self, calibration: Calibration | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The probabilities of the classes."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    @property
    def certified(self) -> bool:
        """Whether no further step can change the label."""

    def state(self) -> bytes:
        """Everything needed to resume the query later, as bytes."""

class LocustLevels:
    """Levels of points. Many threads may classify while one learns."""

    def learn(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, owner: dict = {}, attributes: dict = {}, threads: int = 1) -> None:
        """
        Learn points one after another, all or none. There are `classes` classes from then on; `attributes` are set in `owner`, the __dict__ of the classifier, together with the change.
        """

    def snapshot(self) -> LocustLevels:
        """
        A handle on the present model, which later learning does not change; both share it until one of them learns.
        """

    def query(self, settings: LocustSamplingSettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> LocustLevelsQuery:
        """Open a query."""

    def resume(self, state: bytes) -> LocustLevelsQuery:
        """Resume a suspended query."""

    def label_one(self, settings: LocustSamplingSettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int) -> int:
        """The number of one record's likeliest class."""

    def proba_one(self, settings: LocustSamplingSettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int, calibration: Calibration | None = None) -> list[float]:
        """One record's probabilities."""

    def answer(self, settings: LocustSamplingSettings, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, nanoseconds: int, stop: StopToken | None, threads: int, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], taken: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], marks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """Classify every record within the limits."""

    def answer_in_stages(self, settings: LocustSamplingSettings, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """
        Probabilities after each of the ascending numbers of steps: (records, stages, classes).
        """

    @property
    def dimensions(self) -> int: ...

    @property
    def classes(self) -> int: ...

    @property
    def own_bytes(self) -> int:
        """Bytes of memory held."""

    @staticmethod
    def empty(settings: LocustLevelsSettings, dimensions: int) -> LocustLevels:
        """A model without points."""

    @staticmethod
    def from_arrays(settings: LocustLevelsSettings, dimensions: int, classes: int, arrays: dict) -> LocustLevels:
        """A model from the arrays of another."""

    def arrays(self) -> dict:
        """Everything learned, as arrays by name."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @staticmethod
    def merge(parts: Sequence[LocustLevels], class_maps: Sequence[Sequence[int]], classes: int) -> LocustLevels:
        """One model of all parts."""

    @property
    def seen(self) -> int:
        """Points learned so far."""

    def add_features(self, dimensions: int, categorical: Sequence[int]) -> None:
        """Add features that are missing in all points so far."""

    @property
    def level_weights(self) -> list[float]:
        """The trust in each level; the weights add up to 1."""

    @property
    def level_sizes(self) -> list[int]:
        """The number of points of each level."""

class LocustBlocksSettings:
    """How blocks store points."""

    def __init__(self, block_size: int, n_ranges: int, decay: float, max_blocks: int, build_within: int, max_bytes: int, seed: int, categorical: Sequence[int]) -> None: ...

class LocustBlockSampling:
    """How samples are drawn and vote, and when a query is exhausted."""

    def __init__(self, power: float, adaptive: bool, significance: float, min_points: int, dominant: str, votes: str, failed: str, empty: str, max_samples: int, error: float) -> None: ...

class LocustBlocksQuery:
    """One classification in progress."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: no limit); return their number."""

    def label(self) -> int:
        """The number of the likeliest class."""

    def proba(self, calibration: Calibration | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The probabilities of the classes."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    @property
    def certified(self) -> bool:
        """Whether no further step can change the label."""

    def state(self) -> bytes:
        """Everything needed to resume the query later, as bytes."""

class LocustBlocks:
    """Blocks of points. Many threads may classify while one learns."""

    def learn(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, owner: dict = {}, attributes: dict = {}) -> None:
        """
        Learn points one after another, all or none. There are `classes` classes from then on; `attributes` are set in `owner`, the __dict__ of the classifier, together with the change.
        """

    def snapshot(self) -> LocustBlocks:
        """
        A handle on the present model, which later learning does not change; both share it until one of them learns.
        """

    def query(self, settings: LocustBlockSampling, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> LocustBlocksQuery:
        """Open a query."""

    def resume(self, state: bytes) -> LocustBlocksQuery:
        """Resume a suspended query."""

    def label_one(self, settings: LocustBlockSampling, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int) -> int:
        """The number of one record's likeliest class."""

    def proba_one(self, settings: LocustBlockSampling, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int, calibration: Calibration | None = None) -> list[float]:
        """One record's probabilities."""

    def answer(self, settings: LocustBlockSampling, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, nanoseconds: int, stop: StopToken | None, threads: int, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], taken: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], marks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """Classify every record within the limits."""

    def answer_in_stages(self, settings: LocustBlockSampling, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """
        Probabilities after each of the ascending numbers of steps: (records, stages, classes).
        """

    @property
    def dimensions(self) -> int: ...

    @property
    def classes(self) -> int: ...

    @property
    def own_bytes(self) -> int:
        """Bytes of memory held."""

    @staticmethod
    def empty(settings: LocustBlocksSettings, dimensions: int) -> LocustBlocks:
        """A model without points."""

    @staticmethod
    def from_arrays(settings: LocustBlocksSettings, dimensions: int, classes: int, arrays: dict) -> LocustBlocks:
        """A model from the arrays of another."""

    def arrays(self) -> dict:
        """Everything learned, as arrays by name."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @staticmethod
    def merge(parts: Sequence[LocustBlocks], class_maps: Sequence[Sequence[int]], classes: int) -> LocustBlocks:
        """One model of all parts."""

    @property
    def seen(self) -> int:
        """Points learned so far."""

    def add_features(self, dimensions: int, categorical: Sequence[int]) -> None:
        """Add features that are missing in all points so far."""

    def finish_building(self) -> None:
        """End the building of a block at once."""

    @property
    def is_building(self) -> bool:
        """Whether a block is being built."""

    @property
    def block_sizes(self) -> list[int]:
        """The number of points of each block, the newest last."""

def locust_distances(query: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], unrelated: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], points: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_word: int, max_points: int) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C')]]:
    """
    The points found from a word on, and how far their codes are from the query's. For tests.
    """

def locust_intersect(a: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int, int, bool]:
    """
    out = a & b; its bits, the same without writing, the bits of a, whether a exceeds b. For tests.
    """

def locust_ranges(column: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_ranges: int, categorical: bool) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C')]]:
    """The cuts of a column and its codes, for tests."""

def locust_floats(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> bool:
    """
    Values in single precision; returns whether none is infinite. For tests.
    """

def locust_codes(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """The number of limits below each value, for tests."""

def locust_extremes(values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], lowest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], highest: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], inner: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Extremes of columns, and whether there are values between them; for tests.
    """

def locust_renew_word(rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], count: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], class_count: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu')], before: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], after: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
    """
    Bring lists of at most 64 points up to date with their codes, for tests.
    """

def locust_weights(count: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], class_count: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], points: float, lists: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """The weights of lists in draws, for tests."""

def locust_rank(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], at: float) -> int:
    """The number of values that are at most `at`, for tests."""

def locust_differs(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], expected: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool:
    """Whether a known value is not the expected one, for tests."""

def locust_differing(a: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
    """A bit per byte, set where they differ; for tests."""

class MicroClusterSettings:
    """How micro-clusters grow, are removed and are stored in snapshots."""

    def __init__(self, n_clusters: int, boundary: float, stale_after: int, snapshot_every: int, snapshots_per_order: int, choose_every: int, choose_within: int, hold_back: int, standardise: bool) -> None: ...

class MicroClusterQuerySettings:
    """Queries on micro-clusters have no settings."""

    def __init__(self) -> None: ...

class MicroClusterQuery:
    """One classification in progress."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: no limit); return their number."""

    def label(self) -> int:
        """The number of the likeliest class."""

    def proba(self, calibration: Calibration | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The probabilities of the classes."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    @property
    def certified(self) -> bool:
        """Whether no further step can change the label."""

    def state(self) -> bytes:
        """Everything needed to resume the query later, as bytes."""

class MicroClusters:
    """Supervised micro-clusters. Many threads may classify while one learns."""

    def learn(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, owner: dict = {}, attributes: dict = {}) -> None:
        """
        Learn points one after another, all or none. There are `classes` classes from then on; `attributes` are set in `owner`, the __dict__ of the classifier, together with the change.
        """

    def snapshot(self) -> MicroClusters:
        """
        A handle on the present model, which later learning does not change; both share it until one of them learns.
        """

    def query(self, settings: MicroClusterQuerySettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> MicroClusterQuery:
        """Open a query."""

    def resume(self, state: bytes) -> MicroClusterQuery:
        """Resume a suspended query."""

    def label_one(self, settings: MicroClusterQuerySettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int) -> int:
        """The number of one record's likeliest class."""

    def proba_one(self, settings: MicroClusterQuerySettings, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int, calibration: Calibration | None = None) -> list[float]:
        """One record's probabilities."""

    def answer(self, settings: MicroClusterQuerySettings, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, nanoseconds: int, stop: StopToken | None, threads: int, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], taken: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], marks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """Classify every record within the limits."""

    def answer_in_stages(self, settings: MicroClusterQuerySettings, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """
        Probabilities after each of the ascending numbers of steps: (records, stages, classes).
        """

    @property
    def dimensions(self) -> int: ...

    @property
    def classes(self) -> int: ...

    @property
    def own_bytes(self) -> int:
        """Bytes of memory held."""

    @staticmethod
    def empty(settings: MicroClusterSettings, dimensions: int) -> MicroClusters:
        """A model without points."""

    @staticmethod
    def from_arrays(settings: MicroClusterSettings, dimensions: int, classes: int, arrays: dict) -> MicroClusters:
        """A model from the arrays of another."""

    def arrays(self) -> dict:
        """Everything learned, as arrays by name."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    @staticmethod
    def merge(parts: Sequence[MicroClusters], class_maps: Sequence[Sequence[int]], classes: int) -> MicroClusters:
        """One model of all parts."""

    @property
    def seen(self) -> int:
        """Points learned so far."""

    def add_features(self, dimensions: int) -> None:
        """Add features that are missing in all points so far."""

    @property
    def n_clusters(self) -> int:
        """Clusters now."""

    @property
    def horizon_points(self) -> int:
        """Points since the beginning of the chosen horizon."""

    @property
    def distances(self) -> int:
        """
        Distances computed to learn, since the model was made or loaded: a measure of the work.
        """

def microcluster_distance(x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], centroid: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> float:
    """The squared distance where both are numbers, for tests."""

def search_blocks(covariance: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], max_block: int) -> tuple[list[int], list[int]]:
    """
    Blocks of dimensions by hill climbing on the likelihood: (order, first); block b is order[first[b]:first[b + 1]].
    """

def block_log2_density(points: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], covariance: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], max_block: int, together: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    log2 densities as queries compute them, for so many entries at once; for tests.
    """

def static_mixture(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, components: int, threads: int = 0) -> tuple:
    """
    A mixture of diagonal Gaussians per class by EM: (class, weight, mean, variance, occupancy), flat.
    """

def maximise_margin(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], component_class: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], covariance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], occupancy: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], floor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], kappa: float, lambda_: float, iterations: int, weights: bool, threads: int = 0) -> tuple:
    """
    Margin maximisation by extended Baum-Welch: ((class, weight, mean, covariance, occupancy), objectives).
    """

def margin_sums(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], component_class: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], covariance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], kappa: float, lambda_: float) -> tuple:
    """
    The objective F and the sums C, M and S (lower triangles) that its gradient is made of, for tests.
    """

class BlockStore:
    """Vectors in blocks of 16. Reads may run concurrently, changes may not."""

    def __init__(self, dimensions: int, norm: str = 'euclidean', categorical: int = 0) -> None: ...

    def __len__(self) -> int: ...

    def assign(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Replace all vectors."""

    def append(self, row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Add one vector at the end."""

    def swap_remove(self, i: int) -> None:
        """Remove vector i: the last vector takes its position."""

    def nearest(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int = 1, first: int = 0, last: int = 18446744073709551615) -> tuple:
        """
        Positions and distances of the k nearest at positions first to last - 1, nearest first.
        """

    def all_nearest(self, k: int, threads: int, position: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], distance: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], done: Counter | None = None, stop: StopToken | None = None) -> None:
        """
        The k nearest others of every vector; -1 and infinity where there are fewer.
        """

class NeighborsMetric:
    """A distance by name, and its parameters."""

    def __init__(self, name: str, width: int, categorical: int = 0, band: int = 0) -> None: ...

    @property
    def width(self) -> int: ...

def neighbors_order(name: str, metric: NeighborsMetric, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, threads: int = 0, seed: int = 0, done: Counter | None = None, stop: StopToken | None = None, compared: Counter | None = None) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
    """
    The order in which exemplars are compared, as indices. `compared` counts the pairs that SimpleRank and
    DROP compare after the first lists of neighbours were made.
    """

def neighbors_order_of_distances(name: str, distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, threads: int = 0, seed: int = 0, done: Counter | None = None, stop: StopToken | None = None) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
    """The order of exemplars whose distances are known."""

class NeighborsQuery:
    """One classification in progress."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: no limit); return their number."""

    def label(self) -> int:
        """The number of the likeliest class."""

    def proba(self, calibration: Calibration | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The probabilities of the classes."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    @property
    def certified(self) -> bool:
        """Whether no further step can change the label."""

    def state(self) -> tuple:
        """
        The nearest, its distance and the position; more with lists or where several vote.
        """

    def nearest(self) -> list[tuple[int, float]]:
        """Serials and distances of the nearest so far."""

class NeighborsGallery:
    """
    Exemplars in the order of visits. Many threads may classify while one learns.
    """

    @staticmethod
    def build(metric: NeighborsMetric, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], serials: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, capacity: int, lists: bool, threads: int) -> NeighborsGallery:
        """
        The records named by `order`, in that order; with `lists` the first ones become centres of lists.
        """

    def insert(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, owner: dict = {}, attributes: dict = {}) -> None:
        """
        Learn records one by one, all or none: each is placed in the order. There are `classes` classes from then on; `attributes` are set in `owner`, the __dict__ of the classifier, together with the change.
        """

    def add_features(self, width: int) -> None:
        """Add features that are missing in all exemplars so far."""

    @staticmethod
    def from_arrays(metric: NeighborsMetric, classes: int, capacity: int, arrays: dict) -> NeighborsGallery:
        """A gallery over borrowed arrays, checked."""

    def arrays(self) -> dict:
        """Every array, by name, read-only."""

    def __getstate__(self) -> tuple: ...

    def __setstate__(self, arg: tuple, /) -> None: ...

    def snapshot(self) -> NeighborsGallery:
        """
        A handle on the present exemplars, which later learning does not change; both share them until one of
        them learns.
        """

    def labels(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')]:
        """Class numbers by position."""

    @property
    def width(self) -> int: ...

    @property
    def classes(self) -> int: ...

    @property
    def capacity(self) -> int: ...

    @property
    def setup(self) -> int: ...

    def __len__(self) -> int: ...

    @property
    def positions(self) -> int:
        """
        Exemplars, including evicted ones that still have a position in a list.
        """

    @property
    def oldest(self) -> int:
        """The serial before which all exemplars were evicted."""

    @property
    def own_bytes(self) -> int:
        """Bytes of memory held; bytes of a mapped file are not counted."""

    def query(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> NeighborsQuery:
        """Open a query: the first exemplar of each class is compared."""

    def resume(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, state: tuple) -> NeighborsQuery:
        """Resume a suspended query."""

    def label_one(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, steps: int) -> int:
        """The number of one record's likeliest class."""

    def proba_one(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, steps: int, calibration: Calibration | None = None) -> list[float]:
        """One record's shares of the votes."""

    def answer(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, steps: int, nanoseconds: int, stop: StopToken | None, threads: int, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], taken: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], marks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """Classify every record within the limits."""

    def answer_in_stages(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """
        Probabilities after each of the ascending numbers of steps: (records, stages, classes).
        """

    def leave_one_out(self, k: int, stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Labels of the exemplars themselves, by position, each left out of its own query.
        """

def optimal_graph(points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], max_k: int, threads: int = 0, done: Counter | None = None, stop: StopToken | None = None) -> tuple:
    """
    The K-associated optimal graph: component of each point; K, edges and vertices of each component.
    """

class Points:
    """Points to search. Immutable: many threads may use it."""

    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def find_nearest(self, queries: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], k: int, threads: int, out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Write the positions of the k nearest points of every query, nearest first, the lower position first among equals.
        """

class GraphQuery:
    """One classification in progress."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: no limit); return their number."""

    def label(self) -> int:
        """The number of the likeliest class."""

    def proba(self, calibration: Calibration | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The probabilities of the classes."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    @property
    def certified(self) -> bool:
        """Whether no further step can change the label."""

    def record(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The record to classify."""

    def nearest(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]:
        """The nearest vertices so far, nearest first."""

class GraphPart:
    """Components to add to a graph, prepared in a few steps."""

    def advance(self) -> bool:
        """Take one step; return False, without one, if none is left."""

class AssociatedGraph:
    """Components to classify by. Immutable: many threads may use it."""

    def __init__(self, scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, min_k: int = 1) -> None: ...

    def with_part(self, min_k: int, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], component: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], purity: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> AssociatedGraph:
        """Another graph with further vertices, behind those that are here."""

    def begin_part(self, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], component: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], purity: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> GraphPart:
        """Check further vertices and prepare to add them to this graph."""

    def with_built_part(self, min_k: int, part: GraphPart) -> AssociatedGraph:
        """
        Another graph with the vertices of a part that was begun here; take the steps that are left.
        """

    def with_classes(self, classes: int) -> AssociatedGraph:
        """Another graph that has more classes."""

    def with_moments(self, mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], variance: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> AssociatedGraph:
        """Another graph that is decided by one Gaussian per class."""

    def query(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> GraphQuery:
        """Open a query: the representatives of the cells are compared."""

    def label_one(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int) -> int:
        """The number of one record's likeliest class."""

    def proba_one(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int, calibration: Calibration | None = None) -> list[float]:
        """One record's probabilities."""

    def answer(self, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, nanoseconds: int, stop: StopToken | None, threads: int, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], taken: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], marks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """Classify every record within the limits."""

    def answer_in_stages(self, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], calibration: Calibration | None = None) -> None:
        """
        Probabilities after each of the ascending numbers of steps: (records, stages, classes).
        """

    def __deepcopy__(self, memo: object) -> object:
        """The graph itself, which is immutable."""

    @property
    def classes(self) -> int: ...

    @property
    def vertices(self) -> int: ...

    @property
    def own_bytes(self) -> int: ...

def learn_moments(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], observed: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], scatter: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Add records to the counts, means and scatters of their classes, in place.
    """

def moments_proba(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], smoothing: float, count: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], observed: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scatter: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """Probabilities of the classes for each row, by Gaussian naive Bayes."""

def learn_moments_of_all(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], observed: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], scatter: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """Add records to the moments of every expert, in place."""

def predict_moments_of_all(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], smoothing: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], count: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], observed: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], scatter: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    The most probable class of each row for every expert, by Gaussian naive Bayes.
    """

def grow_splits(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], min_side: int, min_records: int, n_features: int, min_gain: float) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]]:
    """
    A tree of splits that pay: feature (-1 for a leaf), threshold, gain, left, right, begin and end of each node's records in the last array, which is the order of the rows.
    """

def tree_leaves(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """The number of the leaf that each row reaches."""

class DecisionForestQuery:
    """One classification in progress."""

    def refine(self, steps: int = -1, nanoseconds: int = -1, stop: StopToken | None = None) -> int:
        """Take steps within the limits (-1: no limit); return their number."""

    def label(self) -> int:
        """The number of the likeliest class."""

    def proba(self, calibration: Calibration | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')]:
        """The probabilities of the classes."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def exhausted(self) -> bool:
        """Whether no step is left."""

    @property
    def certified(self) -> bool:
        """Whether no further step can change the label."""

    def state(self) -> bytes:
        """Everything needed to resume the query later, as bytes."""

    @property
    def confident(self) -> bool:
        """Whether the lead of a class ended the work."""

class DecisionForest:
    """An ensemble of trees. Immutable: many threads may use it."""

    def __init__(self, arrays: dict, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], expected: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], stop_margin: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, features: int, classes: int, link: str, scale: float, label_from_scores: bool, zero_is_positive: bool, divisor: float, min_category: float, single_records: bool, single_sums: bool, accepts_missing: bool) -> None: ...

    def query(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> DecisionForestQuery:
        """Open a query: every tree is at its root."""

    def resume(self, state: bytes) -> DecisionForestQuery:
        """Continue a query from its state."""

    def label_one(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int) -> int:
        """The number of one record's likeliest class."""

    def proba_one(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int) -> list[float]:
        """One record's probabilities."""

    def fill_proba(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: int, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Write one record's probabilities into one row."""

    def answer(self, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, nanoseconds: int, stop: StopToken | None, threads: int, proba: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], taken: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], marks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Classify every record within the limits."""

    def trace_leads(self, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int, lead: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], first: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        The lead of the first class and its number after every number of trees.
        """

    def answer_in_stages(self, records: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], stages: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """
        Probabilities after each of the ascending numbers of steps: (records, stages, classes).
        """

    def __deepcopy__(self, memo: object) -> object:
        """The forest itself, which is immutable."""

    @property
    def classes(self) -> int: ...

    @property
    def max_steps(self) -> int: ...

    @property
    def own_bytes(self) -> int: ...

def read_number_lines(text: bytes, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], delimiter: str, columns: int, number_places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], text_places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], text_starts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], text_ends: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> int:
    """
    Read lines until one is not plain: right number of cells, no quotes, decimals below 2^53 or nothing. Return how many were.
    """

def read_json_lines(text: bytes, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], number_names: Sequence[str], text_names: Sequence[str], n_required: int, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], text_starts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], text_ends: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], text_kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')]) -> tuple:
    """
    Read lines until one is not plain: an object without nested values, escapes or equal names, with the first n_required numbers. Return how many were, and the names that were found.
    """

def format_answers(keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], key_texts: bytes, key_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_texts: bytes, label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], confidence: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], flags: Sequence[Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]], between: Sequence[str], yes: str, no: str) -> bytes:
    """
    Return one line per answer: key, label, confidence, steps and flags, each after its separator.
    """
