"""Answers of the server tell which records there was no time for."""

import asyncio

import numpy as np

from anystream.runtime import AnsweredRecords
from anystream.server.inference import output_values, response_parameters
from anystream.server.request_stream import PendingRequest, _Part


def test_answers_carry_whether_a_record_was_reached_also_from_several_batches():
    request = PendingRequest(0, np.zeros((4, 1)), 0.0, 1.0, None, asyncio.Future(loop=asyncio.new_event_loop()))

    def batch(keys, reached):
        n = len(keys)
        columns = (np.zeros(n, dtype=int), np.ones((n, 1)), np.zeros(1, dtype=int), np.zeros(n, dtype=int))
        flags = np.zeros(n, dtype=bool)
        return AnsweredRecords(np.array(keys), *columns, flags, np.zeros(n), flags, reached=reached)

    request.parts = [
        _Part(batch([2, 3], np.array([False, True])), slice(0, 2)),
        _Part(batch([0, 1], None), slice(0, 2)),
    ]
    answers = request.answers()
    assert output_values(answers, "reached").tolist() == [True, True, False, True]
    assert response_parameters(answers)["reached"] is False
