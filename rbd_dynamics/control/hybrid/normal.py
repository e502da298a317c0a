# SPDX-License-Identifier: Apache-2.0
"""The normal of a surface, out of force and motion while a tool presses and moves along it.

A tool that touches moves along the surface, n v = 0, and Coulomb's friction pulls against the motion. So what is left
of the force f on the tool without its part along v,

    f - (f v) v / v^2 = N n,

has the direction of the normal whatever the friction is (theory.md section 8). While the tool stands, friction may pull
to any side: nothing is learnt then. On a curved surface the normal turns as the tool moves on; what was felt before
is turned with it, as the surface that is known says, before it is averaged with what is felt now. The surface, and the
task frame with it, are turned about the point that touches, so that values of the task do not jump, slowly, and not
farther than a bound from where they were.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.constraints import WORLD_FRAME, Constraint, PairConstraint, SurfaceConstraint
from rbd_dynamics.control.hybrid.free_reading import FreeReading
from rbd_dynamics.control.hybrid.supervisor import HybridSupervisor
from rbd_dynamics.spatial.se3 import Transform
from rbd_dynamics.spatial.so3 import cross, rotation_about

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NormalOptions:
    """largest_tilt: rad, from the surface as it was given. rate: rad/s, at which it is turned. smoothing: s.

    least_speed: m/s, and least_force: N, below which nothing is learnt.
    """

    _: KW_ONLY
    largest_tilt: float = math.radians(20.0)
    rate: float = 0.2
    smoothing: float = 0.2
    least_speed: float = 0.005
    least_force: float = 3.0


PERIOD = 1e-3  # s between two turns of the task frame; the task follows turns of 20 ms in jerks, which swing the arm
AVERAGED = 0.02  # s: a tool that trembles where friction holds it does not move
SINKING = 0.1  # s: one that trembles into what is soft goes along the normal as it does on average
ALONG = 0.6  # share of the velocity that may be along the normal: a tool that bounces tells nothing
STEADY = 0.1  # s of contact before: a frame that turns while the tool bounces keeps it bouncing


class NormalEstimator:
    """Turns surface and task frame of a supervisor's controller as they are felt.

    Parameters:
        supervisor: of a controller with one surface, whose constraints and task are between tool and world, with one
            common reference placement, as `HybridTask` makes them.
        sensor_frame: of the wrench.
        options: see `NormalOptions`; may be replaced between two calls.

    Raises ValueError where there is no such surface, KeyError for an unknown frame.

    Attributes:
        tilt: rad, by which the surface is turned from where it was given.
        normal (3): in the world, as it is now.
    """

    def __init__(
        self, supervisor: HybridSupervisor, sensor_frame: str, *, options: NormalOptions | None = None
    ) -> None:
        self.supervisor, self.frame = supervisor, sensor_frame
        self.options = options or NormalOptions()
        self._robot = supervisor.controller.robot
        self._robot.model.frame(sensor_frame)
        surfaces = [c for c in self._constraints() if isinstance(c, SurfaceConstraint)]
        if len(surfaces) != 1:
            raise ValueError("a normal is estimated of one surface: there is none, or more than one")
        if any(c.reference != WORLD_FRAME for c in self._pairs()):
            raise ValueError("a normal is estimated of surfaces that are fixed to the world")
        self._surface = surfaces[0]
        self._free = FreeReading()
        self.forget()

    def forget(self) -> None:
        """The surface is where the controller has it now."""
        self.given = self._placement = self._surface_now().reference_placement
        self.tilt = 0.0
        self.normal = np.zeros(3)
        self._felt: Array | None = None
        self._last: Array | None = None  # the point that touched
        self._since, self._mode = 0.0, "hold"
        self._learnt = False  # since the last turn
        self._way = np.zeros(3)  # m/s, averaged
        self._rises = 0.0  # m/s, along the normal as it is felt, averaged

    def update(self, q: Array, v: Array, wrench: Array, dt: float) -> bool:
        """Update after a step at (q, v) with the wrench (m, f) on the robot; whether the task frame was turned."""
        mode, before = self.supervisor.mode, self._mode
        if self._surface_now().reference_placement is not self._placement:
            self.forget()  # another place was given
        self._mode = mode
        if mode == "hold":
            self._free.update(mode, False, wrench, dt)
            return False
        self._free.update(mode, self.supervisor.tared, wrench, dt)
        if before == "hold":
            self._felt, self._last, self._rises = None, None, 0.0
            self._way[:] = 0.0
            if mode == "approach" and self.tilt:
                self._turn_to(self.given)
                self.tilt = 0.0
                return True
        if mode == "approach":
            return False
        self._carry(self._point(q))
        if self.supervisor.contact.steady < STEADY:
            return False
        rotation = self._robot.pose(q, self.frame)[:3, :3]
        self._learn(self._velocity(q, v), rotation @ (wrench - self._free.zero)[3:], dt)
        self._since += dt
        if self._since < PERIOD or self._felt is None or not self._learnt:
            return False
        self._since, self._learnt = 0.0, False
        return self._turn(self._point(q), max(PERIOD, dt))

    def touching(self, q: Array) -> tuple[Array, Array]:
        """The tool's point, and the outward normal (3) of the surface as it is taken to be there; in the world."""
        point = self._point(q)
        return point, self._normal_at(self._surface_now().reference_placement, point)

    def _carry(self, point: Array) -> None:
        """Turn what was felt as the surface turns between the last point and this one."""
        if self._felt is not None and self._last is not None:
            before, now = (self._normal_at(self._placement, where) for where in (self._last, point))
            angle = _angle(before, now)
            if angle > 0.0:
                self._felt = _rotation(_cross(before, now), angle) @ self._felt
        self._last = point

    def _learn(self, velocity: Array, force: Array, dt: float) -> None:
        options, speed = self.options, float(np.linalg.norm(velocity))
        self._way += min(1.0, dt / AVERAGED) * (velocity - self._way)
        if min(speed, float(np.linalg.norm(self._way))) < options.least_speed:
            return
        assert self._last is not None
        along = velocity
        if self._felt is not None:
            normal = self._felt / np.linalg.norm(self._felt)
            rises = float(velocity @ normal)
            self._rises += min(1.0, dt / SINKING) * (rises - self._rises)
            along = velocity + (self._rises - rises) * normal
        along = along / max(float(np.linalg.norm(along)), 1e-12)
        if abs(float(along @ self._normal_at(self._placement, self._last))) > ALONG:
            return
        across = force - (force @ along) * along
        size = float(np.linalg.norm(across))
        if size < options.least_force:
            return
        if self._felt is None:
            self._felt = across / size
        self._learnt = True
        self._felt = self._felt + min(1.0, dt / options.smoothing) * (across / size - self._felt)

    def _turn(self, point: Array, dt: float) -> bool:
        """One step towards what was felt, within rate and bound."""
        assert self._felt is not None
        options, now = self.options, self._normal_at(self._placement, point)
        given = self._normal_at(self.given, point)
        wanted = _within(self._felt / np.linalg.norm(self._felt), given, options.largest_tilt)
        # the nearer, the slower: steps at the full rate to and fro would shake the tool, and that what is felt
        away, self.normal = _angle(now, wanted), now
        if away < 1e-5:
            return False
        angle = min(away * min(1.0, dt / max(options.smoothing, dt)), options.rate * dt)
        turn = _rotation(_cross(now, wanted), angle)
        R, p = np.array(self._placement.rotation).reshape(3, 3), np.array(self._placement.p)
        moved = point + turn @ (p - point)
        self._turn_to(Transform.of(_orthonormal(turn @ R), (float(moved[0]), float(moved[1]), float(moved[2]))))
        self.normal = self._normal_at(self._placement, point)
        self.tilt = _angle(self.normal, given)
        return True

    def _turn_to(self, placement: Transform) -> None:
        controller = self.supervisor.controller
        controller.place(placement)
        self._placement = self._surface_now().reference_placement

    # --- geometry ---------------------------------------------------------------------------------

    def _constraints(self) -> tuple[Constraint, ...]:
        return self.supervisor.controller.constraints.constraints

    def _pairs(self) -> list[PairConstraint]:
        everything = (*self._constraints(), *self.supervisor.controller.task.constraints)
        return [c for c in everything if isinstance(c, PairConstraint)]

    def _surface_now(self) -> SurfaceConstraint:
        found = self.supervisor.controller.constraints[self._surface.name]
        assert isinstance(found, SurfaceConstraint)
        return found

    def _point(self, q: Array) -> Array:
        pose = self._robot.pose(q, self._surface.frame)
        return np.asarray(pose[:3, 3] + pose[:3, :3] @ self._surface_now().placement.p)

    def _velocity(self, q: Array, v: Array) -> Array:
        """Velocity of the point that touches, in the world: what friction pulls against, also of a ball that turns."""
        twist = self._robot.jacobian(q, self._surface.frame) @ v
        pose, surface = self._robot.pose(q, self._surface.frame), self._surface_now()
        arm = pose[:3, :3] @ surface.placement.p
        arm = arm - surface.offset * self._normal_at(self._placement, pose[:3, 3] + arm)
        return np.asarray(pose[:3, :3] @ twist[3:] + _cross(pose[:3, :3] @ twist[:3], arm))

    def _normal_at(self, placement: Transform, point: Array) -> Array:
        """Outward, of the surface placed there."""
        R = np.array(placement.rotation).reshape(3, 3)
        x, y, z = R.T @ (point - np.array(placement.p))
        surface = self._surface_now().surface
        gradient = np.array(surface.gradient((float(x), float(y), float(z)), surface.numbers), dtype=float)
        return np.asarray(R @ gradient / np.linalg.norm(gradient))


def _cross(a: Array, b: Array) -> Array:
    """Cross product of two vectors (3), in a tenth of the time of NumPy's, which takes arrays of any shape."""
    return np.array(cross(a.tolist(), b.tolist()))


def _angle(a: Array, b: Array) -> float:
    return math.atan2(float(np.linalg.norm(_cross(a, b))), float(a @ b))


def _within(normal: Array, given: Array, most: float) -> Array:
    """The unit vector at most so far from `given` that is nearest to `normal`."""
    angle = _angle(given, normal)
    return normal if angle <= most else np.asarray(_rotation(_cross(given, normal), most) @ given)


def _rotation(axis: Array, angle: float) -> Array:
    x, y, z = axis / np.linalg.norm(axis)
    return np.array(rotation_about((float(x), float(y), float(z)), angle)).reshape(3, 3)


def _orthonormal(R: Array) -> tuple[float, ...]:
    """The rotation nearest to R: many small turns add up."""
    u, _, vt = np.linalg.svd(R)
    return tuple((u @ vt).ravel().tolist())
