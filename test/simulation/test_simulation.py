# SPDX-License-Identifier: Apache-2.0
"""The simulated robot moves as mechanics says, and stays within what a real one can."""

import numpy as np
import pytest
from helpers.models.arms import ARM

from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.robot import Robot
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction
from rbd_dynamics.simulation.rollout import check_times, rollout
from rbd_dynamics.simulation.simulation import Simulation, SimulationDiverged, SimulationOptions

ALL = np.arange(3)
FREE = {"friction": False, "position_limits": False, "effort_limits": False, "start_braked": False}


@pytest.fixture(scope="module")
def model():
    return load_urdf(ARM)


def energy(model, simulation):
    robot = Robot(model)
    return float(robot.kinetic_energy(simulation.q, simulation.v) + robot.potential_energy(simulation.q))


def run(model, q, seconds, **options):
    simulation = Simulation(model, q=q, options=SimulationOptions(**{**FREE, **options}))
    simulation.advance(round(seconds / simulation.options.step))
    return simulation


@pytest.mark.parametrize(("integrator", "order"), [("semi_implicit_euler", 1), ("rk4", 4)])
def test_error_shrinks_with_the_order_of_the_integrator(model, integrator, order):
    q = np.array([0.3, 0.4, 0.05])
    exact = run(model, q, 0.2, integrator="rk4", step=1e-4).q
    coarse, fine = (
        np.abs(run(model, q, 0.2, integrator=integrator, step=step).q - exact).max() for step in (4e-3, 2e-3)
    )
    assert 2 ** (order - 0.3) < coarse / fine < 2 ** (order + 0.5)


@pytest.mark.parametrize(("integrator", "drift"), [("semi_implicit_euler", 0.05), ("rk4", 1e-6)])
def test_energy_is_conserved_without_friction(model, integrator, drift):
    q = np.array([0.3, 0.4, 0.05])
    model = load_urdf(ARM, locked={"slide": 0.05})
    simulation = Simulation(model, q=q[:2], options=SimulationOptions(integrator=integrator, **FREE))
    start = energy(model, simulation)
    simulation.advance(2000)
    assert abs(energy(model, simulation) - start) < drift


def test_friction_brings_it_to_rest_without_chatter(model):
    coulomb = {"shoulder": 2.0, "elbow": 1.0, "slide": 5.0}
    heavy = with_joint_friction(model.with_gravity((0, 0, 0)), damping={"elbow": 0.3}, friction=coulomb)
    simulation = Simulation(heavy, q=np.zeros(3), options=SimulationOptions(start_braked=False, position_limits=False))
    simulation.v[:] = [1.0, -2.0, 0.5]
    speeds = []
    for _ in range(1500):
        simulation.advance()
        speeds.append(simulation.v.copy())
    assert np.abs(speeds[-1]).max() < 1e-6
    last = np.abs(np.array(speeds[-200:])).max(axis=1)
    assert (np.diff(last) <= 1e-12).all()


def test_static_friction_balances_a_small_force_at_any_step(model):
    stiff = with_joint_friction(model.with_gravity((0, 0, 0)), friction={"slide": 5.0})
    for step in (1e-4, 1e-3, 1e-2):
        simulation = Simulation(stiff, q=np.zeros(3), options=SimulationOptions(step=step))
        simulation.command(np.array([0.0, 0.0, 3.0]), ALL)
        simulation.advance(round(1.0 / step))
        assert simulation.q[2] == simulation.v[2] == 0.0


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_joint_stops_at_its_limit_and_leaves_it_again(model, integrator):
    options = SimulationOptions(integrator=integrator, friction=False)
    simulation = Simulation(model.with_gravity((0, 0, 0)), q=np.zeros(3), options=options)
    simulation.command(np.array([0.0, 0.0, 20.0]), ALL)
    for _ in range(600):
        simulation.advance()
        assert simulation.q[2] <= 0.2 + 1e-9
    assert simulation.q[2] == pytest.approx(0.2, abs=1e-6)
    simulation.command(np.array([0.0, 0.0, -5.0]), ALL)
    simulation.advance(100)
    assert simulation.q[2] < 0.19


def test_reaction_of_a_limit_moves_the_rest_of_the_robot(model):
    """Nothing outside pushes along the slide: stopping it at its limit conserves the arm's angular momentum."""
    model = load_urdf(ARM, gravity=(0, 0, 0), locked={"elbow": 0.7})
    simulation = Simulation(model, q=np.zeros(2), options=SimulationOptions(friction=False, start_braked=False))
    simulation.v[:] = [0.5, 1.5]
    robot = Robot(model)
    before = (robot.mass_matrix(simulation.q) @ simulation.v)[0]
    simulation.advance(300)
    assert simulation.q[1] == pytest.approx(0.2, abs=1e-3)
    after = (robot.mass_matrix(simulation.q) @ simulation.v)[0]
    assert after == pytest.approx(before, rel=2e-3)


def test_brakes_hold_until_the_first_command_and_after_reset(model):
    simulation = Simulation(model)
    start = simulation.q.copy()
    simulation.advance(100)
    np.testing.assert_array_equal(simulation.q, start)
    assert simulation.time == pytest.approx(0.1)
    simulation.command(np.zeros(3), ALL)
    simulation.advance(100)
    assert np.abs(simulation.q - start).max() > 1e-3
    simulation.reset()
    simulation.advance(10)
    np.testing.assert_array_equal(simulation.q, start)
    assert simulation.time == pytest.approx(0.21)


def test_efforts_become_zero_when_commands_stop(model):
    simulation = Simulation(model, options=SimulationOptions(command_timeout=0.05))
    simulation.command(np.array([1.0, 2.0, 3.0]), ALL)
    simulation.advance(50)
    np.testing.assert_array_equal(simulation.tau, [1, 2, 3])
    simulation.advance(1)
    np.testing.assert_array_equal(simulation.tau, 0)
    assert simulation.timed_out


def test_commands_are_cut_off_at_the_effort_limits(model):
    simulation = Simulation(model)
    simulation.command(np.array([-1000.0]), np.array([1]))
    simulation.advance()
    np.testing.assert_array_equal(simulation.tau, [0, -40, 0])


def test_diverged_state_is_reported_and_the_last_sound_one_kept(model):
    simulation = Simulation(model, options=SimulationOptions(effort_limits=False, position_limits=False))
    simulation.command(np.array([1e9, 0.0, 0.0]), ALL)
    with pytest.raises(SimulationDiverged):
        simulation.advance(1000)
    assert np.isfinite(simulation.q).all()


def test_perturbed_robot_differs_and_is_still_possible(model):
    same, other = perturb_inertias(model, 0.0), perturb_inertias(model, 0.3, seed=5)
    assert other == perturb_inertias(model, 0.3, seed=5)
    q = np.array([0.1, 0.2, 0.05])
    np.testing.assert_allclose(Robot(same).mass_matrix(q), Robot(model).mass_matrix(q), rtol=1e-12)
    difference = Robot(other).mass_matrix(q) / Robot(model).mass_matrix(q) - 1
    assert 0.01 < np.abs(difference).max() < 1.0
    assert np.linalg.eigvalsh(Robot(other).mass_matrix(q)).min() > 0


def test_first_step_is_tried_and_leaves_no_trace(model):
    simulation = Simulation(model, options=SimulationOptions(start_braked=True))
    simulation.attempt()
    assert simulation.braked and simulation.steps == 0
    np.testing.assert_array_equal(simulation.q, simulation.start)
    np.testing.assert_array_equal(simulation.v, 0.0)
    hopeless = Simulation(model, q=[0.3, 0.4, 0.05], options=SimulationOptions(step=1e6, position_limits=False))
    with pytest.raises(SimulationDiverged):
        hopeless.attempt()
    assert hopeless.braked and hopeless.steps == 0
    np.testing.assert_array_equal(hopeless.q, hopeless.start)


def test_adaptive_integration_of_a_stiff_robot_ends(model):
    stiff = with_joint_friction(
        model, damping=dict.fromkeys(model.joint_names, 1e9), friction=dict.fromkeys(model.joint_names, 0.0)
    )
    simulation = Simulation(stiff, options=SimulationOptions(integrator="adaptive", step=0.1, start_braked=False))
    simulation.v[:] = 1.0
    with pytest.raises(SimulationDiverged, match="too many inner"):
        simulation.advance(1)


def test_rollout_stops_when_asked_and_tells_how_long_it_takes(model):
    def at_rest(time):
        return np.zeros(3)

    simulation, asked = Simulation(model, options=SimulationOptions(step=1e-3)), []

    def stop():
        asked.append(0)
        return len(asked) > 25

    samples = list(rollout(simulation, at_rest, 1.0, 0.01, stop=stop))
    assert [sample.time for sample in samples] == pytest.approx([0.0, 0.01, 0.02, 0.025])
    assert check_times(1e-3, 1.0, 0.01) == 101 == len(list(rollout(simulation, at_rest, 1.0, 0.01)))
    for times, reason in (
        ((1e-6, 1e5, 1.0), "steps"),
        ((1e-3, np.inf, 1.0), "duration"),
        ((1e-3, 1.0, 1e-300), "sample_period"),
    ):
        with pytest.raises(ValueError, match=reason):
            check_times(*times)
