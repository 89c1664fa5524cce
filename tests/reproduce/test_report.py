import base64
import re
from html.parser import HTMLParser

import pytest

from anystream.reproduce.drawing import Lines, draw_bars, draw_lines
from anystream.reproduce.environment import describe_environment
from anystream.reproduce.markdown import render_markdown
from anystream.reproduce.page import render_index, render_page
from anystream.reproduce.paper import Claim, Paper, Report, Section, Table
from anystream.reproduce.verdicts import Case, at_least, near


@pytest.fixture(scope="module")
def report():
    panel = Lines("JF", {"SimpleRank": ([1, 10], [60.0, 94.0]), "Random": ([1, 10], [50.0, 80.0])}, "exemplars", "%")
    section = Section(
        "Figure 5: curves <5>",
        "Accuracy by exemplar.",
        [Table(("order", "paper", "ours"), [("SimpleRank", "92.25", "94.00")])],
        [
            draw_lines("figure-5", "Two orders.", [panel]),
            draw_bars("bars", "Bars.", {"a": {"x": 1.0, "y": None}}, y="%"),
        ],
        [
            Claim("section 6", "92.25 % after ten", near(3.0), [Case("JF", 94.0, 92.25)], "96 %"),
            Claim("section 7", "needs debris", at_least(1.0), [Case("debris", None, None, "debris is not public")]),
        ],
    )
    paper = Paper("example", "An example & its report", (), lambda *_: {}, lambda *_: [], lambda _: {})
    return Report(
        paper, "A. Author: Title. 2006.", True, {"folds": "2 of 10"}, {"machine": "x"}, ["fish: no data"], [section]
    )


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_markdown_has_numbers_verdicts_rules_and_settings(report):
    text = render_markdown(report, "example")
    assert "| SimpleRank | 92.25 | 94.00 |" in text
    assert "2 claims: 1 reproduced, 1 cannot be tested here" in text
    assert "- rule: our number is within 3 points of the paper's" in text
    assert "debris is not public" in text
    assert "- our default: 96 %" in text
    assert "| folds | 2 of 10 |" in text
    assert "- fish: no data" in text
    assert "Quick run" in text
    assert "![Two orders.](example/figure-5.svg)" in text


def test_the_page_is_well_formed_and_needs_no_other_file(report):
    page = render_page(report)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    sources = [attributes["src"] for tag, attributes in tags.seen if tag == "img"]
    assert len(sources) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert b"<svg" in base64.b64decode(sources[0].split(",")[1])
    assert not [tag for tag, _ in tags.seen if tag in ("script", "link")]
    assert not re.search(r"url\(|https?://", page.split("</style>")[0])
    assert "An example &amp; its report" in page
    assert "curves &lt;5&gt;" in page


def test_every_link_of_the_page_has_a_target(report):
    tags = Tags()
    tags.feed(render_page(report))
    links = {attributes["href"][1:] for tag, attributes in tags.seen if tag == "a"}
    assert links <= {attributes.get("id") for _, attributes in tags.seen}


def test_the_index_counts_verdicts_by_paper(report):
    page = render_index([report])
    assert 'href="example.html"' in page
    assert page.count('<td class="number">1</td>') == 2


def test_pictures_are_the_same_in_every_run():
    panel = Lines("a", {"b": ([1, 2], [3.0, 4.0])}, "x", "y")
    assert draw_lines("n", "c", [panel]).svg == draw_lines("n", "c", [panel]).svg


def test_the_environment_names_no_host():
    import platform

    assert platform.node() not in " ".join(describe_environment().values()) or len(platform.node()) < 4
