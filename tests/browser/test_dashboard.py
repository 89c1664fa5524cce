"""The dashboard as a person meets it: it moves, needs no mouse, and a burst costs steps, not deadlines."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from anystream import AnytimeForestClassifier
from server.serving import serving

LINES = """[...document.querySelectorAll('[data-chart] .series')].map(path => path.getAttribute('d'))"""
STEPS = "Number(document.getElementById('steps').textContent.replace(',', ''))"
IN_TIME = "parseFloat(document.getElementById('on-time').textContent)"


def test_the_charts_move(open_page):
    page = open_page()
    before = page.evaluate(LINES)
    page.wait_for_function(f"before => {LINES}.filter((d, i) => d !== before[i]).length >= 6", arg=before)
    assert page.evaluate("document.title") == "digits · anystream"
    assert page.locator("[data-chart=curve] circle").count() == 1


def test_a_burst_lowers_the_steps_and_not_the_share_in_time(open_page):
    page = open_page()
    page.locator("#load").focus()
    for _ in range(30):  # to the least load
        page.keyboard.press("ArrowLeft")
    page.locator("#burst").focus()
    page.wait_for_function(f"() => {STEPS} >= 100")
    before = page.evaluate(STEPS)
    page.keyboard.press("Enter")
    page.wait_for_function(f"before => {STEPS} < before / 2", arg=before)
    page.wait_for_timeout(3000)
    assert page.evaluate(IN_TIME) >= 90  # a fixed number of steps would answer one in eight in time
    page.wait_for_function(f"before => {STEPS} > before / 2", arg=before)  # and it recovers


def test_the_load_is_set_by_keyboard_and_spoken(open_page):
    page = open_page()
    page.locator("#load").focus()
    with page.expect_response("**/v1/demo/load") as answered:
        page.keyboard.press("End")
    assert answered.value.json()["load"] == 10.0
    assert page.locator("#load").get_attribute("aria-valuetext").startswith("10 ")
    with page.expect_response("**/v1/demo/load") as answered:
        page.keyboard.press("Home")
    assert answered.value.json()["load"] == 0.25


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_accessibility_is_violated(open_page, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe; make test-browser installs it"
    )
    page = open_page(color_scheme=scheme)
    page.locator("summary").click()
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_every_control_is_reached_by_the_tab_key(open_page):
    page = open_page()
    reached = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"theme", "load", "burst", "SUMMARY"} <= reached


def test_a_phone_shows_all_charts_without_scrolling_sideways(open_page):
    page = open_page(viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    widths = page.evaluate(
        "[...document.querySelectorAll('svg[role=img]')].map(svg => svg.getBoundingClientRect().width)"
    )
    assert len(widths) == 6
    assert min(widths) > 250


def test_the_theme_changes(open_page):
    page = open_page(color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert page.locator("#theme").text_content() == "Light"


def test_confident_answers_of_a_forest_are_shown_beside_certified_ones(browser, tmp_path):
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=900)
    X = rng.normal(size=(900, 2)) + 1.5 * y[:, np.newaxis]
    forest = RandomForestClassifier(60, random_state=0, n_jobs=1).fit(X[:400], y[:400])
    model = AnytimeForestClassifier.from_model(forest, confidence=0.9, n_jobs=1).calibrate_on(X[400:])
    model.save(tmp_path / "forest.safetensors")
    with serving(tmp_path / "forest.safetensors") as served:
        page = browser.new_page()
        held = []  # figures are shown while the page still waits for the facts of the model
        page.route("**/dashboard/models", lambda route: held.append(route))
        page.goto(f"http://127.0.0.1:{served.port}/")
        page.wait_for_function("() => document.getElementById('status').dataset.state === 'live'")
        note = "document.getElementById('certified-note').textContent"
        assert page.evaluate(note) == "no further step can change the label"
        served.post("/v1/classify", [{"0": a, "1": b} for a, b in X[400:500].tolist()])
        page.wait_for_function(f"() => /^and \\d+.* confident/.test({note})")
        for route in held:
            route.continue_()
        page.wait_for_function("() => document.title === 'forest · anystream'")
        page.close()
