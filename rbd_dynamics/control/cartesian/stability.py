# SPDX-License-Identifier: Apache-2.0
"""Which stiffness of a tool is stable through sampled, late commands and slow actuators, on this arm?

What limits it is the lightest joint: an arm whose description lacks rotors has wrists of 1e-3 kg m^2 or less, on which
a stiffness that suits the arm swings faster than any command comes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_dynamics.control.cartesian.controller import CartesianController, Tuning
from rbd_dynamics.control.cartesian.gains import STIFFNESS, CartesianGains, GainNumbers
from rbd_dynamics.control.motion.joint_room import random_postures
from rbd_dynamics.control.safety.closed_loop import Timing, growth_rate
from rbd_dynamics.spatial import adjoint, pose_inverse

Array = NDArray[np.float64]
GROWTH = 1.0  # 1/s: what grows no faster has no feedback, and is what rounding makes of that
LIGHTER = 0.9  # inertias are, than described: what is stable by a hair is not on the arm
POSTURES, WORST = 200, 2  # looked at; tried, for rotations and for translations
SHARES = np.geomspace(1.0, 1e-4, 33)  # of the usual stiffness


class ToolLoop(NamedTuple):
    """A tool's feedback at a posture: M (nv, nv), rows J (6, nv) in the axes of stiffness, mobility (6, 6) there."""

    M: Array
    J: Array
    mobility: Array
    inverse_inertia: Array | None  # (6, 6) of the tool, where stiffness is per inertia

    @classmethod
    def of(cls, controller: CartesianController, tuning: Tuning, q: Array, wanted: Array | None = None) -> ToolLoop:
        """The feedback at q (nv); wanted (3, 3): the orientation that is wanted, where it is another one."""
        robot = controller.robot
        turned = controller.pose(q)[:3, :3]
        carrier = {"root": np.eye(3), "tool": turned, "wanted": turned if wanted is None else wanted}
        axes = carrier[tuning.compliance.carrier] @ tuning.compliance.numbers()[1].reshape(3, 3)
        into = np.kron(np.eye(2), axes.T @ turned)
        J = into @ adjoint(pose_inverse(controller.tool)) @ robot.jacobian(q, controller.frame)
        M = robot.mass_matrix(q)
        inverse = J @ np.linalg.solve(M, J.T)
        numbers = GainNumbers(*tuning.gains.numbers())
        least = np.repeat([numbers.least_rotation, numbers.least_translation], 3)
        per_inertia = inverse + np.diag(least) if controller.law == "operational_space" else None
        return cls(M, J, inverse + np.diag(least), per_inertia)

    def feedback(self, K: Array, gains: CartesianGains) -> tuple[Array, Array]:
        """Stiffness and damping of the joints (nv, nv), of a stiffness K (6, 6)."""
        given, ratio = gains.dampings(), gains.damping_ratio
        if self.inverse_inertia is None:
            D = modal_damping(K, self.mobility, ratio)
        else:
            D = np.diag(2.0 * ratio * np.sqrt(np.diag(K)))
        free = given < 0.0
        D = np.where(np.outer(free, free), D, np.diag(np.where(free, 0.0, given)))
        inertia = np.eye(6) if self.inverse_inertia is None else np.linalg.inv(self.inverse_inertia)
        return self.J.T @ inertia @ K @ self.J, self.J.T @ inertia @ D @ self.J

    def stiffest(self, K: Array) -> float:
        """Largest squared frequency of swings under K, 1/s^2."""
        return float(np.abs(np.linalg.eigvals(np.linalg.solve(self.M, self.J.T @ K @ self.J))).max())


def modal_damping(K: Array, mobility: Array, ratio: float) -> Array:
    """D (6, 6) with which all swings of a tool die out with the same ratio, as `algorithms.modal_damping` has it."""
    L = np.linalg.cholesky(mobility)
    values, axes = np.linalg.eigh(L.T @ K @ L)
    back = np.linalg.solve(L.T, axes)
    return np.asarray(2.0 * ratio * back * np.sqrt(np.maximum(values, 0.0)) @ back.T)


class StiffnessCheck:
    """Tries stiffnesses at the postures of an arm where they are most likely to be unstable.

    Attributes:
        postures, loops: these, each (nv), and the tool's feedback there. lightest: the joint that limits the stiffness,
            by its name; inertia: of its own freedom, kg m^2 or kg.
    """

    def __init__(self, controller: CartesianController) -> None:
        tuning = controller.tuning(compliance=controller.compliance)
        postures = random_postures(controller.robot.model, POSTURES)
        loops = [ToolLoop.of(controller, tuning, q) for q in postures]
        chosen: dict[int, ToolLoop] = {}
        for K in (np.diag([1.0] * 3 + [0.0] * 3), np.diag([0.0] * 3 + [1.0] * 3)):
            order = np.argsort([-loop.stiffest(K) for loop in loops])
            chosen |= {int(k): loops[k] for k in order[:WORST]}
        self.postures, self.loops = [postures[k] for k in chosen], list(chosen.values())
        light = min(self.loops, key=lambda loop: float(np.diag(loop.M).min()))
        joint = int(np.diag(light.M).argmin())
        self.lightest, self.inertia = controller.joints[joint], float(light.M[joint, joint])
        self.law = controller.law

    def stable(self, K: Array, gains: CartesianGains, timing: Timing) -> bool:
        """Whether K (6, 6) is, at all of the postures, also of an arm that is lighter than described by a tenth.

        The damping is that of the gains.
        """
        return all(growth_rate(LIGHTER * loop.M, *loop.feedback(K, gains), timing) <= GROWTH for loop in self.loops)

    def largest(self, K: Array, gains: CartesianGains, timing: Timing, *, beside: Array | None = None) -> float:
        """The largest share of K that is stable, beside another stiffness; 0: none."""
        rest = np.zeros((6, 6)) if beside is None else beside
        return next((float(share) for share in SHARES if self.stable(share * K + rest, gains, timing)), 0.0)

    def usual(self, gains: CartesianGains, timing: Timing) -> tuple[float, float]:
        """Stiffness of translations and of rotations: the usual one, softer where that is not stable.

        Translations are softer until rotations are left at least half of what is stable of them alone.
        """
        along, about = STIFFNESS[self.law]
        turning, moving = np.diag([about] * 3 + [0.0] * 3), np.diag([0.0] * 3 + [along] * 3)
        alone, least = self.largest(moving, gains, timing), 0.5 * self.largest(turning, gains, timing)
        for softer in SHARES[SHARES <= alone]:
            share = self.largest(turning, gains, timing, beside=softer * moving)
            if share and share >= least:
                return rounded(softer * along), rounded(share * about)
        return 0.0, 0.0

    def problem(self, K: Array, gains: CartesianGains, timing: Timing) -> str:
        """Why K (6, 6) is not stable, and what would be; empty: it is."""
        if self.stable(K, gains, timing):
            return ""
        rotations = K.copy()
        rotations[3:] = rotations[:, 3:] = 0.0
        share, what = self.largest(rotations, gains, timing, beside=K - rotations if not K[:3, 3:].any() else None), ""
        if share:
            what = f"a rotational stiffness of {rounded(share * float(np.diag(K)[:3].max())):g} N m/rad"
        else:
            what = f"{rounded(max(self.largest(K, gains, timing), float(SHARES[-1]))):g} times of it"
        return (
            f"unstable on this arm with actuators of {timing.bandwidth:g} Hz and states {timing.delay:g} s late; "
            f"{what} would be stable. {self.limit}"
        )

    @property
    def limit(self) -> str:
        """What limits the stiffness, in words."""
        return (
            f"Joint {self.lightest!r} has only {self.inertia:.2g} kg m^2: does the description lack its rotor "
            f"(rotor inertia times the gear ratio squared)?"
        )


def rounded(value: float) -> float:
    """Down to two digits."""
    digit = 10.0 ** np.floor(np.log10(value) - 1.0)
    return float(f"{np.floor(value / digit + 1e-9) * digit:.2g}")


def softer_where_unstable(gains: CartesianGains, usual: tuple[float, float]) -> CartesianGains:
    """The gains, with the stiffness that nobody has given."""
    along, about = usual
    return replace(
        gains,
        stiffness=along if gains.stiffness is None else gains.stiffness,
        rotational_stiffness=about if gains.rotational_stiffness is None else gains.rotational_stiffness,
    )
