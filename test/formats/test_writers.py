# SPDX-License-Identifier: Apache-2.0
"""Models written as SDF and MJCF and read again: by ourselves, MuJoCo, Pinocchio and Drake; what is refused or told."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.checks.mujoco_twin import MujocoTwin
from helpers.models.robots import ROBOTS, load_robot, random_tree
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.cli import main
from rbd_dynamics.constraints import ConstraintSet, loop_constraints
from rbd_dynamics.formats.shapes_written import WrittenShapes
from rbd_dynamics.model import ModelWarning
from rbd_dynamics.model.loops import Loop
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.se3 import Transform

TOLERANCE = 1e-12  # of the largest entry
#: links that move without mass, or an inertia that no rigid body has
FEW = {"panda", "hextilt_flying_arm_5", "icub_reduced", "solo12"}
REFUSED_BY_MUJOCO = {"human", "icub", "icub_reduced", "romeo", "romeo_laas_small", "romeo_small"}
TWENTY = [name for name in ROBOTS if name in {
    "a1", "allegro_left_hand", "b1-z1", "baxter", "bolt", "double_pendulum_continuous", "finger_edu",
    "g1_29dof_rev_1_0", "hextilt_flying_arm_5", "icub_reduced", "kinova", "panda", "pr2", "quadruped", "romeo_small",
    "so100", "solo12", "talos_full_v2", "tiago", "tiago_pro", "ur5_robot", "xarm7",
}]  # fmt: skip
KINDS = {
    "mjcf": ("revolute", "continuous", "prismatic", "spherical"),
    "sdf": ("revolute", "continuous", "prismatic", "spherical"),
}
TEXT = {"mjcf": rbd.model_to_mjcf, "sdf": rbd.model_to_sdf, "urdf": rbd.model_to_urdf}


def plain_base(model: Model) -> Model:
    """Without damping and friction of a floating base and balls' damping, which an SDF has no place for."""
    bodies = []
    for body in model.bodies:
        joint = body.joint
        if joint.kind.quaternion is not None:
            joint = replace(joint, damping=0.0, friction=0.0, armature=0.0)
        bodies.append(replace(body, joint=joint))
    return replace(model, bodies=tuple(bodies))


def written(model: Model, kind: str) -> tuple[str, Model]:
    """The text and what `load` makes of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        text = TEXT[kind](model, shapes=False)
        return text, rbd.load(text)


def places(model: Model, again: Model) -> tuple[np.ndarray, np.ndarray]:
    """Where the numbers of the second are in q and v of the first."""
    q, v = [], []
    for joint in again.joints:
        name, _, part = joint.name.rpartition("_")
        inner = part.isdigit() and name in model.joint_names
        renamed = joint.name not in model.joint_names and joint.name.endswith("_joint")
        own = model.joint(name if inner or renamed else joint.name)
        first = int(part) - 1 if inner else 0
        q += range(own.q_index + first, own.q_index + first + joint.kind.nq)
        v += range(own.v_index + first, own.v_index + first + joint.kind.nv)
    return np.array(q, dtype=int), np.array(v, dtype=int)


def agree(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_allclose(other, one, rtol=0, atol=TOLERANCE * max(1.0, np.abs(one).max(initial=0.0)))


def states(model: Model, count: int = 2):
    for seed in range(count):
        q = model.random(seed)
        yield (
            np.where(np.abs(q) > 100.0, np.remainder(q, 2.0 * np.pi), q),
            np.random.default_rng(seed).normal(size=model.nv),
        )


def same(model: Model, again: Model) -> None:
    """Mass matrix, bias, passive torques, frames, limits, gravity."""
    at_q, at_v = places(model, again)
    assert len(at_v) == model.nv
    assert again.gravity == pytest.approx(model.gravity, abs=0)
    assert again.mass == pytest.approx(model.mass, rel=1e-14)
    first, second = (Robot(each, backend="reference") for each in (model, again))
    rubbed, also = (Robot(each, backend="reference", friction=True) for each in (model, again))
    names = [frame.name for frame in model.frames if frame.element == "link" and frame.name != "world"]
    assert set(names) <= set(again.frame_names)
    for q, v in states(model):
        M = first.mass_matrix(q)
        agree(M[np.ix_(at_v, at_v)], second.mass_matrix(q[at_q]))
        agree(first.bias(q, v)[at_v], second.bias(q[at_q], v[at_v]))
        agree(rubbed.bias(q, v)[at_v], also.bias(q[at_q], v[at_v]))
        for name in names[:: max(1, len(names) // 8)]:
            agree(first.pose(q, name), second.pose(q[at_q], name))
    for limit in ("effort_limit", "velocity_limit") if again.velocity_limit.min(initial=math.inf) < math.inf else ():
        np.testing.assert_array_equal(getattr(again, limit), getattr(model, limit)[at_v])


def in_mujoco(text: str, again: Model) -> None:
    mujoco = pytest.importorskip("mujoco")
    m = mujoco.MjModel.from_xml_string(text)
    twin, robot = MujocoTwin(again, m), Robot(again, backend="reference")
    for q, v in states(again):
        M, bias = twin.mass_matrix_and_bias(q, v)
        agree(M, robot.mass_matrix(q))
        agree(bias, robot.bias(q, v))
    for j in range(m.njnt):
        joint = twin.joints[j]
        assert m.dof_damping[m.jnt_dofadr[j]] == joint.damping
        assert m.jnt_actfrclimited[j] == (math.isfinite(joint.limits.effort) and joint.mimic is None)


def in_pinocchio(text: str, again: Model, folder) -> None:
    """Of MJCF; the mass matrix of hinges, slides and balls, which has the rotors in it."""
    pin = pytest.importorskip("pinocchio")
    path = folder / "written.xml"
    path.write_text(text)
    theirs = pin.buildModelFromMJCF(str(path))
    if any(body.joint.mimic is not None for body in again.bodies) or sum(b.parent == WORLD for b in again.bodies) > 1:
        return  # it keeps followers as joints of their own, and the first body on the world alone
    data, robot = theirs.createData(), Robot(again, backend="reference")
    for q, _ in states(again):
        q_pin, order = np.zeros(theirs.nq), np.zeros(theirs.nv, dtype=int)
        for joint in again.joints:
            other = theirs.joints[theirs.getJointId(joint.name)]
            assert (other.nq, other.nv) == (joint.kind.nq, joint.kind.nv)
            q_pin[other.idx_q : other.idx_q + other.nq] = q[joint.q_index : joint.q_index + joint.kind.nq]
            order[other.idx_v : other.idx_v + other.nv] = range(joint.v_index, joint.v_index + joint.kind.nv)
        M = np.triu(pin.crba(theirs, data, q_pin))
        agree(robot.mass_matrix(q)[np.ix_(order, order)], M + np.triu(M, 1).T)


def in_drake(text: str, again: Model) -> None:
    """Of SDF: mass matrix and bias of joints with one coordinate."""
    plants = pytest.importorskip("pydrake.multibody.plant", reason="Drake is not installed")
    from pydrake.multibody.parsing import Parser

    if any(joint.kind.nq != 1 for joint in again.joints) or len(again.joints) != len(again.bodies):
        return
    plant = plants.MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    plant.mutable_gravity_field().set_gravity_vector(np.array(again.gravity))
    plant.Finalize()
    assert plant.num_velocities() == again.nv
    order = [plant.GetJointByName(name).velocity_start() for name in again.joint_names]
    context, robot = plant.CreateDefaultContext(), Robot(again, backend="reference")
    for q, v in states(again):
        full, speed = np.zeros((2, again.nv))
        full[order], speed[order] = q, v
        plant.SetPositions(context, full)
        plant.SetVelocities(context, speed)
        M = plant.CalcMassMatrix(context)
        bias = plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)
        agree(robot.mass_matrix(q), M[np.ix_(order, order)])
        agree(robot.bias(q, v), bias[order])


@pytest.mark.parametrize("kind", ["sdf", "mjcf"])
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", table(TWENTY, FEW))
def test_real_robots_are_the_same_when_written_and_read(name, base, kind, tmp_path):
    model = load_robot(name, base)
    if kind == "mjcf" and name in REFUSED_BY_MUJOCO:
        with pytest.raises(rbd.ModelError, match="^link '.*MuJoCo refuses"):
            rbd.model_to_mjcf(model)
        return
    text, again = written(model, kind)
    same(model, again)
    if kind == "mjcf":
        in_mujoco(text, again)
    elif base == "fixed" and name not in REFUSED_BY_MUJOCO:  # Drake changes inertias that no rigid body has
        in_drake(text, again)


TREES = [(seed, base, mimic) for seed in range(10) for base in ("fixed", "floating") for mimic in (0.0, 0.4)]


@pytest.mark.parametrize("kind", ["sdf", "mjcf"])
@pytest.mark.parametrize(("seed", "base", "mimic"), table(TREES, lambda case: case[0] < 2))
def test_trees_with_rotors_friction_and_gravity_are_the_same(seed, base, mimic, kind, tmp_path):
    model = plain_base(random_tree(seed, 6, KINDS[kind], base, mimic))
    text, again = written(model, kind)
    assert again.base == base
    same(model, again)
    if kind == "mjcf":
        in_mujoco(text, again)
        if base == "fixed":
            in_pinocchio(text, again, tmp_path)
    elif base == "fixed" and not mimic:
        in_drake(text, again)


@pytest.mark.parametrize("seed", range(3))
def test_a_fixed_tree_of_hinges_and_slides_is_the_same_in_drake(seed):
    model = random_tree(seed, 7, ("revolute", "continuous", "prismatic"))
    text, again = written(model, "sdf")
    in_drake(text, again)


# --- by hand ------------------------------------------------------------------------------------------


def machine() -> rbd.ModelBuilder:
    """What both formats say: fixed masses, springs, limits, mimic joints, a universal joint, frames, other gravity."""
    builder = rbd.ModelBuilder("a <machine> & more", gravity=(0.3, -0.2, -1.6))
    own = {"mass": 1.5, "com": (0.1, -0.2, 0.3), "inertia": [0.2, 0.01, -0.02, 0.3, 0.03, 0.25]}
    builder.add_fixed("stand", None, placement=(0.1, 0.0, 0.2), **own)
    limits = rbd.Limits(lower=-1.0, upper=2.0, effort=40.0)
    turn = {"damping": 0.3, "friction": 0.2, "armature": 0.05, "passive": (rbd.Spring(30.0, rest=0.2),)}
    builder.add_body(
        "arm", "stand", rbd.joints.Revolute((0.6, 0, 0.8)), placement=(0.1, 0.2, 0.3), limits=limits, **turn, **own
    )
    follows = rbd.Mimic("arm_joint", multiplier=-0.5, offset=0.1)
    builder.add_body("slide", "arm", rbd.joints.Prismatic((0, 1, 0)), mimic=follows, **own)
    builder.add_body(
        "cross", "arm", rbd.joints.Universal((1, 0, 0), (0, 0.6, 0.8)), damping=0.4, placement=(0, 0, 1), **own
    )
    builder.add_body("ball", "cross", rbd.joints.Spherical(), placement=(0, 0, 0.5), **own)
    builder.add_frame("tool", "slide", placement=(0.1, 0.0, 0.3))
    return builder


@pytest.mark.parametrize("kind", ["sdf", "mjcf"])
def test_what_a_format_says_is_written(kind, tmp_path):
    model = machine().build()
    text, again = written(model, kind)
    same(model, again)
    assert again.name == model.name
    assert again.fixed_inertia.mass == 1.5
    (path,) = (tmp_path / f"machine.{kind}",)
    {"sdf": rbd.write_sdf, "mjcf": rbd.write_mjcf}[kind](model, path)
    assert rbd.load(path) == again
    joint, follower = (next(b.joint for b in again.bodies if b.joint.name == n) for n in ("arm_joint", "slide_joint"))
    assert joint.limits == rbd.Limits(lower=-1.0, upper=2.0, effort=40.0)
    assert (joint.passive, joint.armature) == ((rbd.Spring(30.0, rest=0.2),), 0.05)
    assert follower.mimic == rbd.Mimic("arm_joint", multiplier=-0.5, offset=0.1)


def test_a_nut_is_written_as_sdf_and_a_chain_of_screws_as_mjcf():
    own = {"mass": 1.5, "com": (0.1, -0.2, 0.3), "inertia": np.eye(3)}
    nut, chain = rbd.ModelBuilder(), rbd.ModelBuilder()
    nut.add_body("nut", None, rbd.joints.Helical((0, 0.6, 0.8), 0.013), **own)
    same(nut.build(), written(nut.build(), "sdf")[1])
    screws = ((0, 0, 1, 0.2, -0.1, 0), (0, 0, 0, 0.6, 0.8, 0), (1, 0, 0, 0, 0.3, 0.4))
    chain.add_body("tip", None, rbd.joints.ProductOfExponentials(screws), placement=(1, 2, 3), **own)
    text, again = written(chain.build(), "mjcf")
    same(chain.build(), again)
    in_mujoco(text, again)


def loop_of(directions=("x", "y", "z"), at=(1.0, 0.0, 0.0)) -> Model:
    """Two arms on the world, whose tips are held together."""
    builder = rbd.ModelBuilder("loop")
    own = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": np.eye(3)}
    builder.add_body("left", None, rbd.joints.Revolute((0, 1, 0)), **own)
    builder.add_body("right", None, rbd.joints.Revolute((0, 1, 0)), placement=(2.0, 0.0, 0.0), **own)
    builder.add_frame("tip", "left", placement=at)
    builder.add_frame("end", "right", placement=(-1.0, 0.0, 0.0))
    return replace(builder.build(), loops=(Loop("closing", "end", "tip", directions=directions),))


@pytest.mark.parametrize("kind", ["sdf", "mjcf"])
@pytest.mark.parametrize("directions", [("x", "y", "z"), ("rx", "ry", "rz", "x", "y", "z")])
@pytest.mark.parametrize("reference", ["tip", "world"])
def test_a_loop_is_written_and_holds_the_same(directions, kind, reference):
    model = loop_of(directions)
    if reference == "world":
        held = replace(model.loops[0], reference="world", reference_placement=Transform.of(p=(1.0, 0.0, 0.0)))
        model = replace(model, loops=(held,))
    again = written(model, kind)[1]
    assert [loop.directions for loop in again.loops] == [directions]
    held = []
    for each, q in ((model, np.zeros(2)), (again, np.zeros(2))):
        h, A, _ = Robot(each, backend="reference").constraint_rows(
            q, 0.0 * q, ConstraintSet(each, loop_constraints(each))
        )
        np.testing.assert_allclose(h, 0.0, atol=1e-15)
        held.append(np.linalg.pinv(A) @ A)  # which velocities it holds, however its rows are turned
    np.testing.assert_allclose(held[1], held[0], atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "joint", "more", "error"),
    [
        ("sdf", rbd.joints.Planar(), {}, "joint 'nut_joint' is planar, which no SDF can say"),
        ("mjcf", rbd.joints.Planar(), {}, "joint 'nut_joint' is planar, which no MJCF joint is"),
        ("mjcf", rbd.joints.Helical((0, 0, 1), 0.01), {}, "joint 'nut_joint' is helical with a pitch"),
        ("sdf", rbd.joints.Spherical(), {"damping": 1.0}, "joint 'nut_joint' is spherical and has limits, friction"),
        ("sdf", rbd.joints.Floating(), {"damping": 1.0}, "joint 'nut_joint' floats and has damping"),
        ("sdf", rbd.joints.Floating(), {"placement": (1, 0, 0)}, "joint 'nut_joint' floats on another body or a place"),
        ("mjcf", rbd.joints.Floating(), {"placement": (1, 0, 0)}, "joint 'nut_joint' floats on another body or a plac"),
        ("mjcf", rbd.joints.Revolute(), {"passive": (rbd.Spring(1), rbd.Spring(2))}, "'nut_joint' has a spring beside"),
        ("sdf", rbd.joints.Revolute(), {"passive": (rbd.Spring(1), rbd.Spring(2))}, "'nut_joint' has a spring beside"),
        ("mjcf", rbd.joints.Revolute(), {"mass": 0.0, "armature": 1.0, "inertia": None}, "link 'nut' moves and has no"),
    ],
)
def test_what_a_format_cannot_say_is_an_error(kind, joint, more, error):
    builder = rbd.ModelBuilder()
    builder.add_body("nut", None, joint, **{"mass": 1.0, "com": (0.1, 0.1, 0.1), "inertia": np.eye(3)} | more)
    with pytest.raises(rbd.ModelError, match=error):
        TEXT[kind](builder.build())


def test_a_loop_that_is_open_at_zero_is_no_sdf():
    with pytest.raises(rbd.ModelError, match="loop 'closing' is open by 0.1 where all joints are at zero"):
        rbd.model_to_sdf(loop_of(at=(1.1, 0.0, 0.0)))


@pytest.mark.parametrize(
    ("kind", "more", "told"),
    [
        ("mjcf", {"limits": rbd.Limits(velocity=2.0)}, "joint 'arm_joint': velocity limits are left out"),
        ("mjcf", {"limits": rbd.Limits(lower=0.0, upper=0.0)}, "joint 'arm_joint': position limits"),
        ("sdf", {"drive": rbd.Drive(gear_ratio=10.0)}, "joint 'arm_joint': a gear or its elasticity is left out"),
        ("sdf", {"joint_name": "arm"}, "joint 'arm' has the name of a link.*written as 'arm_joint'"),
        ("sdf", {"mass": 0.0, "armature": 1.0, "inertia": None, "com": (0, 0, 0)}, "link 'arm' without mass"),
    ],
)
def test_what_is_left_out_is_told(kind, more, told):
    builder = rbd.ModelBuilder()
    builder.add_body("arm", None, rbd.joints.Revolute(), **{"mass": 1.0, "inertia": np.eye(3)} | more)
    with pytest.warns(ModelWarning, match=told):
        TEXT[kind](builder.build())


# --- shapes -------------------------------------------------------------------------------------------

LOOKS = """<robot name="looks">
<link name="base"><visual><origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><geometry><box size="0.1 0.2 0.3"/></geometry>
</visual></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><origin xyz="0.1 0 0"/><geometry><cylinder radius="0.1" length="0.4"/></geometry>
<material name="red"><color rgba="0.9 0.1 0.2 0.5"/></material></visual>
<collision><geometry><sphere radius="0.2"/></geometry></collision></link>
<link name="hand"><visual><origin xyz="0 0.1 0"/><geometry><mesh filename="meshes/tetra.stl" scale="2 2 2"/></geometry>
<material name="red"/></visual><collision><geometry><capsule radius="0.05" length="0.3"/></geometry></collision></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
<joint name="hold" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="0 0 0.5" rpy="0.4 0 0"/></joint>
</robot>"""
CORNERS = 0.1 * np.array([(0, 0, 0), (3, 0, 0), (0, 2, 0), (0, 0, 1)])


def drawn(model: Model) -> dict[tuple[int, str], list[tuple[str, np.ndarray]]]:
    """Of each body and element: kinds with sizes, or of a mesh its corners, places and colours, in their own order."""
    found: dict[tuple[int, str], list[tuple[str, np.ndarray]]] = {}
    for index in range(-1, len(model.bodies)):
        for element, shape in WrittenShapes(model).on_body(index):
            rotation, p = np.reshape(shape.placement.rotation, (3, 3)), np.array(shape.placement.p)
            numbers = np.concatenate([shape.size, rotation.ravel(), p, shape.colour or ()])
            if shape.kind == "mesh":
                corners = CORNERS * shape.size if shape.mesh is None else shape.mesh[0]
                placed = np.round(corners @ rotation.T + p, 6)
                numbers = np.concatenate([*sorted(map(tuple, placed + 0.0)), shape.colour or ()])
            found.setdefault((index, element), []).append((shape.kind, numbers))
    return {key: sorted(shapes, key=lambda shape: shape[0]) for key, shapes in found.items()}


@pytest.mark.parametrize("ending", ["urdf", "sdf", "xml"])
def test_shapes_of_the_file_that_was_read_are_written(ending, tmp_path):
    first, file = tmp_path / "first" / "looks.urdf", tmp_path / f"second.{ending}"
    (first.parent / "meshes").mkdir(parents=True)
    triangles = np.zeros(4, dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    triangles["corners"] = CORNERS[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    stl = b" " * 80 + (4).to_bytes(4, "little") + triangles.tobytes()
    (first.parent / "meshes" / "tetra.stl").write_bytes(stl)
    first.write_text(LOOKS)
    model = rbd.load(first)
    expected = drawn(model)
    assert {key: [kind for kind, _ in shapes] for key, shapes in expected.items()} == {
        (-1, "visual"): ["box"], (0, "visual"): ["cylinder", "mesh"], (0, "collision"): ["capsule", "sphere"],
    }  # fmt: skip
    {"urdf": rbd.write_urdf, "sdf": rbd.write_sdf, "xml": rbd.write_mjcf}[ending](model, file)
    again = drawn(rbd.load(file))
    if ending == "urdf":  # there a capsule is a cylinder between two spheres
        assert [kind for kind, _ in again.pop((0, "collision"))] == ["cylinder", "sphere", "sphere", "sphere"]
        expected.pop((0, "collision"))
    assert again.keys() == expected.keys()
    for key, shapes in expected.items():
        for (kind, numbers), (other, others) in zip(shapes, again[key]):
            assert kind == other
            np.testing.assert_allclose(others, numbers, atol=2e-6)
    assert "tetra" not in TEXT[{"xml": "mjcf"}.get(ending, ending)](model, shapes=False)


@pytest.mark.parametrize(
    ("ending", "left"), [("urdf", {"box"}), ("sdf", {"box", "ellipsoid", "cone"}), ("xml", {"box", "ellipsoid"})]
)
def test_a_shape_that_a_format_has_no_word_for_is_told(ending, left, tmp_path):
    sizes = {"ellipsoid": "<radii>0.1 0.2 0.3</radii>", "cone": "<radius>0.2</radius><length>0.5</length>"}
    sizes |= {"box": "<size>1 2 3</size>", "plane": ""}
    looks = "".join(
        f"<visual name='{kind}'><pose>0.1 0.2 0.3 0 0.4 0</pose><geometry><{kind}>{size}</{kind}></geometry></visual>"
        for kind, size in sizes.items()
    )
    joint = (
        "<joint name='j' type='revolute'><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz></axis></joint>"
    )
    (tmp_path / "a.sdf").write_text(
        f"<sdf version='1.11'><model name='m'><link name='a'>{looks}</link>{joint}</model></sdf>"
    )
    model, file = rbd.load(tmp_path / "a.sdf"), tmp_path / f"b.{ending}"
    with pytest.warns(ModelWarning, match="shapes are left out: link 'a', visual 'plane': <plane>") as caught:
        {"urdf": rbd.write_urdf, "sdf": rbd.write_sdf, "xml": rbd.write_mjcf}[ending](model, file)
    assert caught[0].filename == __file__
    said = " ".join(str(each.message) for each in caught)
    assert {kind for kind in sizes if f"visual: {kind}" in said} == {"box", "ellipsoid", "cone"} - left
    expected = [(kind, numbers) for kind, numbers in drawn(model)[0, "visual"] if kind in left]
    again = drawn(rbd.load(file))[0, "visual"]
    assert [kind for kind, _ in again] == [kind for kind, _ in expected]
    for (_, numbers), (_, others) in zip(expected, again):
        np.testing.assert_allclose(others, numbers, atol=1e-12)


@pytest.mark.parametrize("ending", ["urdf", "sdf", "xml", "yaml"])
def test_the_command_line_converts_from_each_format_to_each(ending, tmp_path, capsys):
    arm = rbd.ModelBuilder("arm")
    arm.add_body("upper", None, rbd.joints.Revolute((0, 1, 0)), mass=1.0, com=(0.1, 0, 0.2), inertia=np.eye(3))
    model = arm.build()
    rbd.save_yaml(model, tmp_path / "first.yaml")
    assert main(["convert", str(tmp_path / "first.yaml"), str(tmp_path / f"second.{ending}")]) == 0
    assert main(["convert", str(tmp_path / f"second.{ending}"), str(tmp_path / "third.yaml")]) == 0
    same(model, rbd.load(tmp_path / "third.yaml"))
    assert main(["convert", str(tmp_path / "first.yaml"), str(tmp_path / "robot.step")]) == 2
    assert "expected one of .urdf" in capsys.readouterr().err
