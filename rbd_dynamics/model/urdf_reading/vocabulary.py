# SPDX-License-Identifier: Apache-2.0
"""Everything that a URDF may have, and what is made of it here: of URDF 1.0 to 1.2 and of its usual extensions.

The reader reports by this table what a file has and it does not use; docs/model_format.md shows it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

from rbd_dynamics.common.markup.unused import unused
from rbd_dynamics.common.markup.vocabulary import Row, Use, Vocabulary
from rbd_dynamics.model.elements import report
from rbd_dynamics.model.errors import Findings

_SHAPES = "shapes: collisions, contacts, pictures"
_ROTOR = "the rotor of its joint, if it couples one joint and one actuator"


def _rows(element: str, attributes: str, use: Use = "used", *, since: str = "", note: str = "") -> list[Row]:
    """Rows of several attributes, or of an element where they are empty."""
    return [Row(element, attribute, use, since, note) for attribute in attributes.split() or [""]]


def _inner(element: str, attributes: str = "", use: Use = "used", *, since: str = "", note: str = "") -> list[Row]:
    """An element and its attributes, which have the same use."""
    return [Row(element, "", use, since, note), *(_rows(element, attributes, use, since=since) if attributes else ())]


def _gazebo(elements: str, neutral: str, note: str = "") -> list[Row]:
    """Elements in <gazebo> that act, but for some texts."""
    texts = tuple(neutral.split())
    return [Row(f"gazebo/{name}", "", "left out", note=note, neutral=texts) for name in elements.split()]


URDF = Vocabulary(
    "URDF",
    [
        *_inner("robot", "name version"),
        *_inner("robot/link", "name"),
        Row("link", "type", "aside", note="PR2's"),
        *_inner("link/inertial"),
        *_inner("inertial|visual|collision|joint|drake:joint|predecessor|successor/origin", "xyz rpy"),
        Row("origin", "quat_xyzw", since="1.1"),
        *_inner("inertial/mass", "value"),
        *_inner("inertial/inertia", "ixx ixy ixz iyy iyz izz"),
        *_inner("link/visual", "name", note=_SHAPES),
        *_inner("link/collision", "name", note=_SHAPES),
        *_inner("visual|collision/geometry", "name"),
        *_inner("geometry/box", "size"),
        *_inner("geometry/cylinder", "radius length"),
        *_inner("geometry/sphere", "radius"),
        *_inner("geometry/mesh", "filename scale"),
        Row("geometry/capsule", note="since 1.1; read in files of 1.0, too"),
        *_rows("capsule", "radius length"),
        *_rows("visual|collision|robot/material", "", "aside", note="colours, which `show` draws, and textures"),
        *_rows("collision/verbose", "", "aside"),
        *_rows("collision|visual/drake:*", "", "aside"),
        *_rows("link/contact|self_collision_checking|collision_checking|self_filter|surface", "", "aside",
               note="contact of PyBullet, Gazebo and others"),
        *_rows("link/gravity|kinematic", "", "aside", note="of SDFormat: nobody reads them in a link"),
        *_inner("robot/joint|drake:joint", "name type"),
        *_inner("joint|drake:joint/parent", "link"),
        *_inner("joint|drake:joint/child", "link"),
        *_inner("joint|drake:joint|loop/axis", "xyz"),
        *_inner("joint|drake:joint/limit", "lower upper velocity effort"),
        *_rows("limit", "acceleration deceleration", since="1.2", note="deceleration is by default as acceleration"),
        Row("limit", "jerk", since="1.2", note="kept in the model, nothing is limited by it"),
        Row("limit", "drake:acceleration", note="in all versions"),
        *_inner("joint|drake:joint/dynamics", "damping friction"),
        *_rows("dynamics", "armature rotor_inertia rotorInertia", note="rotor; the latter two times gear_ratio²"),
        *_rows("dynamics", "spring_stiffness spring_reference", note="of SDFormat"),
        *_rows("dynamics", "gear_ratio drive_stiffness drive_damping rotor_axis rotor_frame", note="[drive](#drive)"),
        *_rows("dynamics", "D K mu_coulomb mu_viscous", "aside", note="of controllers of Franka and KUKA"),
        *_rows("limit", "current gear_velocity command_effort", "aside", note="of ANYbotics' drives"),
        *_inner("joint|drake:joint/mimic", "joint multiplier offset"),
        *_rows("joint/calibration", "", "aside"),
        *_rows("joint/safety_controller", "", "aside", note="soft limits of a controller"),
        *_rows("joint", "dont_collide dont_collapse", "aside"),
        *_inner("robot/loop", "name type", note="of URDF+: [loops](#loops)"),
        *_inner("loop/predecessor", "link"),
        *_inner("loop/successor", "link"),
        *_inner("robot/transmission", "name", "converted", note=_ROTOR),
        Row("transmission", "type", note="passed over"),
        *_inner("transmission/joint", "name"),
        *_inner("transmission/actuator", "name"),
        *_rows("transmission/type", "", note="passed over"),
        *_inner("actuator/rotor_inertia|rotorInertia|motorInertia|drake:rotor_inertia", "value", "converted",
                note="times the square of the ratio"),
        *_inner("transmission|actuator|joint/gear_ratio|mechanicalReduction|drake:gear_ratio", "value", "converted"),
        *_rows("transmission/leftActuator|rightActuator|flexJoint|rollJoint|gap_joint|passive_joint"
               "|use_simulated_gripper_joint", "", "aside",
               note="couplings of PR2"),
        *_rows("transmission|actuator/*", "", "aside", note="hardware, controllers and couplings"),
        *_rows("transmission/joint/*", "", "aside", note="hardware and controllers"),
        *_rows("robot/ros2_control|sensor|mujoco", "", "aside", note="simulators, sensors, controllers"),
        *_inner("robot/gazebo", "reference", "converted", note="by Gazebo, to SDFormat: what acts there is said"),
        *_rows("gazebo/joint|link|model|frame|include", "", "left out", note="what Gazebo adds to the robot"),
        *_gazebo("gravity", "1 true", "a link that feels none; here all do"),
        *_gazebo("turnGravityOff kinematic enable_wind", "0 false"),
        *_gazebo("static", "0 false", "a robot that does not move"),
        *_gazebo("dampingFactor", "0", "of the velocity of a link"),
        Row("gazebo/velocity_decay", use="left out"),
        *_gazebo("springStiffness", "0", 'a spring of a joint: here `<dynamics spring_stiffness="...">`'),
        Row("gazebo/springReference", use="aside", note="without a stiffness it is none"),
        *_rows(
            "gazebo/plugin|sensor|material|visual|collision|light|gripper|pose|physics|mu|mu1|mu2|kp|kd|fdir1|maxVel|"
            "minDepth|maxContacts|max_contacts|selfCollide|self_collide|laserRetro|slip|provideFeedback|stopCfm|stopErp|"
            "stopKp|stopKd|cfmDamping|fudgeFactor|implicitSpringDamper|preserveFixedJoint|disableFixedJointLumping",
            "", "aside", note="contact, sensors, plugins, pictures, settings of solvers",
        ),
        *_rows("gazebo/*", "", "aside"),
        *_rows("robot/drake:collision_filter_group", "", "aside"),
        *_rows("robot/drake:linear_bushing_rpy|drake:ball_constraint|drake:tendon_constraint|loop_joint", "",
               "left out", note="couplings of Drake and Isaac Sim"),
        *_rows("joint|drake:joint/drake:controller_gains", "", "aside"),
    ],
    prefixes={"drake": "drake", "xacro": "xacro"},
    gated=True,
)  # fmt: skip


def report_unused(root: ET.Element, content: str | bytes | None, version: str, findings: Findings) -> None:
    """Add a finding for all that a <robot> has and its reader does not use. content: its text, for lines.

    Notes are not added before somebody asks for them: to find their lines takes longer than to read the rest.
    """
    seen = unused(root, URDF, version=version)

    def add() -> None:
        expanding = "run xacro on it first"
        said = seen.remarks(content)
        report([replace(each, hint=expanding) if "xacro:" in each.name else each for each in said], findings)

    if seen.is_aside:
        findings.later(add)
    else:
        add()
