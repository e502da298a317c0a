# SPDX-License-Identifier: Apache-2.0
"""What fuzzing once found is mended and stays so; and a few seconds of it, with hypothesis as the source of chance."""

from __future__ import annotations

import importlib.util
import random

import pytest
from helpers.paths import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.fuzz.campaign import case_of, packed, unpacked
from campaigns.fuzz.targets import TARGETS, Target, Unsound, problem_of

CORPUS = sorted((ROOT / "test" / "fuzz_corpus").iterdir())
WRITTEN_BY_ROSBAGS = ("layout", "raw", "mcap", "db3", "bag", "zstd", "metadata")
#: also read by rclpy
NEEDS_ROS = ("raw",)
CASES = {
    "mcap": 15,
    "db3": 15,
    "bag": 15,
    "zstd": 10,
    "metadata": 15,
    "urdf": 40,
    "sdf": 30,
    "mjcf": 30,
    "model": 40,
    "scene": 40,
}


def _target(name):
    if name in WRITTEN_BY_ROSBAGS:
        pytest.importorskip("rosbags")
    if name in NEEDS_ROS and importlib.util.find_spec("rclpy") is None:
        pytest.skip("needs ROS 2: rclpy is not installed")
    return TARGETS[name]


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.name)
def test_what_was_found_is_mended(file):
    target = _target(file.name.partition("-")[0])
    assert problem_of(target, unpacked(target.kind, file.read_bytes())) == ""


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_seconds(name):
    target = _target(name)

    @settings(max_examples=CASES.get(name, 100), deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.randoms(use_true_random=True))
    def run(rng):
        case = target.make(rng)
        assert problem_of(target, case) == "", packed(target.kind, case)[:2000]

    run()


@pytest.mark.parametrize("name", TARGETS)
def test_cases_follow_from_their_number_and_can_be_kept(name):
    target = _target(name)
    case = case_of(3, name, 17)
    assert packed(target.kind, case) == packed(target.kind, case_of(3, name, 17))
    assert packed(target.kind, unpacked(target.kind, packed(target.kind, case))) == packed(target.kind, case)


def test_what_is_found():
    def run(case):
        if case == "long":
            raise ValueError("x" * 10_000)
        if case == "silent":
            raise ValueError
        if case == "other":
            raise TypeError("surprise")
        if case == "wrong":
            raise Unsound("taken")
        if case == "documented":
            raise ValueError("joint 'a' is wrong")

    target = Target("some", random.Random.random, run, (ValueError,), 1.0, "text")
    assert [bool(problem_of(target, case)) for case in ("long", "silent", "other", "wrong")] == [True] * 4
    assert [problem_of(target, case) for case in ("documented", "good")] == ["", ""]
