"""The forest of the peers as a file: in ONNX Runtime where it is installed, otherwise in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Predict = Callable[[Any], Any]


def save_forest(model: Any, n_features: int, folder: Path) -> Path:
    """Save a fitted forest of scikit-learn; return the path."""
    try:
        import onnxruntime  # noqa: F401  what reads it
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import FloatTensorType
    except ImportError:
        import joblib

        path = folder / "forest.joblib"
        joblib.dump(model, path)
        return path
    path = folder / "forest.onnx"
    inputs = [("X", FloatTensorType([None, n_features]))]
    path.write_bytes(
        convert_sklearn(model, initial_types=inputs, options={id(model): {"zipmap": False}}).SerializeToString()
    )
    return path


def load_forest(path: str | Path) -> Predict:
    """Return a function from records to labels, with one thread."""
    if Path(path).suffix == ".joblib":
        import joblib

        return joblib.load(path).predict  # type: ignore[no-any-return]
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda X: session.run(None, {"X": X.astype(np.float32)})[0]
