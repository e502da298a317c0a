# SPDX-License-Identifier: Apache-2.0
"""Reaching: efforts of an arm's joints that bring a frame to a place and keep it there. Many arms side by side."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from rbd_dynamics.common.real_numbers import real_number
from rbd_dynamics.formats import load
from rbd_dynamics.model.model import Model
from rbd_dynamics.model.tip import tip_of
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation import BatchSimulation, SimulationOptions

Array = NDArray[np.float64]
Information = dict[str, Any]
UNLIMITED = 100.0  # N m or N: where the description has no limit
NEAR = 0.5  # of the range of each joint: where arms begin, about its middle


class Reaching(VectorEnv[Array, Array, Array]):
    """Arms that are to bring a frame to places that are chosen at random, within reach.

    An action is the effort of each joint beyond gravity, -1 to 1 of its limit. An observation is positions, velocities,
    the place of the frame, and from there the way to the wanted one, m in the world. The reward is minus that distance
    (m) at the end of a step, minus `effort_cost` times the mean square of the action, and one while the distance is at
    most `tolerance`. Episodes do not end by themselves but by `most_steps`; an arm whose simulation diverges has ended,
    with a reward of -10. The step after an episode's last begins another (Gymnasium's "next step").

    Parameters:
        num_envs: arms. robot: a model, or what `load` takes. frame: one that moves, by default the last such link.
        period: s, of a step, in which the simulation does `steps` of its own.
        most_steps: of an episode.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        *,
        robot: Model | str = "ur5",
        frame: str | None = None,
        period: float = 0.02,
        steps: int = 10,
        most_steps: int = 150,
        tolerance: float = 0.02,
        effort_cost: float = 0.01,
    ) -> None:
        self.model = model = load(robot) if isinstance(robot, str) else robot
        if model.nq != model.nv:
            raise ValueError("reaching is for arms whose joints have as many positions as velocities")
        self.num_envs, self.frame = int(num_envs), tip_of(model, frame)
        self._robot, self._steps, self._most = Robot(model), int(steps), int(most_steps)
        self._frame_position = self._robot.evaluation(f"pose:{self.frame}")
        self._simulation = BatchSimulation(model, options=SimulationOptions(step=real_number(period) / self._steps))
        self._tolerance, self._cost = real_number(tolerance), real_number(effort_cost)
        self._strength = np.where(np.isfinite(model.effort_limit), model.effort_limit, UNLIMITED)
        self._low = np.where(np.isfinite(model.lower), model.lower, -np.pi)
        self._high = np.where(np.isfinite(model.upper), model.upper, np.pi)
        size = 2 * model.nv + 6
        self.single_observation_space = Box(-np.inf, np.inf, (size,), dtype=np.float64)
        self.single_action_space = Box(-1.0, 1.0, (model.nv,), dtype=np.float64)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self._q, self._v = np.zeros((2, self.num_envs, model.nv))
        self._wanted = np.zeros((self.num_envs, 3))
        self._count = np.zeros(self.num_envs, dtype=np.int64)
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Information | None = None
    ) -> tuple[Array, Information]:
        """Begin an episode of every arm; of those in options["reset_mask"] alone, where it is given."""
        if isinstance(seed, (list, tuple)):
            seed = None if any(each is None for each in seed) else hash(tuple(seed)) % 2**32
        if seed is not None:
            self._np_random, self._np_random_seed = gymnasium.utils.seeding.np_random(seed)
        mask = (options or {}).get("reset_mask")
        which = np.ones(self.num_envs, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
        self._begin(which)
        self._over[which] = False
        return self._observed(), {}

    def step(  # type: ignore[override]  # Gymnasium's own environments give booleans as well, though it says otherwise
        self, actions: Array
    ) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], Information]:
        """A period of every arm; of those whose episode had ended, the beginning of another."""
        given = np.clip(np.asarray(actions, dtype=float).reshape(self.num_envs, -1), -1.0, 1.0)
        begins = self._over.copy()
        efforts = self._strength * given + self._robot.gravity(self._q)
        found = self._simulation.run(self._q, self._v, efforts[:, None], self._steps, every=self._steps, errors="nan")
        ended = found.diverged & ~begins
        moved = ~(found.diverged | begins)
        self._q[moved], self._v[moved] = found.q[moved, -1], found.v[moved, -1]
        self._count += 1
        self._begin(begins)
        observed = self._observed()
        distance = np.linalg.norm(observed[:, -3:], axis=1)
        reward = (distance <= self._tolerance) - distance - self._cost * np.square(given).mean(axis=1)
        reward[ended], reward[begins] = -10.0, 0.0
        late = (self._count >= self._most) & ~begins & ~ended
        self._over = ended | late
        return observed, reward, ended, late, {"distance": distance, "_distance": ~begins}

    def _begin(self, which: NDArray[np.bool_]) -> None:
        """New episodes of these arms."""
        count = int(which.sum())
        if not count:
            return
        rng, middle, half = self.np_random, 0.5 * (self._low + self._high), 0.5 * (self._high - self._low)
        begins, ends = middle + NEAR * half * rng.uniform(-1.0, 1.0, (2, count, self.model.nv))
        self._q[which], self._v[which], self._count[which] = begins, 0.0, 0
        self._wanted[which] = self._places(ends)

    def _places(self, q: Array) -> Array:
        """Places of the frame (N, 3), at which nothing diverges."""
        found: Array = self._frame_position((q,))[:, :3, 3]
        return found

    def _observed(self) -> Array:
        place = self._places(self._q)
        return np.concatenate([self._q, self._v, place, self._wanted - place], axis=1)


class ReachingEnv(gymnasium.Env[Array, Array]):
    """One arm of `Reaching`, whose parameters it takes, as a plain environment."""

    metadata = {"render_modes": []}

    def __init__(
        self,
        *,
        robot: Model | str = "ur5",
        frame: str | None = None,
        period: float = 0.02,
        steps: int = 10,
        most_steps: int = 150,
        tolerance: float = 0.02,
        effort_cost: float = 0.01,
    ) -> None:
        self._arms = Reaching(
            1, robot=robot, frame=frame, period=period, steps=steps, most_steps=most_steps, tolerance=tolerance,
            effort_cost=effort_cost,
        )  # fmt: skip
        self.observation_space, self.action_space = self._arms.single_observation_space, self._arms.single_action_space

    def reset(self, *, seed: int | None = None, options: Information | None = None) -> tuple[Array, Information]:
        super().reset(seed=seed)
        observed, _ = self._arms.reset(seed=seed)
        return observed[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, Information]:
        observed, reward, ended, late, more = self._arms.step(np.asarray(action)[None])
        return observed[0], float(reward[0]), bool(ended[0]), bool(late[0]), {"distance": float(more["distance"][0])}
