# SPDX-License-Identifier: Apache-2.0
"""Controllers and what they need: pure functions and small state, no ROS. Imported when first used.

- `Feedforward`: M a_d + C v + N + PD along a `Trajectory` of `Waypoints`; `DesiredMotion` follows them as they come;
- `HybridController`: hybrid position/force control; `HybridTask` describes it, `HybridSupervisor` engages and stops it;
- `CartesianController`: impedance and operational-space control of a tool, which `CartesianMotion` moves;
- `MomentumObserver`, `ContactDetector`, `ResidualMonitor`: what touches the robot, and what the model gets wrong;
- `SafeStop`: what is commanded once nothing else is; `CommandCheck` and `CommandGate`: which commands pass to a robot;
- `VelocityInverseKinematics`: joint velocities with which frames follow streamed poses within limits;
- `joint_gains`: PD gains of a robot that are stable for a `Timing`, and what they promise;
- `inverse_dynamics_terms`: inverse dynamics of some of its `TERMS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.common.process.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.control.cartesian.controller import CartesianController, Compliance
    from rbd_dynamics.control.cartesian.gains import CartesianGains
    from rbd_dynamics.control.cartesian.kernel import CartesianOutput
    from rbd_dynamics.control.cartesian.motion import CartesianMotion
    from rbd_dynamics.control.cartesian.pose_chart import PoseChart
    from rbd_dynamics.control.contact.detector import ContactDetector
    from rbd_dynamics.control.contact.momentum_observer import MomentumObserver
    from rbd_dynamics.control.contact.residual_monitor import ResidualMonitor
    from rbd_dynamics.control.contact.state_filter import StateFilter
    from rbd_dynamics.control.feedforward import Feedforward
    from rbd_dynamics.control.hybrid.controller import HybridController
    from rbd_dynamics.control.hybrid.gains import HybridGains
    from rbd_dynamics.control.hybrid.law import HybridOutput
    from rbd_dynamics.control.hybrid.limits import HybridLimits
    from rbd_dynamics.control.hybrid.multiplier_sensor import MultiplierSensor
    from rbd_dynamics.control.hybrid.normal import NormalEstimator, NormalOptions
    from rbd_dynamics.control.hybrid.supervisor import HybridSupervisor
    from rbd_dynamics.control.hybrid.task import HybridTask
    from rbd_dynamics.control.motion.desired_motion import DesiredMotion
    from rbd_dynamics.control.motion.limits import MotionLimits
    from rbd_dynamics.control.motion.options import MotionOptions
    from rbd_dynamics.control.motion.trajectory import Point, Trajectory, TrajectoryError, Waypoints
    from rbd_dynamics.control.motion.velocity_inverse_kinematics import JointVelocities, VelocityInverseKinematics
    from rbd_dynamics.control.pd_gains import JointGains, joint_gains
    from rbd_dynamics.control.safety.closed_loop import Timing
    from rbd_dynamics.control.safety.command_gate import CommandCheck, CommandGate, GateOptions
    from rbd_dynamics.control.safety.safe_stop import SafeStop, StopOptions
    from rbd_dynamics.control.terms import TERMS, inverse_dynamics_by_term, inverse_dynamics_terms
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "TERMS",
    "CartesianController",
    "CartesianGains",
    "CartesianMotion",
    "CartesianOutput",
    "CommandCheck",
    "CommandGate",
    "Compliance",
    "ContactDetector",
    "DesiredMotion",
    "Feedforward",
    "GateOptions",
    "HybridController",
    "HybridGains",
    "HybridLimits",
    "HybridOutput",
    "HybridSupervisor",
    "HybridTask",
    "JointGains",
    "JointVelocities",
    "MomentumObserver",
    "MotionLimits",
    "MotionOptions",
    "MultiplierSensor",
    "NormalEstimator",
    "NormalOptions",
    "Point",
    "PoseChart",
    "ResidualMonitor",
    "SafeStop",
    "StateFilter",
    "StopOptions",
    "Timing",
    "Trajectory",
    "TrajectoryError",
    "VelocityInverseKinematics",
    "Waypoints",
    "inverse_dynamics_by_term",
    "inverse_dynamics_terms",
    "joint_gains",
]
