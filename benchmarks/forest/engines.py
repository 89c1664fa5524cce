"""Engines that run a fitted tree ensemble, each with one thread: its framework, ONNX Runtime, Treelite, anystream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from anystream import AnytimeForestClassifier

Predict = Callable[[Any], Any]
"""Probabilities of records; an engine takes the type of array that suits it, which is prepared outside the timing."""

FORESTS = ("RandomForest", "ExtraTrees", "HistGradientBoosting", "LightGBM")


class NotInstalled(Exception):  # noqa: N818  a row is left out
    """The package of an engine or a model is not installed."""


def fit_forest(name: str, X: Any, y: Any) -> Any:
    """Return a fitted ensemble of 100 trees or rounds."""
    from sklearn import ensemble

    if name == "LightGBM":
        model = _import("lightgbm").LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1, random_state=0)
    elif name == "HistGradientBoosting":
        model = ensemble.HistGradientBoostingClassifier(early_stopping=False, random_state=0)
    else:
        model = getattr(ensemble, f"{name}Classifier")(100, n_jobs=1, random_state=0)
    with threadpool_limits(1):
        return model.fit(X, y)


def make_engines(model: Any, n_features: int) -> tuple[dict[str, tuple[Predict, Any]], list[str]]:
    """Return the engines of a model by name, each with the type of its records, and words about those left out."""
    makers: dict[str, Any] = {_own_name(model): _own, "ONNX Runtime": onnx_runtime, "Treelite GTIL": _treelite}
    found, notes = {}, []
    for name, make in makers.items():
        try:
            found[name] = make(model, n_features)
        except NotInstalled as error:
            notes.append(f"{name} is left out: {error}")
        except Exception as error:  # converters raise anything for models that they do not know
            notes.append(f"{name} is left out: it does not take the model ({type(error).__name__}: {str(error)[:80]})")
    return found, notes


def import_forest(model: Any) -> AnytimeForestClassifier:
    """Return our model of the same forest, with one thread."""
    return AnytimeForestClassifier.from_model(model, n_jobs=1)


def onnx_runtime(model: Any, n_features: int, threads: int = 1) -> tuple[Predict, Any]:
    """Return an engine that runs the model, converted to ONNX; 0 threads are one per core."""
    runtime = _import("onnxruntime")
    if _own_name(model) == "LightGBM":
        kinds = _import("onnxmltools.convert.common.data_types")
        inputs = [("X", kinds.FloatTensorType([None, n_features]))]
        graph = _import("onnxmltools").convert_lightgbm(model, initial_types=inputs, zipmap=False)
    else:
        kinds = _import("skl2onnx.common.data_types")
        inputs = [("X", kinds.FloatTensorType([None, n_features]))]
        graph = _import("skl2onnx").convert_sklearn(model, initial_types=inputs, options={id(model): {"zipmap": False}})
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3  # errors only
    session = runtime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda X: session.run(None, {"X": X})[1], np.float32


def _own_name(model: Any) -> str:
    return "LightGBM" if type(model).__module__.startswith("lightgbm") else "scikit-learn"


def _own(model: Any, n_features: int) -> tuple[Predict, Any]:
    if _own_name(model) == "LightGBM":
        return lambda X: model.booster_.predict(X, num_threads=1), np.float64
    if hasattr(model, "estimators_"):
        return model.predict_proba, np.float32

    def predict(X: Any) -> Any:
        with threadpool_limits(1):
            return model.predict_proba(X)

    return predict, np.float64


def _treelite(model: Any, n_features: int) -> tuple[Predict, Any]:
    treelite = _import("treelite")
    _import("treelite.gtil")
    if _own_name(model) == "LightGBM":
        _import("treelite.frontend")
        loaded = treelite.frontend.from_lightgbm(model.booster_)
    else:
        loaded = _import("treelite.sklearn").import_model(model)
    kind = np.float64 if "float64" in str(loaded.input_type) else np.float32
    return lambda X: treelite.gtil.predict(loaded, X, nthread=1), kind


def _import(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise NotInstalled(f"{name.partition('.')[0]} is not installed; see make bench-peers") from None
