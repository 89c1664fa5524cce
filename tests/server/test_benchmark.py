"""The benchmark of servers: each request has one outcome, and arrivals have their rate and their bursts."""

import asyncio

import numpy as np
import pytest
from benchmarks.server.arrivals import REAL, draw_arrivals
from benchmarks.server.client import Client
from benchmarks.server.history import Event, HistoryError, check_history

import anystream
from server.serving import PATIENT_MS


def events(*kinds):
    return [Event("1", kind, float(i)) for i, kind in enumerate(kinds)]


@pytest.mark.parametrize("kind", ["answered", "refused", "failed", "unanswered"])
def test_a_request_with_one_outcome_is_counted(kind):
    assert check_history(["1"], events("due", "sent", kind)) == {kind: 1}
    assert check_history(["1"], events("due", "unsent")) == {"unsent": 1}


@pytest.mark.parametrize(
    ("kinds", "word"),
    [
        ((), "no arrival"),
        (("due", "sent"), "no outcome"),
        (("due", "sent", "answered", "answered"), "two outcomes"),
        (("due", "sent", "refused", "answered"), "two outcomes"),
        (("due", "answered"), "not sent"),
        (("due", "sent", "unsent"), "and was sent"),
        (("due", "sent", "sent", "answered"), "sent twice"),
        (("due", "sent", "answered", "sent"), "sent twice"),
        (("due", "sent", "lost"), "'lost'"),
    ],
)
def test_any_other_history_is_an_error(kinds, word):
    with pytest.raises(HistoryError, match=word):
        check_history(["1"], events(*kinds))


def test_an_answer_to_a_request_that_there_is_not_is_an_error():
    with pytest.raises(HistoryError, match="which there is not"):
        check_history(["1"], [*events("due", "sent", "answered"), Event("2", "answered", 9.0)])


@pytest.mark.parametrize("variation", [1.0, 4.0, 8.0])
def test_gamma_arrivals_have_their_rate_and_variation(variation):
    times = draw_arrivals(f"{variation:g}", 1000.0, 200.0, np.random.default_rng(0))
    assert len(times) == 200_000
    assert np.all(np.diff(times) >= 0.0)
    assert 0.0 <= times[0] <= times[-1] <= 200.0
    gaps = np.diff(times)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.1)


def test_arrivals_of_the_real_shape_have_its_bursts():
    times = draw_arrivals(REAL, 1000.0, 44.0, np.random.default_rng(0))
    per_second = np.bincount(times.astype(int), minlength=44)
    assert per_second.sum() == 44_000
    assert (per_second == 0).sum() == 15
    assert per_second.max() > 2.5 * per_second.mean()


def test_the_client_sends_when_due_and_checks_labels(served, blobs, model_files):
    X = blobs[0]
    labels = anystream.load(model_files / "numbers.safetensors").predict(X)
    client = Client(served.port, "numbers", X, labels, 3, PATIENT_MS * 1000, connections=30)

    async def run():
        found = await client.run(np.linspace(0.0, 0.2, 30), 60.0)
        client.close()
        return found

    requests = asyncio.run(run())
    assert check_history([request.name for request in requests], client.events)["answered"] == 30
    assert [request.n_right for request in requests] == [3] * 30
    assert all(request.done > request.sent >= request.due for request in requests)
