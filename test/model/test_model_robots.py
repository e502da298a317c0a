# SPDX-License-Identifier: Apache-2.0
"""Real robots: what `load_urdf` makes of them is what Pinocchio makes of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.models.robots import (
    EMPTY_FILE,
    FILES,
    ROBOTS,
    SAMPLE,
    load_robot,
    load_twin,
    needs_pinocchio,
    robot_file,
    sampled,
)

from rbd_dynamics.model import ModelError, load_urdf, preflight
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.spatial.se3 import IDENTITY, Transform

pytestmark = [needs_pinocchio, pytest.mark.filterwarnings("ignore::rbd_dynamics.model.ModelWarning")]
BASES = ("fixed", "floating")


def frame_poses(model: Model, q: np.ndarray) -> dict[str, np.ndarray]:
    """Pose (4, 4) of every link in the world: the plain product of transforms along the tree."""
    bodies: dict[int, Transform] = {WORLD: IDENTITY}
    for k, body in enumerate(model.bodies):
        joint = body.joint
        ratio, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
        own = [ratio * float(x) + offset for x in q[joint.q_index : joint.q_index + joint.kind.nq]]
        bodies[k] = bodies[body.parent] @ body.placement @ joint.kind.transform(own)
    found = {}
    for frame in model.frames:
        if frame.element != "link":  # a joint may have a link's name
            continue
        pose = bodies[frame.body] @ frame.placement
        found[frame.name] = np.eye(4)
        found[frame.name][:3, :3] = np.reshape(pose.rotation, (3, 3))
        found[frame.name][:3, 3] = pose.p
    return found


def test_all_robots_of_example_robot_data_are_here():
    assert len(FILES) == 69
    assert len(ROBOTS) == 68


def test_the_one_file_without_a_link_is_refused():
    with pytest.raises(ModelError, match="has no link"):
        load_urdf(FILES[EMPTY_FILE])


#: files with defects, and how many; they load all the same
SAID = {"pr2"}  # without a defect: its <gazebo> switches the gravity of some links off, which is not read
DEFECTIVE = {"alex_psyonic_hands": 8, "kinova": 3, "romeo": 2, "romeo_laas_small": 7, "romeo_small": 2, "so101": 1}


@pytest.mark.parametrize("name", ROBOTS)
def test_it_loads_and_only_files_known_for_defects_have_any(name):
    findings = preflight(robot_file(name))
    errors = [finding for finding in findings if finding.severity == "error"]
    assert all(finding.defect for finding in errors)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_urdf(robot_file(name), base="floating")
    assert bool(caught) == (name in DEFECTIVE or name in SAID)
    if name in DEFECTIVE:
        with pytest.raises(ModelError) as raised:
            load_urdf(robot_file(name), base="floating", strict=True)
        assert len(raised.value.findings) == DEFECTIVE[name]
    else:
        assert not errors


@pytest.mark.parametrize("name", ROBOTS)
def test_the_total_mass_is_pinocchios_and_none_is_lost_at_the_base(name):
    import pinocchio as pin

    theirs = pin.computeTotalMass(load_twin(name, "floating").pinocchio)
    for base in BASES:
        assert load_robot(name, base).mass == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", ROBOTS)
def test_joints_and_what_carries_them_are_pinocchios(name, base):
    model, theirs = load_robot(name, base), load_twin(name, base).pinocchio
    parents = {theirs.names[k]: theirs.names[theirs.parents[k]] for k in range(1, theirs.njoints)}
    ours = {
        body.joint.name: model.bodies[body.parent].joint.name if body.parent != WORLD else "universe"
        for body in model.bodies
    }
    assert ours == parents
    assert all(body.parent < k for k, body in enumerate(model.bodies))


@pytest.mark.parametrize("name", sampled(ROBOTS))
def test_limits_are_pinocchios(name):
    model, theirs = load_robot(name), load_twin(name).pinocchio
    for body in model.bodies:
        joint = body.joint
        index = theirs.joints[theirs.getJointId(joint.name)].idx_v
        q_index = theirs.joints[theirs.getJointId(joint.name)].idx_q
        assert joint.limits.effort == theirs.upperEffortLimit[index]
        if joint.kind.name in ("revolute", "prismatic"):
            assert joint.limits.lower == theirs.lowerPositionLimit[q_index]
            assert joint.limits.upper == theirs.upperPositionLimit[q_index]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", ROBOTS)
def test_frames_are_where_pinocchio_puts_them(name, base):
    import pinocchio as pin

    twin = load_twin(name, base)
    rng = np.random.default_rng(3)
    for q in (twin.model.neutral(), twin.model.random(rng)):
        pin.framesForwardKinematics(twin.pinocchio, twin.data, twin.q(q))
        poses = frame_poses(twin.model, q)
        compared = 0
        for index, frame in enumerate(twin.pinocchio.frames):
            if frame.type == pin.FrameType.BODY:
                np.testing.assert_allclose(poses[frame.name], twin.data.oMf[index].homogeneous, atol=5e-11)
                compared += 1
        assert compared == sum(frame.element == "link" for frame in twin.model.frames)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", sampled(ROBOTS))
def test_configurations_convert_there_and_back(name, base):
    twin = load_twin(name, base)
    q = twin.model.random(5)
    np.testing.assert_allclose(twin.model.difference(q, twin.q_back(twin.q(q))), 0.0, atol=1e-12)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", SAMPLE)
def test_integrating_and_differencing_agree_with_pinocchio(name, base):
    import pinocchio as pin

    twin = load_twin(name, base)
    rng = np.random.default_rng(7)
    q0, q1, dv = twin.model.random(rng), twin.model.random(rng), rng.normal(size=twin.model.nv)
    theirs = pin.integrate(twin.pinocchio, twin.q(q0), twin.v(dv))
    np.testing.assert_allclose(
        pin.difference(twin.pinocchio, twin.q(twin.model.integrate(q0, dv)), theirs), 0.0, atol=1e-12
    )
    ours, theirs = twin.v(twin.model.difference(q0, q1)), pin.difference(twin.pinocchio, twin.q(q0), twin.q(q1))
    circle = (ours - theirs) / (2 * np.pi)  # one of Pinocchio's continuous joints goes the shorter way round
    np.testing.assert_allclose(circle, np.round(circle), atol=1e-12)


@pytest.mark.parametrize("name", [name for name in SAMPLE if name not in ("hextilt_flying_arm_5",)])
def test_locked_joints_give_pinocchios_reduced_model(name):
    import pinocchio as pin

    rng = np.random.default_rng(11)
    full = load_twin(name)
    q = full.model.random(rng)
    names = [body.joint.name for body in full.model.bodies if body.joint.mimic is None]
    kept = names[::2]
    position = {
        joint.name: q[joint.q_index : joint.q_index + joint.kind.nq]
        for joint in full.model.joints
        if joint.name not in kept
    }
    reduced = load_urdf(robot_file(name), locked=position)
    assert reduced.joint_names == kept
    assert reduced.mass == pytest.approx(full.model.mass, rel=1e-12)
    moving = {body.joint.name for body in reduced.bodies}
    ids = [k for k in range(1, full.pinocchio.njoints) if full.pinocchio.names[k] not in moving]
    theirs = pin.buildReducedModel(full.pinocchio, ids, full.q(q))
    for body in reduced.bodies:
        index = theirs.getJointId(body.joint.name)
        inertia = theirs.inertias[index]
        assert body.inertia.mass == pytest.approx(inertia.mass, abs=1e-12)
        np.testing.assert_allclose(body.inertia.moment, inertia.mass * inertia.lever, atol=1e-10)
        placement = theirs.jointPlacements[index]
        np.testing.assert_allclose(np.reshape(body.placement.rotation, (3, 3)), placement.rotation, atol=5e-11)
        np.testing.assert_allclose(body.placement.p, placement.translation, atol=5e-11)
    before = frame_poses(full.model, q)
    after = frame_poses(
        reduced, np.concatenate([q[j.q_index : j.q_index + j.kind.nq] for j in map(full.model.joint, kept)])
    )
    for frame, pose in before.items():
        np.testing.assert_allclose(after[frame], pose, atol=1e-11)


@pytest.mark.parametrize("name", SAMPLE)
def test_joints_kept_in_another_order_make_the_same_robot(name):
    model = load_robot(name)
    depth = [0] * len(model.bodies)
    for k, body in enumerate(model.bodies):
        depth[k] = 0 if body.parent == WORLD else depth[body.parent] + 1
    free = [(depth[k], body.joint.name) for k, body in enumerate(model.bodies) if body.joint.mimic is None]
    by_depth = [name for _, name in sorted(free, key=lambda pair: pair[0])]
    other = load_urdf(robot_file(name), joints=by_depth)
    assert other.joint_names == by_depth
    q = model.random(13)
    q_other = np.concatenate([q[j.q_index : j.q_index + j.kind.nq] for j in map(model.joint, by_depth)])
    ours, theirs = frame_poses(model, q), frame_poses(other, q_other)
    assert ours.keys() == theirs.keys()
    for frame, pose in ours.items():
        np.testing.assert_allclose(theirs[frame], pose, atol=1e-12)
