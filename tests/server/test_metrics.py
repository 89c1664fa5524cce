"""Metrics, live figures and logs."""

import http.client
import json
import logging
import time

from prometheus_client.parser import text_string_to_metric_families

from anystream.server.logs import JsonFormatter, log_request
from server.serving import serving

RECORD = {"0": 1.0, "1": 2.0, "2": 0.5, "3": 1.0}


def read_metrics(served):
    text = served.get("/metrics").body.decode()
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_count_requests_answers_and_statuses(model_files):
    model = ("model", "numbers")
    with serving(model_files / "numbers.safetensors") as served:
        for n in (1, 2, 3):
            assert served.post("/v1/classify", [RECORD] * n).status == 200
        assert served.post("/v1/classify", b"{").status == 400
        served.post("/v1/classify", RECORD, {"Request-Timeout-Ms": "0.0001"})
        found = read_metrics(served)
    assert found["anystream_requests_total", model] == 4
    assert found["anystream_answers_total", model] == 7
    assert found["anystream_late_total", model] == 1
    assert found["anystream_on_time_share", model] == 6 / 7
    assert found["anystream_http_responses_total", ("status", "200")] == 4
    assert found["anystream_http_responses_total", ("status", "400")] == 1
    assert found["anystream_model_version", model] == 1
    assert found["anystream_answer_steps_count", model] == 7
    assert found["anystream_answer_steps_sum", model] == found["anystream_steps_total", model]
    assert found["anystream_time_left_seconds_bucket", ("le", "0"), model] == 1  # the late one
    assert found["anystream_time_left_seconds_bucket", ("le", "+Inf"), model] == 4
    assert found["anystream_queue_length", model] == 0
    waited = [key for key in found if key[0] == "anystream_waited_seconds_bucket"]
    assert {dict(key[1:])["le"] for key in waited} > {"1e-05", "0.0002", "0.005", "10", "+Inf"}


def read_events(served, n):
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", "/v1/events")
    response = connection.getresponse()
    assert response.getheader("content-type").startswith("text/event-stream")
    events = []
    while len(events) < n:
        line = response.readline()
        if line.startswith(b"data: "):
            events.append(json.loads(line[6:]))
    return connection, response, events


def test_events_have_the_figures_of_the_metrics_and_end_with_the_server(model_files):
    with serving(model_files / "numbers.safetensors") as served:
        served.post("/v1/classify", [RECORD] * 5)
        connection, response, events = read_events(served, 3)
        times = [event["time"] for event in events]
        assert times == sorted(times)
        figures = events[-1]["models"]["numbers"]
        assert (figures["version"], figures["counts"]["answers"], figures["waiting"]) == ("1", 5, 0)
        assert {"queue_length", "arrivals_per_s", "budget"} <= set(figures["present"])
        assert sum(figures["histograms"]["steps"]["counts"]) == 5
    rest = response.read()  # it ends
    assert rest == b"" or rest.startswith(b"data: ") or b"\n" in rest
    connection.close()


def test_logs_are_json_lines_without_the_content_of_records(served, caplog):
    secret = 123456.789
    with caplog.at_level(logging.INFO, logger="anystream"):
        served.post("/v1/classify?model=numbers", RECORD | {"0": secret, "key": "a secret key"})
        served.post("/v1/classify?model=numbers", RECORD | {"0": "a secret text"})
        until = time.monotonic() + 60
        while len(caplog.records) < 2 and time.monotonic() < until:  # logged after the response
            time.sleep(0.002)
        log_request("GET", "/a\nb" + "x" * 1000, 200, 0.5, "127.0.0.1")
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert len(lines) >= 3
    values = [json.loads(line) for line in lines]
    assert {(value["path"], value["status"]) for value in values[:2]} == {("/v1/classify", 200), ("/v1/classify", 400)}
    assert not any("secret" in line or "123456" in line or "\n" in line for line in lines)
    assert len(values[-1]["path"]) < 300
