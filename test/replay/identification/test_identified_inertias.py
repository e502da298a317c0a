# SPDX-License-Identifier: Apache-2.0
"""Inertias from recordings of simulated robots that are known exactly."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from helpers.models.identified import arm, with_friction, without_friction
from helpers.models.robots import FILES, shared_robot
from helpers.recorded.exciting import LOW_PASS, RATE, fourier, measured, segments_of
from helpers.recorded.identifying import SEEDS, Coverage, found_by, needs_files, note_friction, resting
from helpers.wide import table

from rbd_dynamics import Robot, load_urdf, model_from_dict
from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.model import Model
from rbd_dynamics.replay.identification import Estimate, InertiaIdentifier
from rbd_dynamics.replay.identification.inertial import with_inertias
from rbd_dynamics.replay.identification.pseudo_inertia import pseudo_inertia
from rbd_dynamics.replay.identification.validation import Validation
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction


@needs_files
@pytest.mark.parametrize("robot_name", table(["ur5_robot", "panda"], ["ur5_robot"]))
def test_base_parameters_lie_in_their_intervals_and_bodies_can_exist(robot_name):
    given = without_friction(robot_name)
    truth, offset = with_friction(given)
    coverage, friction, identifiable, narrower = Coverage(), Coverage(), [], []
    for seed in SEEDS[::2]:  # each with some forty parameters
        model = perturb_inertias(truth, 0.15, seed=seed)
        identifier = InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS)
        found = found_by(identifier, segments_of(*measured(model, seed, offset=offset)))
        actual = identifier.base.of(shared_robot(model).inertial_parameters)
        for estimate, value in zip(found.base, actual):
            identifiable.append(estimate.identifiable)
            if estimate.identifiable:
                coverage.note(estimate, value)
        note_friction(friction, found.joints, model, offset)
        for row in found.parameters:
            assert np.linalg.eigvalsh(pseudo_inertia(row)).min() > 0.0
        for joint, consistent in zip(found.joints, found.rmse_consistent):
            assert 0.95 * joint.rmse_after < consistent < 1.05 * joint.rmse_after < 0.5 * joint.rmse_before
        # what the new model predicts is nearer to the truth in other motions, too
        t = np.arange(200) / 10.0
        motion = fourier(given, t, seed=100 + seed)
        tau, new, old = (shared_robot(m).inverse_dynamics(*motion) for m in (model, found.model, given))
        narrower.append(np.sqrt(np.mean((new - tau) ** 2) / np.mean((old - tau) ** 2)))
    coverage.check()
    friction.check()
    assert np.mean(identifiable) > 0.6
    assert max(narrower) < 0.3


def test_what_is_exported_is_never_worse_and_says_three_figures():
    """Inertias that are made possible after the fit, with offsets as they were, would be: see possible_model.py."""
    given = arm()
    real = perturb_inertias(with_joint_friction(given, friction={"j1": 2.0}), 0.3, seed=2)
    offset = np.array([0.5, 4.0, -0.3])
    identifier = InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS)
    found = found_by(identifier, segments_of(*measured(real, 2, 30.0, offset=offset, noise=2.0, colour=0.1)))
    proof = found.validation
    assert found.refused == "" and proof.worse == () and proof.folds == 4
    for joint, consistent in zip(found.joints, found.rmse_consistent):
        before, base, exported, beside = proof.of(joint.joint)
        assert consistent < 1.1 * joint.rmse_after
        assert exported <= 1.02 * before + 0.01 and beside < 1.2 * base < before
    # and where nothing can be gained, the given model is not touched
    same = found_by(InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS), segments_of(*measured(given, 3, 30.0)))
    assert same.validation.worse == () and np.array_equal(same.parameters, same.given) and not same.rotors


@pytest.mark.parametrize("rotor", [0.0, 0.2])
def test_bodies_that_are_as_described_stay_beside_friction_that_no_description_holds(rotor):
    """Seen: an arm described without error got masses that were off by two thirds, since they stood in for friction."""
    real = arm()
    zeros = dict.fromkeys(real.joint_names, 0.0)
    given = with_joint_friction(real, damping=zeros, friction=zeros)
    stamps, numbers = measured(real, 3, 60.0, stribeck=(1.4, 0.05), colour=0.05)
    motion = fourier(real, np.arange(len(stamps)) / RATE)
    numbers[:, 2] += 0.02 * np.abs(shared_robot(given).inverse_dynamics(*motion)) * np.tanh(motion[1] / 1e-2)
    numbers[:, 2, 1] += rotor * motion[2][:, 1]  # which the description lacks
    found = found_by(InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS), segments_of(stamps, numbers))
    assert not found.refused and np.array_equal(found.parameters, found.given)
    assert [found.rotors.get(name, 0.0) for name in real.joint_names] == pytest.approx([0.0, rotor, 0.0], abs=0.01)
    for joint, told in zip(found.model.joints, found.joints):
        assert joint.friction == pytest.approx(0.3, abs=0.15) and told.rmse_after < 0.5 * told.rmse_before


def test_a_worse_model_is_refused_with_its_figures_and_so_is_nan():
    proof = Validation(("a", "b", "c"), 4, (1.0, 1.0, 1.0), (0.5,) * 3, (1.1, 0.9, np.nan), (0.8,) * 3, (10.0,) * 3)
    assert proof.worse == ("a", "c")
    assert "a 1 before, 0.5 base fit, 1.1 exported, 0.8 with offsets" in proof.refusal()


def test_numbers_that_cannot_be_are_cut_off_or_refused():
    positive = Estimate.of("coulomb", 0.3, 0.1, 2.0, "N m", True)
    assert positive.at_least_zero("why") is positive
    near = Estimate.of("coulomb", -0.05, 0.1, 2.0, "N m", True).at_least_zero("why")
    assert (near.value, near.lower, near.upper) == pytest.approx((0.0, 0.0, 0.15)) and near.identifiable
    below = Estimate.of("Ixx", -0.12, 0.01, 2.0, "kg m^2", True).at_least_zero("no body has it")
    assert not below.identifiable and np.isnan(below.value)
    assert below.finding == "-0.12 ± 0.02 kg m^2: no body has it"


def test_what_is_not_excited_stays_as_it_was():
    given = arm()
    model = perturb_inertias(given, 0.2, seed=1)
    stamps, numbers = measured(model, 1)
    numbers[:, 0, :2], numbers[:, 1, :2] = [0.4, -0.3], 0.0
    t = np.arange(len(stamps)) / RATE
    a = fourier(model, t)[2] * [0.0, 0.0, 1.0]
    numbers[:, 2] = inverse_dynamics_terms(
        shared_robot(model), numbers[:, 0], numbers[:, 1], a, ("inertia", "coriolis", "gravity", "friction")
    ) + 0.01 * np.random.default_rng(4).normal(size=(len(t), 3))
    identifier = InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS)
    found = found_by(identifier, segments_of(stamps, numbers))
    truth = identifier.base.of(shared_robot(model).inertial_parameters)
    known = [estimate.identifiable for estimate in found.base]
    assert 2 <= sum(known) < len(known)
    for estimate, value in zip(found.base, truth):
        if estimate.identifiable:
            assert abs(estimate.value - value) < 5.0 * estimate.error
    assert np.abs(found.parameters[:2] - shared_robot(given).inertial_parameters[:2]).max() < 0.5
    # friction of the joint that moved is known, of the others not
    assert [joint.coulomb.identifiable for joint in found.joints] == [False, False, True]
    assert [joint.friction for joint in found.model.joints][:2] == [0.3, 0.3]


def test_at_rest_nothing_of_inertia_is_known_and_the_model_stays():
    model = arm()
    found = found_by(InertiaIdentifier(shared_robot(model)), resting(model, np.zeros((20, 3))))
    assert not any(estimate.identifiable for estimate in found.base if ".I" in estimate.name)
    assert np.allclose(found.parameters, shared_robot(model).inertial_parameters, rtol=0.05, atol=0.02)
    nothing = InertiaIdentifier(shared_robot(model)).results()
    assert not any(estimate.identifiable for estimate in nothing.base)
    assert np.allclose(nothing.parameters, shared_robot(model).inertial_parameters)
    assert nothing.joints == ()


@pytest.mark.parametrize("noise", [30.0, 300.0])
def test_bodies_can_exist_however_noisy_the_torques(noise):
    given = arm()
    model = perturb_inertias(given, 0.3, seed=5)
    found = found_by(
        InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS), segments_of(*measured(model, 3, 20.0, noise=noise))
    )
    for row in found.parameters:
        assert np.linalg.eigvalsh(pseudo_inertia(row)).min() > 0.0
    model_from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))["model"], strict=True)


@needs_files
@pytest.mark.parametrize("body", ["upper_arm_link", "forearm_link", None])
def test_one_body_that_is_described_wrongly_is_named_with_its_mass(body):
    given = without_friction("ur5_robot")
    real = perturb_inertias(given, 0.15, seed=3)
    if body is not None:  # a third lighter
        k = given.body_names.index(body)
        parameters = Robot(given).inertial_parameters
        parameters[k] *= 0.67
        real = with_inertias(given, parameters)
    real, offset = with_friction(real)
    found = found_by(
        InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS), segments_of(*measured(real, 1, offset=offset))
    ).one_body
    if body is None:
        assert found is None
        return
    mass = given.bodies[k].inertia.mass
    assert (found.body, found.given) == (body, mass) and found.share > 0.95
    if body == "upper_arm_link":  # it only turns about the axis of its own joint
        assert str(found).endswith("; its mass cannot be told by itself")
    else:
        assert found.mass.covers(0.67 * mass) and found.mass.upper - found.mass.lower < 0.02 * mass
        assert re.fullmatch(
            r"forearm_link alone explains \d+ % .*: 2.27 kg in the description, 1.5\d ± .* kg here", str(found)
        )


def test_a_body_is_told_from_one_that_turns_about_its_axis():
    """A forearm from the wrist that rolls at its end, which could stand in for it, but with a negative mass."""

    def rolling(mass: float) -> Model:
        links = [
            ("column", "0 0 1", 0.0, 5.0),
            ("upper", "0 1 0", 0.25, 3.5),
            ("fore", "0 1 0", 0.35, mass),
            ("wrist", "0 0 1", 0.3, 0.6),
            ("tool", "0 1 0", 0.1, 0.3),
        ]
        text, parent = '<link name="base"/>', "base"
        for name, axis, height, own in links:
            text += (
                f'<link name="{name}"><inertial><origin xyz="0 0 0.12"/><mass value="{own}"/>'
                '<inertia ixx="0.02" iyy="0.02" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>'
                f'<joint name="{name}_joint" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
                f'<origin xyz="0 0 {height}"/><axis xyz="{axis}"/>'
                '<limit lower="-3" upper="3" velocity="3" effort="90"/></joint>'
            )
            parent = name
        return load_urdf(f'<robot name="rolling">{text}</robot>')

    given, real = rolling(4.6), rolling(2.0)
    found = found_by(
        InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS), segments_of(*measured(real, 1, noise=0.02))
    ).one_body
    assert found is not None and (found.body, found.given) == ("fore", 4.6)
    assert found.mass.covers(2.0) and found.mass.upper - found.mass.lower < 0.1


@needs_files
def test_a_result_is_a_model_a_dictionary_and_a_urdf():
    given = without_friction("ur5_robot")
    model, offset = with_friction(perturb_inertias(given, 0.15, seed=3))
    found = found_by(
        InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS), segments_of(*measured(model, 1, offset=offset))
    )
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = [load_urdf(found.urdf(FILES["ur5_robot"])), model_from_dict(data["model"])]
    state = np.random.default_rng(0).normal(size=(3, 50, 6))
    expected = Robot(found.model, friction=True).inverse_dynamics(*state)
    for other in again:
        assert np.allclose(Robot(other, friction=True).inverse_dynamics(*state), expected, rtol=1e-12, atol=1e-12)
    assert len(data["base"]) == len(found.base) and data["base"][0]["unit"] in ("kg", "kg m", "kg m^2")
    coulomb = [joint.coulomb.value for joint in found.joints]
    assert [joint.friction for joint in found.model.joints] == pytest.approx(coulomb, rel=1e-2)
