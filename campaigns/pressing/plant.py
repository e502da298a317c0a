# SPDX-License-Identifier: Apache-2.0
"""An arm in MuJoCo whose tool's ball touches surfaces; late, noisy readings, and actuators with a lag."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray
from rigs.mujoco_plant import Plant, bare_description
from scipy.spatial.transform import Rotation

from campaigns.pressing.arms import Arm
from campaigns.pressing.surfaces import Contact, Surface, Vector

Array = NDArray[np.float64]

BALL = 0.01  # m
PERIOD = 1e-3  # s, of control


@dataclass(frozen=True)
class Imperfections:
    """What stands between the arm and its controller, and what the controller's model does not know.

    bandwidth: Hz, of the actuators. sensor_delay, state_delay: periods. force_noise: N rms; of moments a twentieth.
    encoder: rad, of a step. speed_noise: rad/s rms. bias: (3) N of the sensor, along its axes; drift: N/s, along the
    axis that presses; turned: how it is mounted, as a rotation vector (rad). mass: kg at the tool's point. links:
    largest relative error of the links' masses. joint_friction: of the effort limits, Coulomb's. rotors: kg m^2 (seen
    at the joint) for each N m of the effort limits, which the description lacks and a real arm has.
    """

    _: KW_ONLY
    bandwidth: float = 30.0
    sensor_delay: int = 5
    state_delay: int = 1
    force_noise: float = 0.1
    encoder: float = 2.0 * math.pi / 2**19
    speed_noise: float = 5e-4
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    drift: float = 0.0
    turned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mass: float = 0.0
    links: float = 0.0
    joint_friction: float = 0.0
    rotors: float = 1e-3


class Reading(NamedTuple):
    """What the controller sees. wrench: (m, f) on the robot at the tool's frame, in its axes."""

    q: Array
    v: Array
    wrench: Array


class PressedArm(Plant):
    """Joint torques in, late readings out; `since`: when surfaces begin to move, s.

    Parameters:
        arm: whose tool's `point` (3, m, in its frame) is the ball's centre.
        joints: in the order of torques and states. efforts: their limits, beyond which actuators do not go.
        step: s, of the integration; the contact's as well.
    """

    def __init__(
        self, arm: Arm, joints: Sequence[str], efforts: Array, point: Vector, imperfect: Imperfections, *,
        step: float = 2e-4, seed: int = 0,
    ) -> None:  # fmt: skip
        spec = mujoco.MjSpec.from_string(bare_description(arm.urdf, joints))
        spec.body(arm.tool).add_body(
            name="load", pos=point, mass=imperfect.mass, inertia=[1e-6] * 3, explicitinertial=True
        )  # fmt: skip
        super().__init__(spec, joints, step)
        self.names = list(joints)
        self.imperfect, self.efforts, self._point, self._step = imperfect, efforts, np.array(point), step
        self._rng, self._axis = np.random.default_rng(seed), arm.axis
        self._body, self._point_numbers, self._velocity = self.model.body(arm.tool).id, point, np.zeros(6)
        data = self.data  # whose arrays stay where they are
        self._origin, self._turn, self._center = (x[self._body] for x in (data.xpos, data.xmat, data.xipos))
        self._substeps = round(PERIOD / step)
        self._kept = 1.0 - math.exp(-2.0 * math.pi * imperfect.bandwidth * step) if imperfect.bandwidth else 1.0
        if imperfect.links:
            factors = 1.0 + self._rng.uniform(-imperfect.links, imperfect.links, self.model.nbody)
            self.model.body_mass[:] *= factors
            self.model.body_inertia[:] *= factors[:, None]
            mujoco.mj_setConst(self.model, self.data)
        self.model.dof_armature[self._v] += imperfect.rotors * efforts
        if imperfect.joint_friction:
            self.model.dof_frictionloss[self._v] = imperfect.joint_friction * efforts
        self.contacts: list[Contact] = []

    def load(self, mass: float) -> None:
        """So much more (kg) at the tool's point, from now on."""
        q, v = self.data.qpos.copy(), self.data.qvel.copy()
        self.model.body_mass[self.model.body("load").id] = mass
        mujoco.mj_setConst(self.model, self.data)  # works on the data
        self.data.qpos[:], self.data.qvel[:] = q, v
        self._place()

    def reset(self, q: Array) -> None:
        """At rest, with the torques that hold it there."""
        super().reset(q)
        self.time, self.since = 0.0, math.inf
        self.tau = np.array(self.data.qfrc_bias[self._v])
        self._place()
        self._felt: tuple[Vector, Vector] = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        self.peaks = [0.0 for _ in self.contacts]
        late = max(self.imperfect.sensor_delay, self.imperfect.state_delay) + 1
        self._past: deque[Reading] = deque([self._now()] * late, maxlen=late)

    def move(self, v: Array) -> None:
        """The joints are that fast, from now on."""
        self.data.qvel[self._v] = v

    def touch(self, *surfaces: Surface) -> None:
        """What there is to touch."""
        self.contacts = [Contact(surface, BALL) for surface in surfaces]
        self.peaks = [0.0 for _ in self.contacts]

    def effective_mass(self, direction: Array) -> float:
        """kg, of the tool's point in a direction of the world."""
        return 1.0 / float(np.asarray(direction) @ self.mobility(direction))

    def mobility(self, direction: Array) -> Array:
        """m/s of the tool's point (3, in the world) for each N s along a direction of the world."""
        J = np.zeros((3, self.model.nv))
        J[:, self._v] = self.jacobian()
        return np.asarray(J[:, self._v] @ self.solve(np.asarray(direction) @ J[:, self._v]))

    def solve(self, efforts: Array) -> Array:
        """Accelerations (joints, or joints and columns) that efforts make of an arm at rest, without its weight."""
        given = np.atleast_2d(efforts.T)
        rows, solved = np.zeros((len(given), self.model.nv)), np.zeros((len(given), self.model.nv))
        rows[:, self._v] = given
        mujoco.mj_solveM(self.model, self.data, solved, rows)
        return np.asarray(solved[:, self._v].T.reshape(efforts.shape))

    def jacobian(self) -> Array:
        """(3, joints) of the tool's point, in the world."""
        J = np.zeros((3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, J, None, self.position, self._body)
        return J[:, self._v]

    def whole_jacobian(self) -> Array:
        """(6, joints): of the linear and the angular velocity."""
        J, turning = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, J, turning, self.position, self._body)
        return np.vstack([J[:, self._v], turning[:, self._v]])

    @property
    def rotation(self) -> Array:
        return np.array(self.data.xmat[self._body]).reshape(3, 3)

    @property
    def position(self) -> Array:
        """Of the ball's centre."""
        return np.asarray(self.data.xpos[self._body] + self.rotation @ self._point)

    def read(self) -> Reading:
        """As late, as coarse and as noisy as it is."""
        given, rng = self.imperfect, self._rng
        state, felt = self._past[-1 - given.state_delay], self._past[-1 - given.sensor_delay]
        q = np.round(state.q / given.encoder) * given.encoder if given.encoder else state.q
        v = state.v + given.speed_noise * rng.standard_normal(len(state.v))
        wrench = felt.wrench.copy()
        if any(given.turned):
            turn = Rotation.from_rotvec(given.turned).as_matrix()
            wrench[:3], wrench[3:] = turn @ wrench[:3], turn @ wrench[3:]
        wrench[3:] += given.bias + given.force_noise * rng.standard_normal(3)
        wrench[3 + self._axis] += given.drift * self.time
        wrench[:3] += 0.05 * given.force_noise * rng.standard_normal(3)
        return Reading(q, v, wrench)

    def command(self, tau: Array) -> None:
        """A period of control with the torque that is commanded."""
        data, model, h = self.data, self.model, self._step
        wanted, velocity, applied = np.clip(tau, -self.efforts, self.efforts), self._velocity, data.xfrc_applied
        self.peaks = [0.0] * len(self.contacts)
        for _ in range(self._substeps):  # over plain numbers, in a quarter of the time that arrays of three take
            self.tau = self.tau + self._kept * (wanted - self.tau)
            mujoco.mj_step1(model, data)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, self._body, velocity, 0)
            arm = self._arm()
            origin, spin, moving = self._origin.tolist(), velocity[:3].tolist(), velocity[3:].tolist()
            at = _plus(origin, arm)
            velocity_there = _plus(moving, _cross(spin, arm))
            total, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
            for k, contact in enumerate(self.contacts):
                found = contact.force(at, velocity_there, self.time - self.since, h)
                if found is not None:
                    force, n = found
                    lever = (arm[0] - BALL * n[0], arm[1] - BALL * n[1], arm[2] - BALL * n[2])
                    total, moment = _plus(total, force), _plus(moment, _cross(lever, force))
                    self.peaks[k] = max(self.peaks[k], contact.normal_force)
            self._felt = moment, total
            c = self._center.tolist()
            away = (origin[0] - c[0], origin[1] - c[1], origin[2] - c[2])
            applied[self._body] = (*total, *_plus(moment, _cross(away, total)))
            data.qfrc_applied[self._v] = self.tau
            mujoco.mj_step2(model, data)
            self.time += h
        self._place()
        self._past.append(self._now())

    def _arm(self) -> Vector:
        """From the tool frame's origin to the ball, in the world."""
        (x, y, z), m = self._point_numbers, self._turn.tolist()
        return (
            m[0] * x + m[1] * y + m[2] * z, m[3] * x + m[4] * y + m[5] * z, m[6] * x + m[7] * y + m[8] * z
        )  # fmt: skip

    def _place(self) -> None:
        """Poses as they are now."""
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def _now(self) -> Reading:
        q, v = self.state
        R = self.rotation
        moment, force = (np.array(each) for each in self._felt)
        return Reading(q, v, np.concatenate([R.T @ moment, R.T @ force]))


def _cross(a: Sequence[float], b: Sequence[float]) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _plus(a: Sequence[float], b: Sequence[float]) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]
