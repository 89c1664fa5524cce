"""Figures by class for ``anystream evaluate``: precision and recall, confusions, log loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from anystream.cli.output import list_names

_BATCH = 10_000  # records classified at a time
_MAX_MATRIX = 8  # number of classes up to which the whole matrix is printed
_MAX_CONFUSIONS = 10  # of more classes, so many of the most frequent confusions are printed


@dataclass(frozen=True, kw_only=True)
class ClassReport:
    """Figures by class at one budget.

    Parameters
    ----------
    budget : int
        Steps per record.
    classes : list
        Labels of the model and of the records, in order.
    confusion : array of shape (n_classes, n_classes)
        Number of records by label (row) and answer (column).
    log_loss : float
        Mean of -log of the probability of the right class, over the records whose class the model knows.
    certified, confident : float
        Shares of the answers that no further step can change, and of those that a test of the classifier ended.
    """

    budget: int
    classes: list[Any]
    confusion: NDArray[np.int64]
    log_loss: float
    certified: float = 0.0
    confident: float = 0.0

    @classmethod
    def measure(cls, classifier: Any, features: NDArray[np.float64], labels: list[Any], budget: int) -> ClassReport:
        """Classify records whose labels are known."""
        known = classifier.classes_.tolist()
        places = {label: place for place, label in enumerate(known)}
        classes = [*known, *sorted({label for label in labels if label not in places}, key=str)]
        numbers = {label: number for number, label in enumerate(classes)}
        truth = np.array([numbers[label] for label in labels])
        confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
        loss, n_known, n_certified, n_confident = 0.0, 0, 0, 0
        for first in range(0, len(truth), _BATCH):
            rows = slice(first, first + _BATCH)
            answer = classifier.classify(features[rows], budget=budget)
            found = np.array([numbers[label] for label in answer.labels.tolist()])
            np.add.at(confusion, (truth[rows], found), 1)
            in_model = np.flatnonzero(truth[rows] < len(known))
            right = answer.proba[in_model, truth[rows][in_model]]
            loss -= float(np.log(np.maximum(right, np.finfo(np.float64).eps)).sum())
            n_known += len(in_model)
            n_certified += int(np.count_nonzero(answer.certified))
            n_confident += int(np.count_nonzero(answer.confident))
        return cls(
            budget=budget,
            classes=classes,
            confusion=confusion,
            log_loss=loss / max(n_known, 1),
            certified=n_certified / max(len(truth), 1),
            confident=n_confident / max(len(truth), 1),
        )

    def by_class(self) -> list[dict[str, Any]]:
        """Return support, recall and precision of each class; None where there is nothing to divide by."""
        hits, support, answers = self.confusion.diagonal(), self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        return [
            {
                "class": label,
                "records": int(support[i]),
                "recall": float(hits[i] / support[i]) if support[i] else None,
                "precision": float(hits[i] / answers[i]) if answers[i] else None,
            }
            for i, label in enumerate(self.classes)
        ]

    def describe_marks(self) -> str:
        """Return the shares of certified and confident answers in words; the latter only if there are some."""
        confident = f", {self.confident:.1%} confident" if self.confident else ""
        return f"{self.certified:.1%} certified{confident}"

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON can hold them."""
        return {
            "budget": self.budget,
            "log_loss": self.log_loss,
            "certified": self.certified,
            "confident": self.confident,
            "classes": self.by_class(),
            "confusion": self.confusion.tolist(),
        }

    def class_table(self) -> Table:
        """Return the figures of each class as a table."""
        table = Table("class", "records", "recall", "precision", title=f"classes at {self.budget} steps")
        for found in self.by_class():
            shares = ("-" if found[name] is None else f"{found[name]:.1%}" for name in ("recall", "precision"))
            table.add_row(list_names([found["class"]], 1), str(found["records"]), *shares)
        return table

    def confusion_table(self) -> Table | None:
        """Return the confusions as a table: all of a few classes, the most frequent of many; None without any."""
        names = [list_names([label], 1) for label in self.classes]
        if len(names) <= _MAX_MATRIX:
            table = Table("class", *names, title="answers to the records of each class")
            for name, row in zip(names, self.confusion, strict=True):
                table.add_row(name, *map(str, row))
            return table
        wrong = self.confusion - np.diag(self.confusion.diagonal())
        order = np.argsort(-wrong, axis=None, kind="stable")[:_MAX_CONFUSIONS]
        pairs = [(i, j) for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True) if wrong[i, j]]
        if not pairs:
            return None
        table = Table("class", "answer", "records", title="most frequent confusions (--json has all)")
        for i, j in pairs:
            table.add_row(names[i], names[j], str(wrong[i, j]))
        return table
