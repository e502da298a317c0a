# SPDX-License-Identifier: Apache-2.0
"""Checks of trajectories: extrema between points, first passings, margins; by closed forms and fine samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.control.motion.trajectory import Trajectory, Waypoints
from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.trajectories import Limits, check

TIMES = np.array([0.0, 0.5, 0.8, 1.5])
TERMS = ("inertia", "coriolis", "gravity", "spring", "friction")


@pytest.fixture(scope="module")
def arm():
    return Robot(load_urdf(ARM))


def motion(names=JOINTS, positions=None, velocities=None, accelerations=None, times=TIMES):
    count = len(times), len(names)
    missing = np.full(count, math.nan)
    return Waypoints(
        tuple(names),
        np.asarray(times, dtype=float),
        np.zeros(count) if positions is None else np.asarray(positions, dtype=float),
        missing if velocities is None else np.asarray(velocities, dtype=float),
        missing if accelerations is None else np.asarray(accelerations, dtype=float),
    )


def of(report, quantity, joint):
    (found,) = [margin for margin in report.margins if (margin.quantity, margin.joint) == (quantity, joint)]
    return found


def test_a_quintic_from_rest_to_rest_has_the_extrema_of_its_closed_form(arm):
    """Peak velocity 15/8 d/T at T/2, peak acceleration 10/sqrt(3) d/T^2 at T (1/2 - sqrt(3)/6) and its mirror image."""
    d, T, still = 0.9, 0.75, np.zeros((2, 1))
    fields = {"velocity": 2.0, "acceleration": 9.0, "effort": 0.0}
    points = motion(["elbow"], [[0.0], [d]], still, still, [0.0, T])
    report = check(arm, points, Limits.of(arm, ["elbow"], **fields))
    speed, acceleration = of(report, "velocity", "elbow"), of(report, "acceleration", "elbow")
    assert speed.value == pytest.approx(15 / 8 * d / T, rel=1e-12) and speed.time == pytest.approx(T / 2, abs=1e-9)
    assert abs(acceleration.value) == pytest.approx(10 / math.sqrt(3) * d / T**2, rel=1e-12)
    nearest = min(abs(acceleration.time - T * (0.5 + sign * math.sqrt(3) / 6)) for sign in (-1, 1))
    assert nearest < 1e-9
    assert speed.margin == pytest.approx(2.0 - speed.value) and speed.passed
    # first beyond 2: the root of 30 d/T r^2 (1 - r)^2 = 2
    r = 0.5 * (1 - math.sqrt(1 - 4 * math.sqrt(2.0 * T / 30 / d)))
    assert speed.passed_at == pytest.approx(r * T, rel=1e-5)
    assert [margin.used for margin in report.margins] == sorted((m.used for m in report.margins), reverse=True)
    assert not report.within and "velocity of 'elbow' is 2.25 at 0.375 s, 0.25 beyond its limit of 2" in str(report)


@pytest.mark.parametrize("given", ["quintic", "cubic", "line"])
def test_extrema_are_those_of_fine_samples(arm, given):
    rng = np.random.default_rng(3)
    positions, velocities, accelerations = rng.uniform(-0.3, 0.3, (3, 4, 3)) * np.array([1.0, 1.0, 0.2])
    velocities[-1] = 0.0  # else it jumps there
    points = motion(
        JOINTS, positions, None if given == "line" else velocities, accelerations if given == "quintic" else None
    )
    limits = Limits.of(arm, JOINTS, acceleration=1.0, power=1.0, effort_rate=1.0, tool_speed={"hand": 0.1, "fore": 0.2})
    report = check(arm, points, limits)
    trajectory = Trajectory(points)
    inner = np.linspace(0.0, 1.0, 4001)[1:-1]
    times = np.concatenate([a + inner * (b - a) for a, b in zip(TIMES, TIMES[1:])])
    q, v, a = np.array([trajectory.sample(t) for t in times]).transpose(1, 0, 2)
    tau = inverse_dynamics_terms(arm, q, v, a, TERMS)
    rigid = tau - arm.friction_torque(v)
    rate = np.concatenate([np.gradient(part, t, axis=0)[2:-2] for part, t in
                           zip(np.split(rigid, 3), np.split(times, 3))])  # fmt: skip
    sampled = {"velocity": v, "effort": tau, "power": tau * v, "effort_rate": rate}
    if given != "line":
        sampled["acceleration"] = a
    for quantity, values in sampled.items():
        for column, joint in enumerate(JOINTS):
            found = of(report, quantity, joint)
            near = 1e-2 if quantity == "effort_rate" else 2e-3  # that reference is a difference, and not at ends
            assert abs(found.value) == pytest.approx(np.abs(values[:, column]).max(), rel=near), (quantity, joint)
            assert abs(found.value) >= np.abs(values[:, column]).max() * (1 - 1e-5)
    speed = np.linalg.norm(np.einsum("nij,nj->ni", arm.jacobian(q, "hand")[:, 3:], v), axis=1)
    assert of(report, "tool_speed", "hand").value == pytest.approx(speed.max(), rel=1e-4)
    for margin in report.margins:
        if margin.passed and margin.quantity in sampled and not (given == "line" and margin.quantity == "acceleration"):
            values, column = sampled[margin.quantity], JOINTS.index(margin.joint)
            if margin.quantity != "effort_rate":
                first = times[np.argmax(np.abs(values[:, column]) > abs(margin.limit))]
                assert margin.passed_at == pytest.approx(first, abs=1e-3)


def test_a_jump_of_the_velocity_is_an_acceleration(arm):
    points = motion(["elbow"], [[0.0], [0.5], [0.5]], times=[0.0, 1.0, 2.0])
    report = check(arm, points, Limits.of(arm, ["elbow"], acceleration=10.0))
    assert of(report, "acceleration", "elbow").value == pytest.approx(50.0) or of(
        report, "acceleration", "elbow"
    ).value == pytest.approx(-50.0)


def test_positions_are_compared_with_both_ends_of_their_range(arm):
    still = np.zeros((2, 1))
    report = check(arm, motion(["slide"], [[0.0], [-0.15]], still, still, [0.0, 1.0]), Limits.of(arm, ["slide"]))
    found = of(report, "position", "slide")
    assert (found.value, found.limit, found.margin) == pytest.approx((-0.15, -0.1, -0.05))
    assert found.used == pytest.approx(0.2 / 0.15) and found.passed
    elbow = check(arm, motion(["elbow"], [[0.0], [40.0]], still, still, [0.0, 100.0]), Limits.of(arm, ["elbow"]))
    assert "position" not in {margin.quantity for margin in elbow.margins}  # continuous


def test_a_payload_counts(arm):
    other = Robot(arm.model)
    other.set_payload("hand", 3.0)
    still = np.zeros((2, 3))
    points = motion(JOINTS, [[0.0, 0.0, 0.0], [0.5, 0.5, 0.1]], still, still, [0.0, 1.0])
    light, heavy = (
        of(check(robot, points, Limits.of(arm, JOINTS)), "effort", "shoulder").used for robot in (arm, other)
    )
    assert heavy > 1.5 * light


def test_one_point_stands(arm):
    report = check(arm, motion(JOINTS, [[0.1, 0.2, 0.0]], times=[0.0]), Limits.of(arm, JOINTS))
    assert report.within and str(report) == "all limits are kept"
    assert of(report, "effort", "shoulder").value == pytest.approx(arm.gravity([0.1, 0.2, 0.0])[0])


def test_what_cannot_be_checked_is_refused_by_name(arm):
    with pytest.raises(ValueError, match="limits are of joints slide, the motion is of elbow"):
        check(arm, motion(["elbow"]), Limits.of(arm, ["slide"]))
    with pytest.raises(ValueError, match="wrist"):
        check(arm, motion(["wrist"]), Limits.of(arm, ["wrist"]))
    ill = motion(["elbow"], [[0.0], [1.0]], np.zeros((2, 1)), np.zeros((2, 1)), [0.0, 1e-160])
    with pytest.raises(ValueError, match="'elbow' after 0 s is not finite"):
        check(arm, ill, Limits.of(arm, ["elbow"]))
    for times, culprit in (
        ([1.0, 0.0], "point 1 .* does not come after point 0"),
        ([0.0, np.nan], "of point 1 is nan"),
    ):
        with pytest.raises(ValueError, match=culprit):
            check(arm, motion(["elbow"], [[0.0], [1.0]], times=times), Limits.of(arm, ["elbow"]))
    none = Waypoints(("elbow",), np.zeros(0), *np.zeros((3, 0, 1)))
    with pytest.raises(ValueError, match="has no points"):
        check(arm, none, Limits.of(arm, ["elbow"]))
    with pytest.raises(ValueError, match="unknown term"):
        check(arm, motion(["elbow"]), Limits.of(arm, ["elbow"]), terms=["magic"])
