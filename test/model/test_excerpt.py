# SPDX-License-Identifier: Apache-2.0
"""What messages show of values and names that came from others: never much, and never at great cost."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.common.excerpt import (
    LONGEST,
    LONGEST_SEARCHED,
    MOST_NAMES,
    SHOWN_NAMES,
    close_names,
    excerpt,
    listed,
    shortened,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "'a'"),
        ([1, (2.5, None)], "[1, (2.5, None)]"),
        (list(range(13)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...]"),
        ([[[[[1]]]]], "[[[[[...]]]]]"),
        (np.array([[1.0, 2.0]]), "array([[1.0, 2.0]])"),
        (np.array(3.0), "array(3.)"),
        (np.zeros((11, 10)), "an array of shape (11, 10)"),
        (10**99 - 1, shortened("9" * 99, LONGEST)),
        (10**100, "an integer of 333 bits"),
        (-(10**5000), "an integer of 16610 bits"),
    ],
    ids=range(10),
)
def test_values_are_shown_in_a_line(value, text):
    assert excerpt(value) == text


def test_of_long_texts_begin_and_end_are_left():
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghijk", 10) == "abcde...jk"
    shown = excerpt("x" * 10**6)
    assert len(shown) == LONGEST and shown.startswith("'x") and shown.endswith("x'") and "..." in shown


def test_near_names_are_found_among_many_and_not_searched_for_in_too_many():
    known = [f"joint_{k}" for k in range(MOST_NAMES - 1)] + ["elbow"]
    assert close_names("elbwo", known) == ["'elbow'"]
    assert close_names("elbwo", [*known, "wrist"]) == []
    assert close_names("elbwo", ["elbow", "elbows", "elbowl", "elbow2"], n=2) == ["'elbow'", "'elbows'"]
    assert close_names("gripper", ["elbow"]) == [] and close_names(3, ["elbow"]) == []
    long = "e" * LONGEST_SEARCHED
    assert close_names(long, [long[1:] + "f", long + "e"]) == [excerpt(long[1:] + "f")]
    assert close_names(long + "e", [long]) == []


def test_of_many_names_the_first_are_listed():
    names = [f"j{k}" for k in range(SHOWN_NAMES + 2)]
    assert listed(names[:SHOWN_NAMES]) == ", ".join(names[:SHOWN_NAMES])
    assert listed(names) == ", ".join(names[:SHOWN_NAMES]) + " and 2 more"
    assert listed(["a" * 10**6]) == shortened("a" * 10**6, LONGEST)
