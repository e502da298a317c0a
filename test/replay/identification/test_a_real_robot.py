# SPDX-License-Identifier: Apache-2.0
"""Friction, a load and inertias from the recording of a Panda."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from helpers.models.robots import shared_robot
from helpers.paths import RECORDINGS, ROOT
from helpers.recorded.bags import needs_rosbags
from helpers.recorded.identifying import found_by, needs_data

from rbd_dynamics import Robot, load_urdf, load_yaml
from rbd_dynamics.model import Model, ModelWarning
from rbd_dynamics.replay import Recording, Settings, segments
from rbd_dynamics.replay.identification import FrictionIdentifier, InertiaIdentifier, PayloadIdentifier


def panda(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(RECORDINGS / f"{name}.urdf")


def recorded(model: Model):
    return segments(Recording(RECORDINGS / "panda_exciting_trajectory.db3"), model, settings=Settings())


@needs_rosbags
@needs_data
def test_friction_of_a_real_robot_lowers_the_error_of_each_joint():
    model = panda("fer_hand")
    parts = recorded(model)
    found = found_by(FrictionIdentifier(shared_robot(model), low_pass=parts.low_pass), parts)
    assert [joint.joint for joint in found.joints] == [f"fer_joint{k}" for k in range(1, 8)]
    for joint in found.joints:
        assert joint.rmse_after < 0.97 * joint.rmse_before
        assert 0.1 < joint.coulomb.value < 0.5  # N m; all positive, though nothing says that they must
    assert found.of("fer_joint7").rmse_after < 0.25 * found.of("fer_joint7").rmse_before


@needs_rosbags
@needs_data
def test_the_hand_of_a_real_robot_is_found_when_the_model_has_none():
    model, complete = panda("fer"), panda("fer_hand")
    truth = complete.mass - model.mass
    assert truth == pytest.approx(0.7126)
    parts = recorded(model)
    found = found_by(PayloadIdentifier(shared_robot(model), "fer_link8", low_pass=parts.low_pass), parts)
    assert found.mass.value == pytest.approx(truth, rel=0.05)
    assert found.mass.covers(truth)
    assert found.mass.upper - found.mass.lower < truth  # the description is wrong elsewhere, too
    assert not any(estimate.identifiable for estimate in found.inertia)  # it hardly turns
    assert all(joint.rmse_after < 0.6 * joint.rmse_before for joint in found.joints)


@needs_rosbags
@needs_data
@pytest.mark.filterwarnings("ignore::rbd_dynamics.model.ModelWarning")
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "bag").symlink_to(RECORDINGS / "panda_exciting_trajectory.db3")
    (tmp_path / "robot.urdf").symlink_to(RECORDINGS / "fer.urdf")
    page = (ROOT / "docs" / "identification.md").read_text()
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S):
        exec(block, names)
    assert "mass 0.71" in capsys.readouterr().out
    assert load_urdf(names["text"]).mass == pytest.approx(names["better"].model.mass)
    assert load_yaml("better.yaml") == names["better"].model


@needs_rosbags
@needs_data
def test_inertias_of_a_real_robot_explain_more_and_load_again():
    model = panda("fer_hand")
    parts = recorded(model)
    found = found_by(InertiaIdentifier(shared_robot(model), low_pass=parts.low_pass), parts)
    for joint, consistent in zip(found.joints, found.rmse_consistent):
        assert 0.95 * joint.rmse_after < consistent < 0.75 * joint.rmse_before
    assert found.model.mass == pytest.approx(model.mass, rel=0.1)
    again = load_urdf(found.urdf(RECORDINGS / "fer_hand.urdf"))
    state = np.random.default_rng(0).normal(size=(3, 50, model.nv))
    one, other = (Robot(m, friction=True).inverse_dynamics(*state) for m in (again, found.model))
    assert np.allclose(one, other, rtol=1e-12, atol=1e-12)
