# SPDX-License-Identifier: Apache-2.0
"""Others' inverse kinematics, each within the same limits, to the same tolerance and with as many restarts.

- CLIK: closed-loop inverse kinematics over Pinocchio, in Python, as its documentation shows it: damped steps along the
  logarithm of the error;
- Pink and placo: a quadratic program a step, until the pose is reached;
- SQP: the error's square made smallest by SciPy's SLSQP within the limits, with the exact gradient; what trac_ik runs
  beside its Newton iteration.
"""

from __future__ import annotations

import importlib.util
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TOLERANCE, RESTARTS = 1e-6, 50
STEPS, SHARE, DAMPING = 200, 0.5, 1e-6  # of a try, of the way in a step of CLIK, in it
LENGTH = 0.3  # m that count as 1 rad, to SQP


class Peer(ABC):
    """One frame of a robot with one position for each joint."""

    NEEDS: tuple[str, ...] = ("pinocchio",)

    def __init__(self, urdf: str, frame: str) -> None:
        import pinocchio as pin

        self.pin: Any = pin
        self.model = pin.buildModelFromUrdf(urdf)
        self.data, self.frame, self.name = self.model.createData(), self.model.getFrameId(frame), frame
        self.low, self.high = self.model.lowerPositionLimit, self.model.upperPositionLimit
        self._rng = np.random.default_rng(0)

    def begin(self, number: int) -> Array:
        """Where a try begins: first near to zero, then at random."""
        if number == 0:
            return np.clip(self.pin.neutral(self.model), self.low, self.high)
        return np.array(self.pin.randomConfiguration(self.model))

    def off(self, q: Array, pose: Array) -> Array:
        """The logarithm of the error, (v, w)."""
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return np.array(self.pin.log6(self.data.oMf[self.frame].actInv(self.pin.SE3(pose))).vector)

    def __call__(self, pose: Array) -> bool:
        return any(self.reached(self.begin(number), pose) for number in range(RESTARTS + 1))

    @abstractmethod
    def reached(self, q: Array, pose: Array) -> bool:
        """One try."""


class Clik(Peer):
    """Pinocchio's example."""

    def reached(self, q: Array, pose: Array) -> bool:
        pin, model, data = self.pin, self.model, self.data
        wanted = pin.SE3(pose)
        for _ in range(STEPS):
            pin.framesForwardKinematics(model, data, q)
            off = data.oMf[self.frame].actInv(wanted)
            error = pin.log6(off).vector
            if np.abs(error).max() < TOLERANCE:
                return True
            J = -pin.Jlog6(off.inverse()) @ pin.computeFrameJacobian(model, data, q, self.frame)
            v = -J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), error)
            q = np.clip(pin.integrate(model, q, SHARE * v), self.low, self.high)
        return False


class Pink(Peer):
    """A frame's task, by the solver DAQP; one second a step, so that velocity limits do not hold it up."""

    NEEDS = ("pinocchio", "pink", "qpsolvers", "daqp")

    def reached(self, q: Array, pose: Array) -> bool:
        import pink

        configuration = pink.Configuration(self.model, self.data, q)
        task = pink.tasks.FrameTask(self.name, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3)
        task.set_target(self.pin.SE3(pose))
        for _ in range(STEPS):
            if np.abs(self.off(configuration.q, pose)).max() < TOLERANCE:
                return True
            v = pink.solve_ik(configuration, [task], 1.0, solver="daqp", safety_break=False)
            configuration.update(np.clip(self.pin.integrate(self.model, configuration.q, v), self.low, self.high))
        return False


class Placo(Peer):
    """A frame's task of a solver with a masked base."""

    NEEDS = ("pinocchio", "placo")

    def __init__(self, urdf: str, frame: str) -> None:
        import placo

        super().__init__(urdf, frame)
        bare = re.sub(r"<(visual|collision)\b.*?</\1>", "", Path(urdf).read_text(), flags=re.DOTALL)
        self._robot = placo.RobotWrapper("", placo.Flags.ignore_collisions, bare)
        self._solver = placo.KinematicsSolver(self._robot)
        self._solver.mask_fbase(True)
        self._solver.enable_joint_limits(True)
        self._task = self._solver.add_frame_task(frame, np.eye(4))
        self._task.configure(frame, "soft", 1.0, 1.0)
        self._solver.add_regularization_task(1e-6)
        self._own = self._robot.state.q[:7].copy()

    def reached(self, q: Array, pose: Array) -> bool:
        robot = self._robot
        robot.state.q = np.concatenate([self._own, q])
        robot.update_kinematics()
        self._task.T_world_frame = pose
        for _ in range(STEPS):
            if np.abs(self.off(np.array(robot.state.q[7:]), pose)).max() < TOLERANCE:
                return True
            try:
                self._solver.solve(True)
            except RuntimeError:  # the program has no solution there
                return False
            robot.update_kinematics()
        return False


class Sqp(Peer):
    """SciPy's sequential quadratic programming."""

    NEEDS = ("pinocchio", "scipy")

    def reached(self, q: Array, pose: Array) -> bool:
        import scipy.optimize

        pin, model, data = self.pin, self.model, self.data
        wanted = pin.SE3(pose)
        weights = np.array([1.0 / LENGTH] * 3 + [1.0] * 3)

        def cost(q: Array) -> tuple[float, Array]:
            pin.framesForwardKinematics(model, data, q)
            off = data.oMf[self.frame].actInv(wanted)
            error = weights * pin.log6(off).vector
            J = -pin.Jlog6(off.inverse()) @ pin.computeFrameJacobian(model, data, q, self.frame)
            return 0.5 * float(error @ error), J.T @ (weights * error)

        bounds = [(low, high) if low > -1e3 and high < 1e3 else (None, None) for low, high in zip(self.low, self.high)]
        options = {"maxiter": STEPS, "ftol": 1e-16}
        found = scipy.optimize.minimize(cost, q, jac=True, bounds=bounds, method="SLSQP", options=options)
        return bool(np.abs(self.off(found.x, pose)).max() < TOLERANCE)


PEERS: dict[str, type[Peer]] = {"CLIK over Pinocchio": Clik, "Pink": Pink, "placo": Placo, "SQP": Sqp}


def installed() -> dict[str, type[Peer]]:
    """Those whose packages are there."""
    return {
        title: peer
        for title, peer in PEERS.items()
        if all(importlib.util.find_spec(module) is not None for module in peer.NEEDS)
    }
