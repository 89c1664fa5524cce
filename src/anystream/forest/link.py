"""Links: from the scores of an ensemble to probabilities and labels, computed as the framework computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from anystream.model_file.errors import InvalidContent

LinkKind = Literal["mean", "sigmoid", "softmax", "one_vs_all"]


@dataclass(frozen=True, slots=True)
class Link:
    """How scores become probabilities and a label.

    Parameters
    ----------
    kind : {"mean", "sigmoid", "softmax", "one_vs_all"}
        ``"mean"``: the scores are the probabilities, at most 1. ``"sigmoid"``: one score, the probability of the second
        of two classes is 1 / (1 + exp(-scale score)). ``"one_vs_all"``: that sigmoid for every class; these
        probabilities do not sum to one. ``"softmax"``: one score per class.
    scale : float
        Factor of the score in a sigmoid.
    label_from_scores : bool
        Whether the label is that of the highest score rather than of the highest probability. They differ where two
        probabilities round to the same number.
    zero_is_positive : bool
        Whether a sigmoid's score of exactly 0 means the second class.
    """

    kind: LinkKind
    scale: float = 1.0
    label_from_scores: bool = False
    zero_is_positive: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(LinkKind):
            raise InvalidContent(f"its link is {self.kind!r}, allowed are {', '.join(get_args(LinkKind))}")
        if not 0 < self.scale < 1e100:
            raise InvalidContent(f"the scale of its sigmoid is {self.scale}, allowed are numbers above 0")

    def n_outputs(self, n_classes: int) -> int:
        """Return the number of scores per record."""
        return 1 if self.kind == "sigmoid" else n_classes

    def probabilities(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability of each class, shape (n_records, n_classes); float32 scores compute in float32.

        Parameters
        ----------
        scores : array of shape (n_records, n_outputs)
            Scores of all trees.
        """
        if self.kind == "mean":
            return np.minimum(np.asarray(scores, np.float64), 1.0)  # sums and their divisor are rounded apart
        if self.kind == "softmax":
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True, dtype=np.float64).astype(scores.dtype)
            return np.asarray(shares, np.float64)
        one = scores.dtype.type(1)
        with np.errstate(over="ignore"):  # exp overflows to infinity, and the probability is 0
            positive = (one / (one + np.exp(-(scores.dtype.type(self.scale) * scores)))).astype(np.float64)
        return np.column_stack([1 - positive, positive]) if self.kind == "sigmoid" else positive

    def labels(self, scores: NDArray[Any]) -> NDArray[np.intp]:
        """Return the number of the class of each record; ties go to the lower number, unless `zero_is_positive`."""
        if not self.label_from_scores:
            return np.asarray(self.probabilities(scores).argmax(axis=1))
        if self.kind != "sigmoid":
            return np.asarray(scores.argmax(axis=1))
        positive = scores[:, 0] >= 0 if self.zero_is_positive else scores[:, 0] > 0
        return np.asarray(positive, np.intp)
