# SPDX-License-Identifier: Apache-2.0
"""The demo's robot: what the controller believes of it, and how the simulated one differs from that."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.demo.motion import ARM, READY

DESCRIPTION = "panda"  # of example-robot-data
FINGER = "panda_finger_joint1"  # the other one mimics it
FINGER_POSITION = 0.02  # m: the gripper holds still, half open
TOOL = "panda_hand_tcp"

#: inertia of the motors as felt at the joints, kg m^2. The URDF has none; without it the published gains below are
#: unstable, on paper as in simulation. Franka's figures for the next model, the FR3, as quoted in Drake's
#: franka_description.
ROTOR_INERTIA = (0.606, 0.606, 0.462, 0.462, 0.206, 0.206, 0.206)

#: of the joint impedance example in Franka's own franka_ros, N m/rad and N m s/rad
KP = (600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0)
KD = (50.0, 50.0, 50.0, 20.0, 20.0, 20.0, 10.0)

#: Coulomb friction as identified on a real Panda, N m: half the step of the sigmoid in Gaz, Cognetti, Oliva,
#: Robuffo Giordano, De Luca, "Dynamic identification of the Franka Emika Panda robot", IEEE RA-L 4 (2019)
JOINT_FRICTION = (0.273, 0.436, 0.320, 0.640, 0.420, 0.152, 0.282)
#: every mass, centre of mass and inertia of the simulated robot is off by up to this share
INERTIA_ERROR = 0.10
SEED = 0

RATE = 500.0  # joint states, and so efforts, per second
FASTER = 3.0  # than real time, where the machine can: in lockstep that changes no number

#: the same gains in all runs; what the model adds makes the difference
RUNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("PD alone", ()),
    ("PD + gravity", ("gravity",)),
    ("PD + feedforward", ("inertia", "coriolis", "gravity")),
)

LOCKED = {FINGER: FINGER_POSITION}
LOCKED_PARAMETERS: dict[str, Any] = {"locked_joints": [FINGER], "locked_positions": [FINGER_POSITION]}
#: of the controllers: in lockstep the robot waits, so that a busy machine's answer of 0.1 s later is not too late
CONTROLLER_PARAMETERS: dict[str, Any] = {**LOCKED_PARAMETERS, "use_sim_time": True, "state_timeout": 2.0}


def description() -> str:
    """The URDF with rotor inertia in it. Raises KeyError where example-robot-data is not installed."""
    root = ET.parse(robots()[DESCRIPTION]).getroot()
    for name, inertia in zip(ARM, ROTOR_INERTIA):
        dynamics = root.find(f"joint[@name='{name}']/dynamics")
        assert dynamics is not None
        dynamics.set("armature", str(inertia))
    return ET.tostring(root, encoding="unicode")


def simulator_parameters() -> dict[str, Any]:
    """The robot there is."""
    return {
        **LOCKED_PARAMETERS,
        "joints": list(ARM),
        "initial_joints": list(ARM),
        "initial_positions": list(READY),
        "publish_rate": RATE,
        "joint_friction": list(JOINT_FRICTION),
        "inertia_error": INERTIA_ERROR,
        "inertia_seed": SEED,
        "command_timeout": 0.1,
        "lockstep": True,
        "publish_clock": True,
        "real_time_factor": FASTER,
    }


def feedforward_parameters() -> dict[str, Any]:
    """The controller, which knows the description only."""
    return {
        **CONTROLLER_PARAMETERS,
        "joints": list(ARM),
        "terms": ["gravity"],
        "kp": list(KP),
        "plausible_velocity": 0.0,  # the simulator is reset between the runs
        "path_tolerance": [1.0],  # what PD alone cannot follow is to be seen
        "kd": list(KD),
    }


def server_parameters() -> dict[str, Any]:
    return {**LOCKED_PARAMETERS, "terms": ["inertia", "coriolis", "gravity"]}
