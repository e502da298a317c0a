# SPDX-License-Identifier: Apache-2.0
"""Pages of replay and of robots fit the phone that shows them: no text, table or button needs a magnifying glass."""

from __future__ import annotations

import pytest
from helpers.browser import needs_browser

from rbd_dynamics.common.pages.page import table, template


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("rbd_dynamics.replay.report", "page.html"),
        ("rbd_dynamics.replay.fleet", "fleet.html"),
        ("rbd_dynamics.viewer", "page.html"),
    ],
)
def test_a_page_is_as_wide_as_the_phone_that_shows_it(package, name):
    page, style = template(package, name)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page.template
    assert "<table" not in page.template, "tables are made by table(), which lets them scroll"
    assert "@media (prefers-color-scheme: dark)" in style and "@media (pointer: coarse)" in style


def test_a_table_scrolls_by_itself_and_its_first_column_stays():
    assert table(["joint", "RMSE"], [["a", "1"]]).startswith('<div class="scroll"><table')
    _, style = template("rbd_dynamics.replay.report", "page.html")
    assert ".scroll { overflow-x: auto; }" in style
    assert ".scroll th:first-child { position: sticky; left: 0;" in style


@needs_browser
def test_wide_tables_scroll_and_words_do_not(tmp_path, browser):
    """On a screen of 390 pixels: the page is no wider, joints' names stay, and causes can be read at once."""
    wide = table([f"column {k}" for k in range(12)], [["shoulder", *11 * ["1.234"]]], "sortable")
    words = table(
        ["joint", "causes", "unexplained"], [["elbow", "friction 96 %, coulomb 0.248 ± 0.045 N m", "4 %"]], "words"
    )
    page, style = template("rbd_dynamics.replay.fleet", "fleet.html")
    file = tmp_path / "page.html"
    name, error = "robot_0/" + 4 * "long_name_of_a_recording_", "no_such_file " * 30
    told = table(["recording", "robot", "s", ""], [[name.replace("_", "_<wbr>"), "robot_0", "2.59", error]], "told")
    parts = {"robots": wide, "recordings": words + told}
    parts |= dict.fromkeys(("about", "attention", "changes", "failed"), "")
    file.write_text(page.substitute(parts, style=style), encoding="utf-8")
    browser.open(file, width=390, height=844, phone=True)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    left = "document.querySelector('.sortable tbody th').getBoundingClientRect().left"
    before = browser.run(left)
    browser.run("document.querySelector('.scroll').scrollLeft = 200")
    browser.frames(2)
    assert browser.run("document.querySelector('.scroll').scrollLeft") == 200 and browser.run(left) == before
    cell = browser.run("(r => [r.left, r.right])(document.querySelector('.words td').getBoundingClientRect())")
    assert 0.0 < cell[0] < cell[1] <= 390.0
    assert browser.run("document.querySelector('.sortable thead th').getBoundingClientRect().height") >= 36.0
    browser.run("document.querySelector('.scroll:has(.told)').scrollLeft = 10000")
    browser.frames(2)
    boxes = "['tbody th', 'td:last-child'].map(e => document.querySelector('.told ' + e).getBoundingClientRect())"
    places = browser.run(f"{boxes}.flatMap(r => [r.left, r.right])")
    assert places[1] <= places[2] < places[3] <= 390.0, "what went wrong is to be read beside the recording's name"
