# SPDX-License-Identifier: Apache-2.0
"""The recursions as stacked operators: sparse matrices over all bodies at once (theory.md section 3; 001 section 4).

    V    = G xi v + G P0 V0                     Gamma: block (i, parent of i) is Ad_{T_pi^-1}
    Vdot = G (xi a + eta) + G P0 Vdot0          G = (1 - Gamma)^-1 = 1 + Gamma + Gamma^2 + ...
    F    = G^T (Mb Vdot - ad*_V Mb V)           tau = xi^T F

Gamma has the sparsity of the tree's adjacency matrix (003's stacked form) and is nilpotent. Twists
are (w, v) in each body's frame; a stack has 6 rows for each of the n bodies, in the model's order.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rbd_dynamics.algorithms.inverse_dynamics import rotor_inertias
from rbd_dynamics.algorithms.kinematics import base_acceleration
from rbd_dynamics.model.model import WORLD, Model
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial import ad, adjoint
from rbd_dynamics.spatial.arrays import pose_array
from rbd_dynamics.theory.closed_forms.arguments import configuration, velocity
from rbd_dynamics.theory.closed_forms.matrices import as_columns, inertia_matrices, momentum_matrix, motion_of

Array = NDArray[np.float64]


def adjacency(model: Model) -> sp.csr_matrix:
    """(n, n) of the tree of bodies: entry (i, p) is 1 where p is the parent of i."""
    edges = [(index, body.parent) for index, body in enumerate(model.bodies) if body.parent != WORLD]
    rows, columns = np.array(edges, dtype=int).reshape(-1, 2).T
    return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(model.bodies),) * 2)


class StackedOperators:
    """The operators of a robot at a configuration.

    xi (6n, nv): the joints' Jacobians S, one block per body; a mimic's stand in its leader's column.
    Gamma (6n, 6n), G (6n, 6n), P0 (6n, 6) and inertia Mb (6n, 6n), all scipy.sparse CSR matrices.
    """

    def __init__(self, robot: Robot, q: ArrayLike) -> None:
        self.robot, self.model = robot, robot.model
        self.q = configuration(self.model, q)
        bodies = self.model.bodies
        self._motions = [motion_of(body, self.q) for body in bodies]
        poses = np.array([pose_array(motion.transform.inverse()) for motion in self._motions])
        self._carry = adjoint(poses.reshape(-1, 4, 4))  # Ad_{T_pi^-1}
        self.xi = self._columns([as_columns(motion.columns) for motion in self._motions])
        inside = [(i, body.parent) for i, body in enumerate(bodies) if body.parent != WORLD]
        self.Gamma = self._blocks({place: self._carry[place[0]] for place in inside}, len(bodies))
        roots = [i for i, body in enumerate(bodies) if body.parent == WORLD]
        self.P0 = self._blocks({(i, 0): self._carry[i] for i in roots}, 1)
        self.inertia = self._diagonal(inertia_matrices(robot.inertial_parameters))

    @cached_property
    def G(self) -> sp.csr_matrix:
        """(1 - Gamma)^-1 = (1 + Gamma)(1 + Gamma^2)(1 + Gamma^4)... until the power is zero."""
        one = sp.identity(self.Gamma.shape[0], format="csr")
        result, power = one, self.Gamma
        while power.nnz:
            result = result @ (one + power)
            power = power @ power
        return result.tocsr()

    @cached_property
    def J(self) -> sp.csr_matrix:
        """G xi (6n, nv): all bodies' Jacobians, V = J v on a fixed base."""
        return (self.G @ self.xi).tocsr()

    def Pt(self, frame: str) -> sp.csr_matrix:
        """(6, 6n): takes the twist of a tool frame out of V. Zero for a frame of the world; KeyError if unknown."""
        place = self.model.frame(frame)
        block = adjoint(pose_array(place.placement.inverse()))
        blocks = {} if place.body == WORLD else {(0, place.body): block}
        return self._blocks(blocks, len(self.model.bodies), rows=1)

    def tool_jacobian(self, frame: str) -> Array:
        """J_t = Pt G xi (6, nv): the frame's body twist is J_t v."""
        return np.asarray((self.Pt(frame) @ self.J).toarray())

    def mass_matrix(self) -> Array:
        """M = xi^T G^T Mb G xi (nv, nv), and the rotors' inertia on the diagonal."""
        return np.asarray((self.J.T @ self.inertia @ self.J).toarray()) + np.diag(rotor_inertias(self.model))

    def gravity(self) -> Array:
        """N = xi^T G^T Mb G P0 Vdot0 (nv), with Vdot0 = (0, -g)."""
        base = np.array(base_acceleration(self.model))
        return np.asarray(self.J.T @ (self.inertia @ (self.G @ (self.P0 @ base))))

    def coriolis_matrix(self, v: ArrayLike, *, christoffel: bool = True) -> Array:
        """C (nv, nv) with C v the Coriolis torque.

        christoffel=False: the source's xi^T G^T (Mb G (xidot - ad_{xi v} Gamma J) - ad*_V Mb J), for which
        Mdot - 2 C is not skew in general. True: what acts on V is split evenly, which makes it skew:
        -ad*_V Mb becomes (Mb ad_V - ad*_V Mb - (the map X -> ad*_X Mb V)) / 2.
        """
        v = velocity(self.model, v)
        twists = (self.J @ v).reshape(-1, 6)
        own = ad((self.xi @ v).reshape(-1, 6))
        rates = self._columns([as_columns(motion_of(body, self.q, v).rates) for body in self.model.bodies])
        Jdot = self.G @ (rates - self._diagonal(own) @ self.Gamma @ self.J)
        ad_V = self._diagonal(ad(twists))
        turning = -ad_V.T @ self.inertia
        if christoffel:
            momenta = (self.inertia @ twists.ravel()).reshape(-1, 6)
            turning = 0.5 * (turning + self.inertia @ ad_V - self._diagonal(momentum_matrix(momenta)))
        return np.asarray((self.J.T @ (self.inertia @ Jdot + turning @ self.J)).toarray())

    def _blocks(self, blocks: dict[tuple[int, int], Array], columns: int, rows: int | None = None) -> sp.csr_matrix:
        """A matrix of 6 x 6 blocks at (row, column)."""
        shape = (6 * (len(self.model.bodies) if rows is None else rows), 6 * columns)
        if not blocks:
            return sp.csr_matrix(shape)
        at = np.array(list(blocks))
        inner = np.arange(6)
        row = np.broadcast_to(6 * at[:, 0, None, None] + inner[:, None], (len(at), 6, 6))
        column = np.broadcast_to(6 * at[:, 1, None, None] + inner, (len(at), 6, 6))
        values = np.array(list(blocks.values()))
        return sp.csr_matrix((values.ravel(), (row.ravel(), column.ravel())), shape=shape)

    def _diagonal(self, blocks: Array) -> sp.csr_matrix:
        return self._blocks({(k, k): block for k, block in enumerate(blocks)}, len(self.model.bodies))

    def _columns(self, columns: list[Array]) -> sp.csr_matrix:
        """Each joint's columns (6, n_i) in its body's rows and its degrees of freedom's columns."""
        result = sp.lil_matrix((6 * len(columns), self.model.nv))
        for index, (motion, block) in enumerate(zip(self._motions, columns)):
            for dof, column in zip(motion.dofs, block.T):
                result[6 * index : 6 * index + 6, dof] = column
        return result.tocsr()


class ArticulatedOperators:
    """Articulated inertias of all bodies and the square-root factor from them (001 section 4).

    Mhat = Mb + Gamma^T (Mhat - Mhat xi D^-1 xi^T Mhat) Gamma and D = xi^T Mhat xi + rotors, so that
    M = W W^T with W = xi^T G^T Mhat xi D^(-1/2). Raises ValueError for a model with mimic joints:
    their coordinates are no joints of the tree.
    """

    def __init__(self, stacked: StackedOperators) -> None:
        model = stacked.model
        mimics = [body.joint.name for body in model.bodies if body.joint.mimic is not None]
        if mimics:
            raise ValueError(f"articulated inertias need independent joints; {mimics[0]!r} is a mimic")
        self.stacked = stacked
        rotors = np.array(rotor_inertias(model))
        blocks = inertia_matrices(stacked.robot.inertial_parameters).copy()
        self.D = np.zeros((model.nv, model.nv))
        for index in reversed(range(len(blocks))):
            motion, parent = stacked._motions[index], model.bodies[index].parent
            S, dofs = as_columns(motion.columns), list(motion.dofs)
            force = blocks[index] @ S
            D = S.T @ force + np.diag(rotors[dofs])
            self.D[np.ix_(dofs, dofs)] = D
            if parent != WORLD:
                carry = stacked._carry[index]
                rest = blocks[index] - force @ np.linalg.solve(D, force.T)
                blocks[parent] += carry.T @ rest @ carry
        #: Mhat (6n, 6n), block diagonal, sparse
        self.inertia = stacked._diagonal(blocks)

    def mass_factor(self) -> Array:
        """W = xi^T G^T Mhat xi D^(-1/2) (nv, nv), upper triangular, M = W W^T; as `Robot.mass_factor`.

        The root of a joint's own block D_i = R R^T is the upper triangular one, and the rotors join xi^T Mhat xi.
        """
        rotors = np.diag(rotor_inertias(self.stacked.model))
        arms = (self.stacked.J.T @ self.inertia @ self.stacked.xi).toarray() + rotors
        return np.asarray(arms @ np.linalg.inv(self._root()).T)

    def _root(self) -> Array:
        """Upper triangular R with R R^T = D."""
        return np.asarray(np.linalg.cholesky(self.D[::-1, ::-1])[::-1, ::-1])
