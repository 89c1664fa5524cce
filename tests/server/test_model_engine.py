"""Concurrent requests through one engine: refused, withdrawn, failed and answered."""

import asyncio
import time

import numpy as np
import pytest

import anystream
from anystream.runtime.step_cost import StepCost
from anystream.server.errors import RefusedError, RequestError
from anystream.server.figures import ModelFigures
from anystream.server.limits import Limits
from anystream.server.model_engine import ModelEngine
from server.gated import GatedModel


@pytest.fixture
def model(model_files):
    return GatedModel(anystream.load(model_files / "numbers.safetensors"))


def run_with_engine(model, scenario, **limits):
    """Run a scenario with an engine, and return its result and the figures."""

    async def run():
        figures = ModelFigures()
        engine = ModelEngine(model, limits=Limits(**limits), figures=figures)
        await engine.start()
        try:
            return await scenario(engine), figures.snapshot()
        finally:
            model.gate.set()
            await engine.close()

    return asyncio.run(run())


def ask(engine, features, within_s=60.0):
    """Begin a request; return its task when the records are submitted."""
    now = time.monotonic()
    return asyncio.ensure_future(engine.classify(np.atleast_2d(features), arrival=now, deadline=now + within_s))


async def hold_one(engine, model, features):
    """Begin a request that is held at the closed gate."""
    model.close_gate()
    task = ask(engine, features)
    await asyncio.to_thread(model.entered.wait, 60)
    return task


def test_concurrent_requests_share_batches_and_each_gets_its_own_answers(model, blobs):
    X = blobs[0]

    async def scenario(engine):
        first = await hold_one(engine, model, X[0])
        sizes = [1 + i % 7 for i in range(60)]
        starts = np.cumsum([1, *sizes])
        tasks = [ask(engine, X[start : start + size]) for start, size in zip(starts, sizes, strict=False)]
        await asyncio.sleep(0)
        model.gate.set()
        answers = await asyncio.gather(first, *tasks)
        return np.concatenate([answer.label for answer in answers]), len(model.batches)

    (labels, n_batches), figures = run_with_engine(model, scenario)
    assert labels.tolist() == model.predict(X[: len(labels)]).tolist()
    assert n_batches < 30
    assert figures["counts"]["answers"] == figures["counts"]["on_time"] == len(labels)
    assert sum(figures["histograms"]["steps"]["counts"]) == len(labels)


def test_a_cancelled_request_leaves_the_queue_and_is_never_classified(model, blobs):
    X = blobs[0]

    async def scenario(engine):
        first = await hold_one(engine, model, X[0])
        doomed, kept = ask(engine, X[1:4]), ask(engine, X[4])
        await asyncio.sleep(0)
        doomed.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doomed
        assert engine.waiting == 2
        model.gate.set()
        await asyncio.gather(first, kept)
        return np.concatenate(model.batches)

    classified, figures = run_with_engine(model, scenario)
    assert len(classified) == 2
    assert not (classified[:, np.newaxis] == X[1:4]).all(axis=2).any()
    assert figures["counts"]["answers"] == 2


def test_more_records_than_may_wait_are_refused_at_once(model, blobs):
    X = blobs[0]

    async def scenario(engine):
        tasks = [await hold_one(engine, model, X[0]), ask(engine, X[1:5])]
        await asyncio.sleep(0)
        with pytest.raises(RefusedError) as refused:
            await engine.classify(X[5:6], arrival=time.monotonic(), deadline=time.monotonic() + 60)
        assert not model.gate.is_set()  # nothing was answered before the refusal
        model.gate.set()
        await asyncio.gather(*tasks)
        return refused.value

    refused, figures = run_with_engine(model, scenario, max_waiting=5, max_records=5)
    assert (refused.status, refused.reason, refused.headers) == (503, "queue_full", {"Retry-After": "1"})
    assert figures["refused"] == {"queue_full": 1}
    assert figures["counts"]["answers"] == 5


def test_a_request_is_refused_only_if_the_records_before_it_leave_no_time_at_budget_0(model, blobs, monkeypatch):
    X = blobs[0]
    cost = StepCost(0.001, 10.0, 1e-6)  # a record takes ten seconds
    monkeypatch.setattr("anystream.runtime.engine.measure_step_cost", lambda model, clock: cost)

    async def scenario(engine):
        model.close_gate()
        first = ask(engine, X[0], within_s=5.0)  # nothing waits: taken, whatever the cost
        await asyncio.to_thread(model.entered.wait, 60)
        with pytest.raises(RefusedError) as refused:
            await ask(engine, X[1], within_s=15.0)
        taken = ask(engine, X[1], within_s=59.0)
        await asyncio.sleep(0)
        model.gate.set()
        await asyncio.gather(first, taken)
        return refused.value

    refused, figures = run_with_engine(model, scenario)
    assert refused.reason == "too_late"
    assert int(refused.headers["Retry-After"]) >= 10
    assert figures["refused"] == {"too_late": 1}
    assert figures["counts"]["answers"] == 2


def test_records_that_are_due_later_do_not_cause_a_refusal(model, blobs, monkeypatch):
    X = blobs[0]
    monkeypatch.setattr("anystream.runtime.engine.measure_step_cost", lambda model, clock: StepCost(0.001, 1.0, 1e-6))

    async def scenario(engine):
        tasks = [await hold_one(engine, model, X[0]), ask(engine, X[1:30], within_s=59.0)]
        tasks.append(ask(engine, X[30], within_s=20.0))
        await asyncio.sleep(0)
        model.gate.set()
        return await asyncio.gather(*tasks)

    answers, figures = run_with_engine(model, scenario)
    assert [len(answer.label) for answer in answers] == [1, 29, 1]
    assert figures["refused"] == {}


def test_a_model_that_fails_fails_its_requests_and_refuses_further_ones(model, blobs):
    X = blobs[0]

    async def scenario(engine):
        first = await hold_one(engine, model, X[0])
        model.error = RuntimeError("the inside of the model")
        model.gate.set()
        with pytest.raises(RefusedError) as failed:
            await first
        with pytest.raises(RefusedError) as refused:
            await ask(engine, X[1])
        assert not engine.is_alive
        return failed.value, refused.value

    (failed, refused), _ = run_with_engine(model, scenario)
    assert failed.status == refused.status == 503
    assert "inside" not in failed.message + refused.message


def test_closing_answers_what_was_taken_and_refuses_the_rest(model, blobs):
    X = blobs[0]

    async def scenario(engine):
        tasks = [await hold_one(engine, model, X[0]), ask(engine, X[1:20])]
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(engine.close())
        await asyncio.sleep(0)
        with pytest.raises(RefusedError):
            await ask(engine, X[30])
        model.gate.set()
        answers = await asyncio.gather(*tasks)
        await closing
        return answers

    answers, _ = run_with_engine(model, scenario)
    assert [len(answer.label) for answer in answers] == [1, 19]


def test_a_record_that_the_model_refuses_is_an_error_of_its_request_alone(model, blobs):
    X = blobs[0]
    bad = X[:3].copy()
    bad[1, 2] = np.inf

    async def scenario(engine):
        first = await hold_one(engine, model, X[0])
        tasks = [ask(engine, bad), ask(engine, X[5])]
        await asyncio.sleep(0)
        model.gate.set()
        return await asyncio.gather(first, *tasks, return_exceptions=True)

    (first, error, last), figures = run_with_engine(model, scenario)
    assert isinstance(error, RequestError)
    assert (error.status, error.message[:9]) == (400, "record 1:")
    assert len(first.label) == len(last.label) == 1
    assert figures["counts"]["rejected"] == 3


def test_a_request_larger_than_a_poll_of_the_engine_is_answered_in_order(model, blobs):
    X = np.tile(blobs[0], (17, 1))[:10_000]
    (answers), _ = run_with_engine(model, lambda engine: ask(engine, X), max_waiting=20_000, max_records=10_000)
    assert answers.label.tolist() == model.predict(X).tolist()
    assert answers.label.dtype == model.classes_.dtype
    assert answers.proba.shape == (10_000, 3)


def test_a_request_that_was_read_after_its_deadline_is_refused_while_others_wait(model, blobs):
    X = blobs[0]

    async def scenario(engine):
        first = await hold_one(engine, model, X[0])
        with pytest.raises(RefusedError) as refused:
            await ask(engine, X[1], within_s=-0.01)
        model.gate.set()
        await first
        return refused.value

    refused, figures = run_with_engine(model, scenario)
    assert refused.reason == "too_late"
    assert figures["refused"] == {"too_late": 1}
