"""Fit on the parts of a data set, on many processes or machines, and merge the models into one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import Any, Literal, NamedTuple

from sklearn.base import clone

from anystream._native import Counter, StopToken
from anystream.connectors.schema import Schema
from anystream.distributed.backends import open_tasks
from anystream.distributed.parts import ColumnRoles, Part, is_pair, list_parts, read_part
from anystream.distributed.survey import Survey, draw_sample, merge_schemas, survey_part
from anystream.distributed.tasks import Call, TaskBackend, count_merges, merge_in_tree, run_calls
from anystream.progress import run_with_progress

_SAMPLE = 32_000  # records that choices are made on: `BayesTreeClassifier.fit` itself uses no more
_SAMPLE_SHARE = 4  # a part may hold this many times its even share of the sample

Unreadable = Literal["raise", "skip"]


class PartError(ValueError):
    """A part could not be read or fitted; the message names it."""


class FittedParts(NamedTuple):
    """A model of all parts, and where it comes from.

    Parameters
    ----------
    model : anytime classifier
        The model.
    schema : Schema or None
        Columns of the records; None for pairs ``(X, y)``.
    n_records : int
        Number of records.
    skipped : dict of str to str
        Parts that were left out, and why.
    """

    model: Any
    schema: Schema | None
    n_records: int
    skipped: dict[str, str]

    def save(self, path: str | PathLike[str]) -> None:
        """Save the model with its schema, for ``anystream classify``."""
        self.model.save(path, notes={} if self.schema is None else {"schema": self.schema.to_json()})


def fit(estimator: Any, parts: Any, **options: Any) -> Any:
    """Return a model of all parts; parameters as of `fit_parts`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from anystream import BayesTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fit(BayesTreeClassifier(), [(X[::2], y[::2]), (X[1::2], y[1::2])], workers=1)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    return fit_parts(estimator, parts, **options).model


def fit_parts(
    estimator: Any,
    parts: Any,
    *,
    label: str | None = None,
    roles: ColumnRoles | None = None,
    workers: int | None = None,
    on: str | TaskBackend = "local",
    unreadable: Unreadable = "raise",
    retries: int = 3,
    fan_in: int = 8,
    sample: int = _SAMPLE,
    rebuild: bool = True,
    on_schema: Callable[[Schema], None] | None = None,
) -> FittedParts:
    """Fit on each part and merge the models in a fixed tree: the result does not depend on which task ends first.

    Choices that need all of the data (for the Bayes tree the metric, the bandwidth, the decision, the weight of the
    root model and the calibration) are made once, on a sample of all parts, and hold for each of them. The root model
    is trained on the merged trees.

    Parameters
    ----------
    estimator : classifier with `merge`
        Its parameters are used, it does not change. Classifiers that cannot be merged raise TypeError.
    parts : paths, globs, pairs, tables, dataset or references of Ray
        See `list_parts`. CSV, JSON lines, Parquet and Arrow are recognised.
    label : str, optional
        Column of the class label, of tables and files.
    roles : ColumnRoles, optional
        More about the columns; it has the label, too.
    workers : int, optional
        Number of processes; one per core by default. On Ray, the number of CPUs of the cluster decides.
    on : str or TaskBackend, default="local"
        ``"local"`` for processes of this machine, ``"ray"`` for the cluster that this program is connected to, or a new
        one on this machine, ``"ray://host:port"`` for another.
    unreadable : {"raise", "skip"}, default="raise"
        What happens to a part that cannot be read: an error, or a warning, and the model is that of the others.
    retries : int, default=3
        How often a task is run again if its process or node is lost, or a file cannot be opened.
    fan_in : int, default=8
        Maximum number of models that one task merges.
    sample : int, default=32_000
        Number of records that choices are made on.
    rebuild : bool, default=True
        Whether the trees of a Bayes tree are built from the records of all parts at the end, on one machine: the model
        is then that of a fit on the whole. False puts the trees of the parts side by side: nothing is built twice, and
        answers of few steps are coarser. Other classifiers have nothing to build again.
    on_schema : callable, optional
        Called with the schema of tables before anything is fitted; it may set parameters of the estimator.
    """
    _check_mergeable(estimator)
    if unreadable not in ("raise", "skip"):
        raise ValueError(f"unreadable is {unreadable!r}; use raise or skip")
    if retries < 0 or fan_in < 2 or sample < 1:
        raise ValueError(f"retries is {retries}, fan_in {fan_in} and sample {sample}; use at least 0, 2 and 1 of them")
    roles = roles or ColumnRoles(label=label)
    listed = list_parts(parts)
    backend = open_tasks(on, workers)
    try:
        return run_with_progress(
            lambda done, stop: _PartsFit(
                estimator, listed, roles, backend, unreadable, retries, fan_in, sample, rebuild, on_schema, done, stop
            ).run(),
            total=2 * len(listed) + 2 + count_merges(len(listed), fan_in),
            description=f"fitting {len(listed)} part{'s' if len(listed) > 1 else ''}",
        )
    finally:
        backend.close()


class _PartsFit:
    """One fit: survey, choice, models, merges."""

    def __init__(
        self,
        estimator: Any,
        parts: Sequence[Part],
        roles: ColumnRoles,
        backend: TaskBackend,
        unreadable: Unreadable,
        retries: int,
        fan_in: int,
        sample: int,
        rebuild: bool,
        on_schema: Callable[[Schema], None] | None,
        done: Counter,
        stop: StopToken,
    ) -> None:
        self._estimator, self._parts, self._roles, self._backend = estimator, list(parts), roles, backend
        self._unreadable, self._fan_in, self._sample = unreadable, fan_in, sample
        self._rebuild, self._on_schema = rebuild, on_schema
        self._skipped: dict[str, str] = {}
        self._done = done
        self._run_calls = partial(run_calls, backend, retries=retries, done=done, stop=stop)
        self._merge = partial(merge_in_tree, fan_in=fan_in, retries=retries, done=done, stop=stop)

    def run(self) -> FittedParts:
        surveys = self._survey()
        schema = merge_schemas(surveys)
        if schema is not None and self._on_schema is not None:
            self._on_schema(schema)
        drawn = draw_sample(surveys, schema, self._sample)
        choice = self._choose(*drawn)
        models = self._fit(schema, choice)
        handle = self._merge(_merge_models, self._backend, models)
        finished = self._fetch(Call(_finish, (handle, choice)))
        finished.set_params(**self._threads(None))
        return FittedParts(finished, schema, sum(survey.n_records for survey in surveys), self._skipped)

    def _survey(self) -> list[Survey]:
        """Return the surveys of the parts that can be read; the others leave the list of parts."""
        max_sampled = min(self._sample, -(-_SAMPLE_SHARE * self._sample // len(self._parts)))
        calls = [
            Call(survey_part, (part.name, part.content, number, self._roles, max_sampled, 0))
            for number, part in enumerate(self._parts)
        ]
        if all(is_pair(part.content) for part in self._parts):  # they are here: reading them elsewhere takes longer
            self._done.add(len(calls))
            return [call.function(*call.args) for call in calls]
        found = self._keep_readable(self._run_calls(calls))
        return [self._backend.fetch(handle) for handle in found]

    def _choose(self, X: Any, y: Any) -> Any:
        estimator = clone(self._estimator)
        return self._fetch(Call(_choose, (estimator, X, y, self._rebuild)))

    def _fit(self, schema: Schema | None, choice: Any) -> list[Any]:
        estimator = clone(self._estimator).set_params(
            **self._threads(max(1, (os.cpu_count() or 1) // self._backend.n_workers))
        )
        calls = [
            Call(_fit_part, (estimator, part.name, part.content, schema, self._roles, choice)) for part in self._parts
        ]
        return self._keep_readable(self._run_calls(calls))

    def _keep_readable(self, found: list[Any]) -> list[Any]:
        """Return the results; name the parts that have none, and leave them out if that is wanted."""
        kept, results = [], []
        for part, result in zip(self._parts, found, strict=True):
            if not isinstance(result, BaseException):
                kept.append(part)
                results.append(result)
                continue
            reason = _describe(part.name, result)
            if self._unreadable == "raise" or not isinstance(result, ValueError | OSError | TypeError):
                raise PartError(f"{reason}; leave it out, or pass unreadable='skip'") from result
            self._skipped[part.name] = reason
            warnings.warn(f"left out: {reason}", RuntimeWarning, stacklevel=2)
        if not kept:
            raise PartError(f"no part could be read; the first: {next(iter(self._skipped.values()))}")
        self._parts = kept
        return results

    def _fetch(self, call: Call) -> Any:
        handle = self._run_calls([call])[0]
        if isinstance(handle, BaseException):
            raise handle
        return self._backend.fetch(handle)

    def _threads(self, n_jobs: int | None) -> dict[str, Any]:
        """Return the parameter for a number of threads; None for that of the estimator."""
        parameters = self._estimator.get_params(deep=False)
        if "n_jobs" not in parameters:
            return {}
        return {"n_jobs": parameters["n_jobs"] if n_jobs is None or parameters["n_jobs"] is not None else n_jobs}


def _check_mergeable(estimator: Any) -> None:
    if hasattr(type(estimator), "merge_states") and getattr(estimator, "mergeable_parts", "any") != "none":
        return
    reason = "cannot be merged from models of parts; fit it on the whole, or use one of"
    names = "BayesTreeClassifier, AnytimeNeighborsClassifier, LocustClassifier, MicroClusterClassifier, KAOGClassifier"
    raise TypeError(f"{type(estimator).__name__} {reason} {names}")


def _describe(name: str, error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text if name in text else f"{name}: {text}"


# -- tasks -------------------------------------------------------------------------------------------------------------


def _choose(estimator: Any, X: Any, y: Any, rebuild: bool) -> Any:
    return estimator.choose_for_parts(X, y, rebuild=rebuild)


def _fit_part(estimator: Any, name: str, content: Any, schema: Schema | None, roles: ColumnRoles, choice: Any) -> Any:
    X, y = read_part(name, content, schema, roles)
    return estimator.fit_part(X, y, choice)


def _merge_models(*models: Any) -> Any:
    return type(models[0]).merge(models)


def _finish(model: Any, choice: Any) -> Any:
    model.finish_parts(choice)
    return model
