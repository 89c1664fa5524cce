"""Metrics for Prometheus, from the figures of the models and counts of responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from anystream.server.model_store import ModelStore

_COUNTERS = {
    "requests": "Requests to classify.",
    "records": "Records of requests that were taken.",
    "answers": "Records that were answered.",
    "on_time": "Answers by their deadline.",
    "late": "Answers after their deadline.",
    "certified": "Answers that no further step could change.",
    "confident": "Answers that a test of the model ended, at a stated rate of error; not certified.",
    "steps": "Steps of all answers.",
    "withdrawn": "Records whose client disconnected while they waited.",
    "rejected": "Records of requests that could not be classified.",
    "judged": "Answers whose label is known.",
    "right": "Of them, those that agree with the label.",
    "acknowledged": "Labelled records that were acknowledged as learned.",
    "unlearned": "Of them, those that the model could not learn.",
}
_GAUGES = {
    "queue_length": "Records that wait.",
    "queue_age_s": "Seconds since the arrival of the record that waits longest.",
    "arrivals_per_s": "Records that arrive per second.",
    "batch_size": "Records in the last batch.",
    "budget": "Steps per record that the scheduler allowed in the last batch; -1 without a limit.",
    "steps_mean": "Steps per answer in the last batch.",
}
_UNITS = {"queue_age_s": "queue_age_seconds", "arrivals_per_s": "arrivals_per_second"}  # Prometheus spells them out
_HISTOGRAMS = {
    "steps": ("anystream_answer_steps", "Steps of each answer."),
    "time_left_s": (
        "anystream_time_left_seconds",
        "Time to the deadline when a request is answered; negative if late.",
    ),
    "waited_s": ("anystream_waited_seconds", "Time from arrival to answer."),
    "batch_size": ("anystream_batch_records", "Records in each batch."),
}


class Metrics(Collector):
    """Route and collector of the metrics.

    Parameters
    ----------
    store : ModelStore
        The models.
    """

    def __init__(self, store: ModelStore) -> None:
        self._store = store
        self.responses: Counter[int] = Counter()
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def routes(self) -> list[Route]:
        """Return the route."""
        return [Route("/metrics", self._show)]

    async def _show(self, request: Request) -> Response:
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        figures = {name: found.snapshot() for name, found in self._store.figures().items()}
        yield from _describe_counts(figures)
        yield from _describe_present(figures)
        yield from _describe_histograms(figures)
        versions = GaugeMetricFamily(
            "anystream_model_version", "Version of the model that is served.", labels=["model"]
        )
        ready = GaugeMetricFamily("anystream_model_ready", "Whether the model can classify.", labels=["model"])
        for model in self._store.served():
            versions.add_metric([model.loaded.name], model.loaded.version)
            ready.add_metric([model.loaded.name], float(model.engine.is_alive))
        yield versions
        yield ready
        responses = CounterMetricFamily("anystream_http_responses", "Responses by status.", labels=["status"])
        for status, n in sorted(self.responses.items()):
            responses.add_metric([str(status)], n)
        yield responses


def _describe_counts(figures: dict[str, dict[str, Any]]) -> Iterator[Metric]:
    for name, text in _COUNTERS.items():
        family = CounterMetricFamily(f"anystream_{name}", text, labels=["model"])
        for model, found in figures.items():
            family.add_metric([model], found["counts"][name])
        yield family
    refused = CounterMetricFamily(
        "anystream_refused", "Requests that were refused at once.", labels=["model", "reason"]
    )
    for model, found in figures.items():
        for reason, n in found["refused"].items():
            refused.add_metric([model, reason], n)
    yield refused


def _describe_present(figures: dict[str, dict[str, Any]]) -> Iterator[Metric]:
    for name, text in _GAUGES.items():
        full_name = f"anystream_{_UNITS.get(name, name)}"
        family = GaugeMetricFamily(full_name, text, labels=["model"])
        for model, found in figures.items():
            family.add_metric([model], found["present"][name])
        yield family
    for name, part in (("on_time_share", "on_time"), ("certified_share", "certified")):
        family = GaugeMetricFamily(f"anystream_{name}", f"Share of all answers that are {part}.", labels=["model"])
        for model, found in figures.items():
            counts = found["counts"]
            if counts["answers"]:
                family.add_metric([model], counts[part] / counts["answers"])
        yield family


def _describe_histograms(figures: dict[str, dict[str, Any]]) -> Iterator[Metric]:
    for name, (full_name, text) in _HISTOGRAMS.items():
        family = HistogramMetricFamily(full_name, text, labels=["model"])
        for model, found in figures.items():
            histogram = found["histograms"][name]
            bounds = [*(f"{bound:g}" for bound in histogram["bounds"]), "+Inf"]
            buckets = list(zip(bounds, accumulate(histogram["counts"]), strict=True))
            family.add_metric([model], buckets, histogram["sum"])
        yield family
