# SPDX-License-Identifier: Apache-2.0
"""Formulas of the pages are whole, and reach a code host's renderer as they are written.

A code host reads Markdown first, formulas after that: what both want, such as `_` behind a bracket, is lost.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby

import pytest
from helpers.paths import ROOT

markdown_it = pytest.importorskip("markdown_it")

INLINE = re.compile(r"\$[^$]+\$")
#: what TeX, MathJax and the code hosts all know of what the pages use
KNOWN = set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta lambda mu xi pi rho sigma tau phi psi omega Gamma Delta "
    "Lambda Pi Psi dot ddot hat bar tilde mathrm text frac tfrac dfrac sqrt sum int partial exp log det ker max min "
    "cos sin tanh arcsin times cdot cdots ldots in ni le ge perp vee infty ast sharp leftarrow left right bigl bigr "
    "Bigl Bigr lvert rvert begin end quad qquad".split()
)


@cache
def parsed(text):
    """(formulas in lines, as written; what of these Markdown leaves as it is; displayed formulas) of a page."""
    written, left, displayed = [], [], []
    for token in markdown_it.MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "fence" and token.info.strip() == "math":
            displayed.append(token.content)
        elif token.type == "inline":
            written += INLINE.findall(re.sub(r"(`+).*?\1", "code", token.content, flags=re.DOTALL))
            for plain, run in groupby(token.children, key=lambda each: each.type in ("text", "softbreak")):
                left += INLINE.findall("".join(each.content or "\n" for each in run)) if plain else []
    return written, left, displayed


PAGES = [
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    if re.search(r"\$|^```math", page.read_text(), re.M)
]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@every_page
def test_markdown_leaves_formulas_as_they_are(page):
    written, left, _ = parsed(page.read_text())
    assert left == written


@every_page
def test_formulas_stand_where_they_are_recognised(page):
    """On one line, between blanks or punctuation."""
    prose = re.sub(r"^```.*?^```|`[^`]*`", "code", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert prose.count("$") % 2 == 0
    for found in INLINE.finditer(prose):
        assert "\n" not in found[0] and found[0][1] != " " != found[0][-2], found[0]
        before, after = prose[found.start() - 1], (prose + "\n")[found.end()]
        assert before in " \n(" and after in " \n.,:;)'", prose[found.start() - 9 : found.end() + 9]


@every_page
def test_formulas_are_whole(page):
    written, _, displayed = parsed(page.read_text())
    for formula in [*written, *displayed]:
        assert formula.replace(r"\{", "").count("{") == formula.replace(r"\}", "").count("}"), formula
        assert set(re.findall(r"\\([A-Za-z]+)", formula)) <= KNOWN, formula
        assert formula.count(r"\left") - formula.count(r"\leftarrow") == formula.count(r"\right"), formula
        begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", formula) for word in ("begin", "end"))
        assert sorted(begun) == sorted(ended), formula


def test_what_markdown_would_take_is_found_out():
    for formula in (r"$\hat{a}_{i} \hat{b}_{j}$", r"$\{a\}$", r"$a\,b$", "$a <b> c$", "$[a](b)$"):
        written, left, _ = parsed(f"With {formula} and {formula}.")
        assert written and left != written, formula
