"""ONNX Runtime with one thread: forests of scikit-learn and LightGBM, converted."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxmltools
import onnxruntime
import skl2onnx
from numpy.typing import NDArray
from onnxmltools.convert.common import data_types as onnxmltools_types
from skl2onnx.common import data_types as skl2onnx_types
from sklearn.ensemble import RandomForestClassifier

from anystream.compare.candidate import RowCandidate
from anystream.compare.settings import N_TREES


class OnnxCandidate(RowCandidate):
    """A model that is fitted by its own library and run by ONNX Runtime, in float32."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Fit the model and convert it."""
        self._model.fit(X, y)
        self._session = start_session(self._model, X.shape[1])
        del self._model

    def as_records(self, X: NDArray[np.float64]) -> Any:
        """Return arrays of one row each, in float32."""
        return super().as_records(X.astype(np.float32))

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the label of each record."""
        return np.asarray(self._session.run(None, {"X": X.astype(np.float32, copy=False)})[0], dtype=np.int64)


def start_session(model: Any, n_features: int) -> Any:
    """Return a session that runs a fitted model with one thread."""
    shape = [None, n_features]
    if type(model).__module__.startswith("lightgbm"):
        types = [("X", onnxmltools_types.FloatTensorType(shape))]  # each converter takes its own class only
        graph = onnxmltools.convert_lightgbm(model, initial_types=types, zipmap=False)
    else:
        types = [("X", skl2onnx_types.FloatTensorType(shape))]
        graph = skl2onnx.convert_sklearn(model, initial_types=types, options={id(model): {"zipmap": False}})
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = 1, 1
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _make_lightgbm(n_features: int, n_classes: int, seed: int) -> RowCandidate:
    from anystream.compare.libraries.lightgbm import make_model

    return OnnxCandidate(make_model(seed))


METHODS = {
    f"RandomForest({N_TREES})": lambda n_features, n_classes, seed: OnnxCandidate(
        RandomForestClassifier(N_TREES, random_state=seed)
    ),
    f"LightGBM({N_TREES})": _make_lightgbm,
}
