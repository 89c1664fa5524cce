"""The page, its files and the events that it reads, without a browser."""

import http.client
import json

import numpy as np
import pytest

from anystream import BayesTreeClassifier
from anystream.anytime import PerformanceProfile
from server.serving import serving


def read_event(served, number=1):
    """Return an event of a stream, by default the first."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    try:
        connection.request("GET", "/v1/events")
        response = connection.getresponse()
        assert response.getheader("content-type").startswith("text/event-stream")
        while number:
            line = response.readline()
            assert line
            number -= line.startswith(b"data: ")
        return json.loads(line.removeprefix(b"data: "))
    finally:
        connection.close()


def test_the_page_and_its_files_load_nothing_from_elsewhere(served):
    page = served.get("/")
    assert page.status == 200
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    for name in ("style.css", "charts.js", "recent.js", "dashboard.js", "icon.svg"):
        part = served.get(f"/dashboard/{name}")
        assert part.status == 200
        assert part.headers["x-content-type-options"] == "nosniff"
        assert b"http://" not in part.body.replace(b"http://www.w3.org/", b"")  # the name space of SVG
        assert b"https://" not in part.body


@pytest.mark.parametrize("name", ["none.js", "..%2fapp.py", "%2e%2e/app.py", "index.html%00"])
def test_other_files_are_not_served(served, name):
    assert served.get(f"/dashboard/{name}").status in (400, 404)


def test_an_event_counts_the_answers_of_each_model(served):
    before = read_event(served)["models"]["numbers"]["counts"]["answers"]
    assert served.post("/v1/classify?model=numbers", {str(column): 0.0 for column in range(4)}).status == 200
    event = read_event(served, 3)  # the first one may be shared with the client before
    assert event["models"]["numbers"]["counts"]["answers"] == before + 1
    assert event["load"] is None  # no demonstration
    assert event["deadline_s"] == 0.05


def test_the_cards_of_the_models_show_what_they_are(served):
    cards = {card["name"]: card for card in served.get("/dashboard/models").json()}
    assert set(cards) == {"numbers", "mixed"}
    assert cards["numbers"]["facts"]["Classes"] == "3"
    assert cards["numbers"]["curve"] == []  # its file has no profile


def test_a_card_shows_the_curve_that_was_saved_with_the_model(blobs, tmp_path):
    profile = PerformanceProfile(np.array([0, 5]), np.array([0.5, 0.9]), 100)
    BayesTreeClassifier().fit(*blobs).save(
        tmp_path / "known.safetensors", notes={"performance_profile": profile.to_json()}
    )
    with serving(tmp_path / "known.safetensors") as served:
        assert served.get("/dashboard/models").json()[0]["curve"] == [[0, 0.5], [5, 0.9]]
