"""The site of the documentation, opened from disk: no page has an error or loads anything from elsewhere."""

import re
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = sorted(page for page in SITE.rglob("*.html") if page.name != "404.html")  # only web servers show that one


@pytest.fixture(scope="module")
def page(browser):
    if not PAGES:
        pytest.skip("needs the site; make docs builds it")
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def problems(page):
    found = []

    def note_console(message):
        if message.type in ("error", "warning"):
            found.append(message.text)

    def note_request(request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            found.append(f"request to {request.url}")

    listeners = {
        "console": note_console,
        "pageerror": lambda error: found.append(str(error)),
        "request": note_request,
        "requestfailed": lambda request: found.append(f"cannot load {request.url}"),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    yield found
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_a_page_opens_offline_without_an_error(page, problems, path):
    page.goto(path.as_uri())
    page.wait_for_load_state("networkidle")
    assert page.locator("h1").first.is_visible()
    broken = "() => [...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
    assert page.evaluate(broken) == []
    assert problems == []


def test_the_navigation_leads_to_every_section(page, problems):
    page.goto((SITE / "index.html").as_uri())
    sections = page.locator(".md-tabs__link").all_inner_texts()
    assert [text.strip() for text in sections] == [
        "Home",
        "First hour",
        "How to",
        "Explanations",
        "Results",
        "Reference",
    ]
    assert problems == []


def test_every_page_is_in_the_navigation():
    linked = set(re.findall(r'href="(?:\./)?([^"#]+\.html)"', (SITE / "index.html").read_text()))
    pages = {str(path.relative_to(SITE)) for path in PAGES}
    assert pages <= linked


def test_the_search_finds_a_classifier(page, problems):
    page.goto((SITE / "index.html").as_uri())
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search").fill("Grafana")
    page.get_by_role("option").filter(has_text="Deploy the server").first.wait_for()
    assert problems == []


def test_a_wide_table_scrolls_inside_the_page(page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto((SITE / "results" / "on-time.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
