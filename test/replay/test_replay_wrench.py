# SPDX-License-Identifier: Apache-2.0
"""The external wrench at a frame, as columns of replay's tables: of a UR5 that is pushed at its tool, by Pinocchio."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from helpers.checks.pages import unpacked
from helpers.models.robots import FILES, load_twin, needs_pinocchio

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.replay.analysis import analyse
from rbd_dynamics.replay.fleet import Job, run_job
from rbd_dynamics.replay.questions import Questions
from rbd_dynamics.replay.report.figures import wrench_figure
from rbd_dynamics.replay.results.outputs import Outputs
from rbd_dynamics.replay.results.wrench_columns import AXES

pytestmark = pytest.mark.skipif("ur5_robot" not in FILES, reason="needs example-robot-data")
WRENCH = np.array([0.5, -1.0, 2.0, 10.0, -20.0, 5.0])  # (m, f) in the tool's axes
RATE, SECONDS, PUSHED = 100.0, 12.0, (6.0, 9.0)


@needs_pinocchio
def test_samples_tell_the_wrench_that_pushes_the_tool(tmp_path):
    twin = load_twin("ur5_robot")
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    rates, phases = np.array([0.9, 1.1, 0.7, 1.3, 1.0, 0.8]), np.arange(6.0)
    middle, size = np.array([0.3, -1.1, 1.2, -0.4, 0.9, 0.2]), 0.2
    angle = rates * t[:, None] + phases
    q, v, a = middle + size * np.sin(angle), size * rates * np.cos(angle), -size * rates**2 * np.sin(angle)
    rises = np.clip(np.minimum(t - PUSHED[0], PUSHED[1] - t) / 0.5, 0.0, 1.0)
    tau = np.array([
        twin.inverse_dynamics(*state) - share * twin.jacobian(state[0], "tool0").T @ WRENCH
        for share, *state in zip(rises, q, v, a)
    ])  # fmt: skip
    file = tmp_path / "run.csv"
    head = ",".join(["time", *(f"{kind}_{k}" for kind in ("q", "dq", "tau") for k in range(1, 7))])
    np.savetxt(file, np.column_stack([t, q, v, tau]), delimiter=",", header=head, comments="", fmt="%.12g")
    questions = Questions(friction=False, diagnosis=False, wrench_frame="tool0")
    urdf, formats = FILES["ur5_robot"].read_text(), ("csv", "html")
    run_job(Job(file, tmp_path / "out", urdf=urdf, questions=questions, formats=formats))
    assert ">Wrench at tool0</button>" in (tmp_path / "out" / "report.html").read_text()
    with (tmp_path / "out" / "samples.csv").open() as table:
        rows = list(csv.DictReader(table))
    names = [f"tool0.{axis}" for axis in AXES]
    assert {*names, *(f"{name}_deviation" for name in names)} <= rows[0].keys()
    times = np.array([float(row["t"]) for row in rows])
    wrench, deviation = (
        np.array([[float(row[name + what] or "nan") for name in names] for row in rows]) for what in ("", "_deviation")
    )
    began = times < times[0] + 0.9
    assert np.isnan(wrench[began]).all()  # nothing is known yet of how torques scatter
    pushed, free = (times > PUSHED[0] + 1.0) & (times < PUSHED[1] - 1.0), (times > 3.0) & (times < PUSHED[0] - 0.5)
    # the observer is 1 / 30 s late, in which the tool turns by up to .01 rad: of 23 N .23
    np.testing.assert_allclose(wrench[pushed].mean(axis=0), WRENCH, atol=0.23)
    np.testing.assert_allclose(wrench[free].mean(axis=0), 0.0, atol=0.02)
    assert (deviation[pushed] > 0.0).all()
    drawn = analyse(file, Robot(load_urdf(FILES["ur5_robot"])), questions=questions, series=len(times)).wrench
    np.testing.assert_allclose(drawn.mean("wrench"), wrench, rtol=1e-8, atol=1e-8)
    traces = wrench_figure(drawn)["data"]
    for axis, (band, line) in enumerate(zip(traces[::2], traces[1::2], strict=True)):
        low, high, mean = (unpacked(numbers) for numbers in (band["y"], band["upTo"], line["y"]))
        np.testing.assert_allclose(mean, wrench[:, axis], atol=line["y"]["step"])
        np.testing.assert_allclose(high - low, 4.0 * deviation[:, axis], atol=band["y"]["step"] + band["upTo"]["step"])


def test_a_wrench_at_what_is_fixed_to_the_world_is_refused(tmp_path):
    """It would move nothing, and torques tell nothing of it; so it is where nothing is written."""
    robot = Robot(load_urdf(FILES["ur5_robot"]))
    questions = Questions(friction=False, diagnosis=False, wrench_frame="base")
    with pytest.raises(ValueError, match="wrench frame 'base' is fixed to the world: it does not move"):
        analyse(tmp_path / "nothing", robot, questions=questions)


def test_an_unknown_frame_is_refused_before_the_recording_is_read(tmp_path):
    with pytest.raises(KeyError, match="tool0"):
        Outputs(tmp_path / "out", ("csv",), load_urdf(FILES["ur5_robot"]), None, wrench_frame="tool9")
