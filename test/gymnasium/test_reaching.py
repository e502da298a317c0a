# SPDX-License-Identifier: Apache-2.0
"""The environment: Gymnasium's own checks, dynamics that are the simulation's, episodes that end and begin."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_robot

import rbd_dynamics as rbd
from rbd_dynamics.simulation import Simulation, SimulationOptions

gymnasium = pytest.importorskip("gymnasium")

check_env = pytest.importorskip("gymnasium.utils.env_checker").check_env

from rbd_dynamics.gymnasium import Reaching, ReachingEnv  # noqa: E402


@pytest.fixture(scope="module")
def model():
    return load_robot("ur5_robot")


@pytest.mark.filterwarnings("ignore:.*infinity.*")  # nothing bounds where a tool may be, or how fast joints are
@pytest.mark.filterwarnings("error")
def test_one_arm_passes_the_checks_of_gymnasium(model):
    check_env(ReachingEnv(robot=model), skip_render_check=True)


def test_it_is_made_by_name_and_takes_the_wrappers_of_vectors(model):
    made = gymnasium.make_vec(
        "rbd_dynamics/Reaching-v0", num_envs=3, vectorization_mode="vector_entry_point", robot=model, most_steps=5
    )
    arms = gymnasium.wrappers.vector.RecordEpisodeStatistics(made)
    observed, _ = arms.reset(seed=1)
    assert arms.observation_space.contains(observed) and observed.shape == (3, 18)
    arms.action_space.seed(0)
    lengths = []
    for _ in range(12):
        observed, reward, ended, late, more = arms.step(arms.action_space.sample())
        assert arms.observation_space.contains(observed) and reward.shape == (3,) and not ended.any()
        if late.any():
            lengths += more["episode"]["l"][late].tolist()
    assert lengths == [5] * 6
    one = gymnasium.make("rbd_dynamics/Reaching-v0", robot=model)
    assert one.reset(seed=2)[0].shape == (18,)


def test_a_step_is_the_simulation_s_and_arms_do_not_depend_on_each_other(model):
    arms = Reaching(4, robot=model, frame="tool0", most_steps=1000)
    observed, _ = arms.reset(seed=3)
    robot, rng = rbd.Robot(model), np.random.default_rng(0)
    q, v, nv = observed[:, :6], observed[:, 6:12], model.nv
    alone = [Simulation(model, q=each, options=SimulationOptions(step=0.002)) for each in q]
    for _ in range(5):
        action = rng.uniform(-0.3, 0.3, (4, nv))
        place = observed[:, 12:15] + observed[:, 15:]
        observed, reward, *_ = arms.step(action)
        for simulation, effort, row in zip(alone, action, observed):
            simulation.command(effort * model.effort_limit + robot.gravity(simulation.q), np.arange(nv))
            simulation.advance(10)
            np.testing.assert_allclose(row[:12], [*simulation.q, *simulation.v], atol=1e-9)
        np.testing.assert_allclose(observed[:, 12:15], robot.pose(observed[:, :6], "tool0")[:, :3, 3], atol=1e-14)
        np.testing.assert_allclose(observed[:, 12:15] + observed[:, 15:], place, atol=1e-14)
        distance = np.linalg.norm(observed[:, 15:], axis=1)
        near = distance <= 0.02
        np.testing.assert_allclose(reward, near - distance - 0.01 * np.square(action).mean(axis=1), atol=1e-14)
    assert np.abs(v - observed[:, 6:12]).max() > 0.1


def test_the_same_seed_is_the_same_and_another_is_another(model):
    arms = Reaching(2, robot=model)
    first, again, other = (arms.reset(seed=seed)[0] for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    moving = np.abs(first - other)[:, [*range(6), *range(12, 18)]]  # all but velocities, which are zero
    assert moving.min() > 0.0


def test_an_arm_that_diverges_has_ended_and_begins_anew(model):
    arms = Reaching(3, robot=model)
    arms.reset(seed=0)
    arms._v[1] = 1e160
    observed, reward, ended, late, _ = arms.step(np.zeros((3, 6)))
    assert ended.tolist() == [False, True, False] and reward[1] == -10.0 and not late.any()
    observed, reward, ended, _, more = arms.step(np.zeros((3, 6)))
    assert not ended.any() and reward[1] == 0.0 and np.isfinite(observed).all() and not more["_distance"][1]
    assert np.all(observed[1, 6:12] == 0.0)


def test_the_frame_is_one_that_moves(model):
    """The last one of a UR5 is fixed to the world: there would be nothing to reach with."""
    arms = Reaching(2, robot=model)
    before = arms.reset(seed=0)[0][:, 12:15]
    after = arms.reset(seed=1)[0][:, 12:15]
    assert np.linalg.norm(after - before, axis=1).min() > 0.01
    with pytest.raises(ValueError, match="frame 'base' is fixed to the world"):
        Reaching(1, robot=model, frame="base")


def test_joints_with_quaternions_are_refused():
    with pytest.raises(ValueError, match="as many positions as velocities"):
        Reaching(1, robot=load_robot("solo12", "floating"))
