# SPDX-License-Identifier: Apache-2.0
"""Controllers and what they need: pure functions and small state, no ROS. Imported when first used.

- `Feedforward`: M a_d + C v + N + PD along a `Trajectory` of `Waypoints`; `DesiredMotion` follows them as they come;
- `HybridController`: hybrid position/force control; `HybridTask` describes it, `HybridSupervisor` engages and stops it;
- `MomentumObserver`, `ContactDetector`, `ResidualMonitor`: what touches the robot, and what the model gets wrong;
- `inverse_dynamics_terms`: inverse dynamics of some of its `TERMS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_dynamics.on_demand import on_demand

if TYPE_CHECKING:
    from rbd_dynamics.control.contact_detector import ContactDetector
    from rbd_dynamics.control.desired_motion import DesiredMotion, MotionOptions
    from rbd_dynamics.control.feedforward import Feedforward
    from rbd_dynamics.control.hybrid_limits import HybridLimits
    from rbd_dynamics.control.hybrid_normal import NormalEstimator, NormalOptions
    from rbd_dynamics.control.hybrid_position_force import HybridController, HybridGains, HybridOutput, MultiplierSensor
    from rbd_dynamics.control.hybrid_supervisor import HybridSupervisor
    from rbd_dynamics.control.hybrid_task import HybridTask
    from rbd_dynamics.control.momentum_observer import MomentumObserver
    from rbd_dynamics.control.residual_monitor import ResidualMonitor
    from rbd_dynamics.control.state_filter import StateFilter
    from rbd_dynamics.control.terms import TERMS, inverse_dynamics_by_term, inverse_dynamics_terms
    from rbd_dynamics.control.trajectory import Point, Trajectory, TrajectoryError, Waypoints
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = [
    "TERMS",
    "ContactDetector",
    "DesiredMotion",
    "Feedforward",
    "HybridController",
    "HybridGains",
    "HybridLimits",
    "HybridOutput",
    "HybridSupervisor",
    "HybridTask",
    "MomentumObserver",
    "MotionOptions",
    "MultiplierSensor",
    "NormalEstimator",
    "NormalOptions",
    "Point",
    "ResidualMonitor",
    "StateFilter",
    "Trajectory",
    "TrajectoryError",
    "Waypoints",
    "inverse_dynamics_by_term",
    "inverse_dynamics_terms",
]
