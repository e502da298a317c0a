# SPDX-License-Identifier: Apache-2.0
"""The cylindroid by its definition: every combination of two screws is about one of its screws."""

from __future__ import annotations

import numpy as np
import pytest

from rbd_dynamics.theory.screws import Screw, cylindroid


def random_twists(rng, count):
    screws = Screw.from_line(
        rng.normal(size=(count, 3)), point=rng.normal(size=(count, 3)), pitch=rng.normal(size=count)
    )
    return screws.twist(magnitude=rng.uniform(0.5, 2.0, count))


@pytest.mark.parametrize("seed", range(5))
def test_every_combination_is_about_a_screw_on_it(seed):
    rng = np.random.default_rng(seed)
    first, second = random_twists(rng, 2)
    found = cylindroid(first, second)
    for a, b in rng.normal(size=(20, 2)):
        screw, _ = Screw.from_twist(a * first + b * second)
        x, y, z = found.rotation.T @ screw.axis
        assert abs(z) < 1e-12
        angle = np.arctan2(y, x)
        assert screw.pitch == pytest.approx(found.pitch(angle), rel=1e-10, abs=1e-10)
        own = found.screw(angle)
        np.testing.assert_allclose(own.axis, screw.axis, atol=1e-10)
        np.testing.assert_allclose(own.point, screw.point, atol=1e-10)
        foot = found.center + found.height(angle) * found.rotation[:, 2]
        np.testing.assert_allclose(np.cross(foot - screw.point, screw.axis), 0.0, atol=1e-10)


def test_its_frame_is_one_and_its_principal_pitches_are_the_extreme_ones():
    rng = np.random.default_rng(7)
    first, second = random_twists(rng, 8).reshape(2, 4, 6)
    found = cylindroid(first, second)  # a batch
    np.testing.assert_allclose(
        np.swapaxes(found.rotation, -1, -2) @ found.rotation, np.eye(3) + np.zeros((4, 3, 3)), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(found.rotation), 1.0, rtol=1e-12)
    angles = np.linspace(0.0, np.pi, 721)[:, None]
    pitches, heights = found.pitch(angles), found.height(angles)
    np.testing.assert_allclose(pitches.max(axis=0), found.pitches[:, 0], rtol=1e-12)
    np.testing.assert_allclose(pitches.min(axis=0), found.pitches[:, 1], rtol=1e-12)
    length = found.pitches[:, 0] - found.pitches[:, 1]
    np.testing.assert_allclose(
        np.ptp(heights, axis=0), length, rtol=1e-5, err_msg="Ball: as long as the pitches differ"
    )
    for k in range(4):
        one = cylindroid(first[k], second[k])
        np.testing.assert_allclose(one.center, found.center[k], atol=1e-12)


def test_lines_that_meet_make_a_flat_pencil_and_zero_pitches():
    point = np.array([0.3, -0.2, 0.5])
    lines = Screw.from_line([[1.0, 0.0, 0.0], [1.0, 1.0, 0.2]], point=point)
    found = cylindroid(*lines.twist())
    np.testing.assert_allclose(found.pitches, 0.0, atol=1e-14)
    np.testing.assert_allclose(found.center, point, atol=1e-13)
    assert found.height(0.4) == pytest.approx(0.0, abs=1e-14)


def test_skew_lines_at_a_right_angle_have_opposite_pitches_of_half_their_distance():
    lines = Screw.from_line([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], point=[[0.0, 0.0, 0.3], [0.0, 0.0, -0.3]])
    found = cylindroid(*lines.twist())
    np.testing.assert_allclose(found.pitches, [0.3, -0.3], atol=1e-14)
    np.testing.assert_allclose(found.center, 0.0, atol=1e-14)


def test_what_has_one_direction_is_refused():
    first = Screw.from_line([1.0, 0.0, 0.0], pitch=0.2).twist()
    with pytest.raises(ValueError, match="axes of the two screws are parallel"):
        cylindroid(first, Screw.from_line([-2.0, 0.0, 0.0], point=[0.0, 1.0, 0.0]).twist())
    with pytest.raises(ValueError, match="a twist is a translation"):
        cylindroid(first, [0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
