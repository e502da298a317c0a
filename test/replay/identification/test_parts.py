# SPDX-License-Identifier: Apache-2.0
"""What identification is made of: sums in blocks, least squares, pseudo-inertias, and the text of a URDF."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.signal
import scipy.stats
from helpers.models.robots import FILES

from rbd_dynamics import Mimic, ModelBuilder, Robot, load_urdf
from rbd_dynamics.model import ModelWarning
from rbd_dynamics.model.joints import Revolute
from rbd_dynamics.replay.identification import corrected_urdf, lumped_links
from rbd_dynamics.replay.identification.inertial import with_inertias
from rbd_dynamics.replay.identification.least_squares import solve
from rbd_dynamics.replay.identification.normal_equations import MOST_BLOCKS, NormalEquations
from rbd_dynamics.replay.identification.pseudo_inertia import (
    LogCholesky,
    consistent_inertias,
    inertial_parameters,
    possible,
    pseudo_inertia,
)
from rbd_dynamics.replay.identification.samples import friction_of, with_friction
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction

RATE = 100


def stamps(count: int, start: int = 0) -> np.ndarray:
    return (start + np.arange(count)) * (10**9 // RATE)


def regression(seed: int, count: int = 6000, colour: float = 0.0):
    """Two joints that share a parameter: columns, targets, and the truth (5,)."""
    rng = np.random.default_rng(seed)
    truth = np.array([1.0, -2.0, 0.5, 3.0, 0.0])
    indices = [np.array([0, 1, 2]), np.array([0, 3, 4])]
    columns = [rng.normal(size=(count, 3)) for _ in indices]
    noise = rng.normal(size=(2, count))
    if colour:
        kernel = scipy.signal.butter(2, 3.0, fs=RATE, output="sos")
        noise = scipy.signal.sosfilt(kernel, noise) * colour
        columns = [scipy.signal.sosfilt(kernel, x, axis=0) for x in columns]
    targets = [
        x @ truth[own] + size * e for x, own, e, size in zip(columns, indices, noise, (0.3, 3.0))
    ]  # fmt: skip
    return indices, columns, targets, truth


def equations_of(seed: int, **options) -> tuple[NormalEquations, np.ndarray]:
    indices, columns, targets, truth = regression(seed, **options)
    found = NormalEquations(indices, len(truth))
    for joint, (x, y) in enumerate(zip(columns, targets)):
        found.add(joint, stamps(len(y)), x, y)
    return found, truth


# --- normal equations ---------------------------------------------------------------------------------------------


def test_however_long_the_recording_there_are_few_blocks_and_nothing_is_lost():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50_000, 2)), rng.normal(size=50_000)
    found = NormalEquations([np.arange(2)], 2)
    for k in range(0, len(y), 1700):
        found.add(0, stamps(len(y))[k : k + 1700], x[k : k + 1700], y[k : k + 1700])
        assert len(found.blocks()) <= MOST_BLOCKS
    assert len(found.blocks()) > MOST_BLOCKS / 2 - 1
    rows = np.column_stack([x, y])
    assert np.allclose(found.totals()[0], rows.T @ rows, rtol=1e-12)
    assert found.samples[0] == len(y)
    assert len(found.blocks(2)) == pytest.approx(len(found.blocks()) / 4, abs=1)


def test_of_many_columns_fewer_blocks_are_kept():
    large = NormalEquations([np.arange(700)] * 10, 700)
    assert large.most == 16
    for k in range(20):
        large.add(0, np.array([k * 10**9]), np.zeros((1, 700)), np.zeros(1))
    assert len(large.blocks()) == 10


def test_the_order_in_which_parts_are_added_does_not_matter():
    rng = np.random.default_rng(0)
    x, y, at = rng.normal(size=(20_000, 2)), rng.normal(size=20_000), stamps(20_000, 10**9)
    parts = [slice(k, k + 999) for k in range(0, len(y), 999)]
    one, other, rest = (NormalEquations([np.arange(2)], 2) for _ in range(3))
    for part in parts:
        one.add(0, at[part], x[part], y[part])
    for k, part in enumerate(reversed(parts)):
        (other, rest)[k < 3].add(0, at[part], x[part], y[part])
    rest.merge(other)
    assert len(one.blocks()) == len(rest.blocks())
    for (a,), (b,) in zip(one.blocks(), rest.blocks()):
        assert np.allclose(a, b, rtol=1e-11, atol=1e-11)
    with pytest.raises(ValueError, match="other parameters"):
        one.merge(NormalEquations([np.arange(3)], 3))
    with pytest.raises(ValueError, match="not finite"):
        one.add(0, at[:2], np.full((2, 2), np.nan), np.zeros(2))


# --- least squares ------------------------------------------------------------------------------------------------


def test_values_are_those_of_weighted_least_squares():
    indices, columns, targets, truth = regression(1)
    fit = solve(equations_of(1)[0], np.full(5, 100.0))
    weights = 1.0 / fit.rms_after
    rows = []
    for own, x, weight in zip(indices, columns, weights):
        block = np.zeros((len(x), 5))
        block[:, own] = x * weight
        rows.append(block)
    expected = np.linalg.lstsq(np.vstack(rows), np.concatenate([y * w for y, w in zip(targets, weights)]))[0]
    assert np.allclose(fit.values, expected, rtol=1e-9, atol=1e-12)
    assert fit.rms_after == pytest.approx([0.3, 3.0], rel=0.05)
    assert fit.identifiable.all()
    assert np.all(np.abs(fit.values - truth) < 4.0 * fit.errors)


@pytest.mark.parametrize("colour", [0.0, 3.0])
def test_errors_are_as_large_as_values_are_wrong_whatever_the_colour_of_noise(colour):
    fits = [solve(equations_of(seed, colour=colour)[0], np.full(5, 100.0)) for seed in range(100)]
    truth = regression(0)[3]
    wrong = np.sqrt(np.mean([(fit.values - truth) ** 2 for fit in fits], axis=0))
    stated = np.sqrt(np.mean([fit.errors**2 for fit in fits], axis=0))
    assert np.all(stated / wrong > 0.75) and np.all(stated / wrong < 1.5)
    inside = np.mean([np.abs(fit.values - truth) < fit.quantile * fit.errors for fit in fits])
    assert 0.91 < inside < 0.99
    assert np.median([fit.colour for fit in fits]) > (5.0 if colour else 0.7)


def test_what_columns_cannot_tell_apart_is_not_identifiable_and_stays_at_zero():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 4))
    x[:, 2] = 2.0 * x[:, 1]  # these two only together
    x[:, 3] = 0.0
    y = x @ [1.0, 1.0, 1.0, 5.0] + 0.1 * rng.normal(size=5000)
    found = NormalEquations([np.arange(4)], 4)
    found.add(0, stamps(5000), x, y)
    fit = solve(found, np.full(4, 10.0))
    assert fit.identifiable.tolist() == [True, False, False, False]
    assert fit.values[3] == 0.0
    assert fit.values[1] + 2.0 * fit.values[2] == pytest.approx(3.0, abs=0.01)
    assert fit.values[2] == pytest.approx(2.0 * fit.values[1])  # the least deviation from the prior
    together = np.array([0.0, 1.0, 2.0, 0.0])
    assert together @ fit.covariance @ together < 1e-4


@pytest.mark.parametrize(("seconds", "blocks"), [(12, 12), (11, 22), (3, 6)])
def test_blocks_are_doubled_as_long_as_a_dozen_are_left(seconds, blocks):
    noise = np.repeat(np.random.default_rng(0).normal(size=seconds), RATE)  # twice as long as a block stands still
    found = NormalEquations([np.arange(1)], 1)
    found.add(0, stamps(len(noise)), np.ones((len(noise), 1)), noise)
    fit = solve(found, np.full(1, 100.0))
    assert fit.blocks == blocks
    assert fit.quantile == scipy.stats.t.ppf(0.975, blocks - 1)


def test_few_blocks_tell_no_errors():
    rng = np.random.default_rng(0)
    found = NormalEquations([np.arange(1)], 1)
    found.add(0, stamps(250), rng.normal(size=(250, 1)), rng.normal(size=250))
    fit = solve(found, np.ones(1))
    assert fit.blocks == 5 and not fit.identifiable.any() and np.isnan(fit.quantile)
    nothing = solve(NormalEquations([np.arange(1)], 1), np.ones(1))
    assert not nothing.identifiable.any() and np.isnan(nothing.rms_after).all()


# --- friction of a model ------------------------------------------------------------------------------------------


def test_friction_of_followers_counts_for_their_leader_and_is_replaced_with_it():
    builder = ModelBuilder("gripper")
    options = {"mass": 1.0, "inertia": (0.1, 0, 0, 0.1, 0, 0.1), "damping": 0.3, "friction": 0.2}
    builder.add_body("palm", None, Revolute((0, 0, 1)), joint_name="wrist", **options)
    builder.add_body("left", "palm", Revolute((1, 0, 0)), joint_name="finger", **options)
    builder.add_body(
        "right", "palm", Revolute((1, 0, 0)), joint_name="other", mimic=Mimic("finger", multiplier=-2.0), **options
    )
    model = builder.build()
    v = np.array([3.0, -4.0])
    coulomb, viscous = friction_of(model)
    assert Robot(model).friction_torque(v) == pytest.approx(coulomb * np.sign(v) + viscous * v)
    assert np.allclose([coulomb, viscous], [[0.2, 0.6], [0.3, 1.5]])
    found = friction_of(with_friction(model, {"finger": (0.7, 1.1)}))
    assert np.allclose(found, [[0.2, 0.7], [0.3, 1.1]])
    assert np.allclose(friction_of(with_friction(model, {"finger": (-0.1, np.nan)})), [[0.2, 0.0], [0.3, 1.5]])
    with pytest.raises(KeyError, match="thumb"):
        with_friction(model, {"thumb": (1.0, 1.0)})


# --- pseudo-inertias ----------------------------------------------------------------------------------------------


def body(rng: np.random.Generator) -> np.ndarray:
    """Parameters of a cloud of points."""
    points, masses = rng.normal(size=(6, 3)) * [0.1, 0.2, 0.3] + 0.1, rng.uniform(0.1, 1.0, 6)
    x = np.column_stack([points, np.ones(6)])
    return inertial_parameters((x * masses[:, None]).T @ x)


def test_a_pseudo_inertia_is_the_second_moment_of_mass():
    rng = np.random.default_rng(0)
    point = np.array([0.1, -0.2, 0.3])
    found = inertial_parameters(2.0 * np.outer([*point, 1.0], [*point, 1.0]))
    about = 2.0 * (point @ point * np.eye(3) - np.outer(point, point))
    assert np.allclose(found, [2.0, *(2.0 * point), *about[np.triu_indices(3)]])
    for _ in range(5):
        parameters = body(rng)
        assert np.allclose(inertial_parameters(pseudo_inertia(parameters)), parameters, rtol=1e-12, atol=1e-15)


def test_any_ten_numbers_are_a_body_that_can_exist():
    rng = np.random.default_rng(1)
    prior = body(rng)
    chart = LogCholesky(prior)
    assert np.allclose(chart(np.zeros(10))[0], prior, rtol=1e-12)
    for _ in range(20):
        numbers = rng.normal(size=10)
        parameters, slope = chart(numbers)
        assert np.linalg.eigvalsh(pseudo_inertia(parameters)).min() > 0.0
        step = 1e-6
        numerical = [(chart(numbers + step * e)[0] - chart(numbers - step * e)[0]) / (2 * step) for e in np.eye(10)]
        assert np.allclose(slope, np.column_stack(numerical), rtol=1e-6, atol=1e-7)
        # the divergence is the one of the definition
        ratio = np.linalg.solve(pseudo_inertia(prior), pseudo_inertia(parameters))
        roots, slopes = LogCholesky.divergence(numbers)
        assert roots @ roots == pytest.approx(np.trace(ratio) - np.log(np.linalg.det(ratio)) - 4.0, rel=1e-9)
        moved = [LogCholesky.divergence(numbers + s * step)[0] for s in (1.0, -1.0)]
        assert np.allclose((moved[0] - moved[1]) / (2 * step), slopes, rtol=1e-5, atol=1e-7)
    small = [LogCholesky.divergence(np.full(10, x)) for x in (0.99e-4, 1.01e-4)]
    assert np.allclose(small[1][0] / small[0][0], 1.01 / 0.99, rtol=1e-6)  # nothing jumps where the series takes over
    with pytest.raises(ValueError, match="no rigid body"):
        LogCholesky(np.array([1.0, 0, 0, 0, 1.0, 0, 0, 1.0, 0, 3.0]))


def test_the_nearest_body_that_can_exist_fits_a_possible_target_and_bends_an_impossible_one():
    rng = np.random.default_rng(2)
    prior, truth = body(rng), body(rng)
    certain = 1e12 * np.diag(1.0 / np.maximum(np.abs(truth), 0.01) ** 2)
    assert np.allclose(consistent_inertias([prior], np.eye(10), truth, certain, 1.0)[0], truth, rtol=1e-3, atol=1e-4)
    assert np.allclose(consistent_inertias([prior], np.eye(10), truth, 0.0 * certain, 1.0)[0], prior, rtol=1e-6)
    impossible = truth.copy()
    impossible[0], impossible[4] = -1.0, 5.0
    found = consistent_inertias([prior], np.eye(10), impossible, 1e2 * np.eye(10), 1.0)[0]
    assert np.linalg.eigvalsh(pseudo_inertia(found)).min() > 0.0


def test_a_slip_in_a_file_is_made_possible_with_the_same_mass_and_centre():
    slip = np.array([2.0, 0.2, 0.0, 0.0, 0.01, 0.0, 0.0, 0.03, 0.0, 0.05])
    found = possible(slip)
    assert np.linalg.eigvalsh(pseudo_inertia(found)).min() > 0.0
    assert np.allclose(found[:4], slip[:4])
    fine = body(np.random.default_rng(0))
    assert possible(fine) is fine
    point = np.array([1.0, *3 * [0.0], *6 * [0.0]])
    assert np.linalg.eigvalsh(pseudo_inertia(possible(point))).min() > 0.0


# --- URDF ---------------------------------------------------------------------------------------------------------

TEXT = """<?xml version="1.0"?>
<!-- a <link name="upper"> in a comment -->
<robot name="arm" xmlns:drake="http://drake.mit.edu">
  <link name="base">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link  name = 'upper' >
    <visual><geometry><box size="1 1 1"/></geometry></visual>
    <inertial>
      <!-- from CAD -->
      <mass value="2"/> <origin xyz="0 0 .2" rpy="0.1 0 0"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
    </inertial>
    <collision name="a>b"/>
  </link>
  <link name="tool">
    <inertial><mass value="0.5"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
  </link>
  <link name="lower"/>
  <link name="tip">
    <inertial><mass value="1"/><inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="1"/>
    <dynamics mu="3" friction="0.5"
              damping='0.1'/>
  </joint>
  <joint name="mount" type="fixed"><parent link="upper"/><child link="tool"/><origin xyz="0 0 0.5"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="1 0 0"/></joint>
  <joint name="end" type="fixed"><parent link="lower"/><child link="tip"/><origin xyz="0 0.3 0" rpy="1 0 0"/></joint>
</robot>
"""


def same_dynamics(one, other) -> bool:
    state = np.random.default_rng(0).normal(size=(3, 20, one.nv))
    return np.allclose(
        Robot(one, friction=True).inverse_dynamics(*state), Robot(other, friction=True).inverse_dynamics(*state),
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip


def test_a_urdf_gets_new_inertias_and_friction_and_nothing_else_changes(tmp_path):
    given = load_urdf(TEXT)
    model = with_joint_friction(
        perturb_inertias(given, 0.2),
        damping={"shoulder": 0.25, "elbow": 0.75},
        friction={"shoulder": 0.5, "elbow": 1.5},
    )
    text = corrected_urdf(TEXT, model)
    assert same_dynamics(load_urdf(text), model) and not same_dynamics(given, model)
    assert load_urdf(text).mass == pytest.approx(model.mass)
    assert lumped_links(model) == {"upper": ["tool"], "lower": ["tip"]}
    for line in TEXT.splitlines():
        if not any(
            word in line for word in ("mass", "inertia", "CAD", 'lower"/>', "damping", "elbow", "'upper'", "tool")
        ):
            assert line in text.splitlines()
    assert '<dynamics mu="3" friction="0.5"\n              damping="0.25"/>' in text
    assert '<dynamics damping="0.75" friction="1.5"/>' in text
    assert re.search(r'<link name="lower"><inertial>.*</inertial></link>', text)
    assert text.count("<inertial>") == 3  # the base, and one for each body
    file = tmp_path / "arm.urdf"
    file.write_bytes(TEXT.replace('1.0"?', '1.0" encoding="latin-1"?').replace("CAD", "Gerät").encode("latin-1"))
    again = corrected_urdf(file, given)
    assert same_dynamics(load_urdf(again.replace(' encoding="latin-1"', "")), given)


def test_only_friction_may_be_written():
    given = load_urdf(TEXT)
    model = with_joint_friction(given, damping={"shoulder": 0.25})
    text = corrected_urdf(TEXT, model, inertias=False)
    assert text == TEXT.replace("damping='0.1'", 'damping="0.25"')
    assert corrected_urdf(TEXT, given, inertias=False) == TEXT
    assert 'friction="0.5"' in corrected_urdf(TEXT, perturb_inertias(model, 0.1), friction=False)


def test_a_urdf_of_another_robot_is_refused():
    with pytest.raises(ValueError, match="no link 'tool'"):
        corrected_urdf(TEXT.replace('"tool"', '"hook"'), load_urdf(TEXT))
    with pytest.raises(ValueError, match="not well-formed"):
        corrected_urdf("<robot></robot></robot>", load_urdf(TEXT))


def test_locked_and_chosen_joints_load_again_with_the_same_arguments():
    for options in ({"locked": {"elbow": 0.7}}, {"joints": ["elbow"]}, {"base": "floating"}):
        given = load_urdf(TEXT, **options)
        model = perturb_inertias(given, 0.2)
        again = load_urdf(corrected_urdf(TEXT, model), **options)
        assert np.allclose(Robot(again).inertial_parameters, Robot(model).inertial_parameters, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(not FILES, reason="needs example-robot-data")
@pytest.mark.parametrize("name", [name for name in ("panda", "baxter", "talos_full_v2", "solo12") if name in FILES])
def test_real_files_take_new_inertias(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        given = load_urdf(FILES[name])
        rows = [possible(row) if row[0] > 0.0 else row for row in Robot(given).inertial_parameters]
        model = perturb_inertias(with_inertias(given, np.array(rows)), 0.1)
        again = load_urdf(corrected_urdf(FILES[name], model))
    assert again.mass == pytest.approx(model.mass, rel=1e-12)
    assert np.allclose(Robot(again).inertial_parameters, Robot(model).inertial_parameters, rtol=1e-9, atol=1e-12)
