# SPDX-License-Identifier: Apache-2.0
"""A quadruped (Solo 12) jumps: differential dynamic programming over stance, flight, impact and landing.

While it stands its feet are held by constraints, whose multipliers are the contact forces; in flight nothing holds it;
at touchdown the feet stop by an impulse. All three come with their derivatives, in batches. The cost asks for the feet
back on their places after the flight, rest at the end, little torque, and forces that push within friction cones. Some
iterations turn a rough jump by hand, whose feet pull at the floor, into one that can be done.

Checked: planned forces push within Coulomb's cone, torques keep to their limits. The simulator, which knows of no
phases but has unilateral contacts with friction at the feet, is given the policy: it jumps as high as planned and as
the speed at lift-off says, z + vz^2 / 2g for the mass centre, lands, and stands still.
"""

from __future__ import annotations

import numpy as np
from ilqr import Array, Solution, roll_out_controls, solve
from jump_task import FEET, GRAVITY, NODES, STEP, TORQUE, Jump, by_hand
from picture import new_figure, output_path, save

from rbd_dynamics.simulation import Contact, Simulation, SimulationOptions

FRICTION = 0.6  # of the floor
SUBSTEPS, ITERATIONS = 20, 30  # steps of the simulator a node; of the solver


def play(problem: Jump, found: Solution) -> tuple[Array, Array]:
    """States (N, 37) and forces on the feet (N, 4, 3) in the simulator, under the policy about the plan."""
    model = problem.model
    floor = [Contact(foot, foot, radius=1e-4, friction_coefficient=FRICTION) for foot in FEET]
    q, _ = problem.split(problem.stand)
    q = q + 1e-4 * (np.arange(model.nq) == 2)
    simulation = Simulation(model, q=q, options=SimulationOptions(step=STEP / SUBSTEPS), contacts=floor)
    states, forces = [], []
    for k in range(NODES):
        onwards = problem.difference(found.xs[k], found.xs[k + 1])
        for part in np.arange(SUBSTEPS) / SUBSTEPS:
            x = np.concatenate([simulation.q, simulation.v])
            change = problem.difference(found.xs[k], x) - part * onwards
            u = np.clip(found.us[k] + found.policy.gains[k] @ change, problem.lower, problem.upper)
            simulation.command(u, np.arange(6, model.nv))
            simulation.advance()
            states.append(x)
            forces.append(simulation.contact_forces.copy())
    return np.array(states), np.array(forces)


def mass_centre(problem: Jump, xs: Array) -> tuple[Array, Array]:
    """Height (N) [m] of the mass centre and its rate."""
    q, v = problem.split(xs)
    rate = (problem.robot.center_of_mass_jacobian(q) @ v[:, :, None])[:, :, 0]
    return problem.robot.center_of_mass(q)[:, 2], rate[:, 2]


def steepest(forces: Array) -> float:
    """Largest ratio of tangential to normal of forces (N, 4, 3) in world axes; infinite where one pulls."""
    normal = forces[..., 2]
    return float(np.inf if normal.min() <= 0 else (np.hypot(forces[..., 0], forces[..., 1]) / normal).max())


def main() -> None:
    path = output_path("jump", __doc__)
    problem = Jump()
    first = by_hand(problem)
    found = solve(problem, problem.stand, first, iterations=ITERATIONS, tolerance=1e-3)
    before = problem.forces(roll_out_controls(problem, problem.stand, first), first)[0]
    forces, impulse = problem.forces(found.xs, found.us)
    slope = max(steepest(forces.reshape(-1, 4, 3)), steepest(impulse.reshape(1, 4, 3)))
    torque = np.abs(found.us).max()
    planned, _ = mass_centre(problem, found.xs)
    xs, contact = play(problem, found)
    height, rate = mass_centre(problem, xs)
    touched, apex = (contact[:, :, 0] > 0).any(axis=1), int(np.argmax(height))
    off, down = int(np.flatnonzero(touched[:apex])[-1]) + 1, apex + int(np.argmax(touched[apex:]))
    stone = height[off] + rate[off] ** 2 / (2 * GRAVITY)
    left = np.abs(problem.difference(problem.stand, xs[-1]))
    tau = STEP / SUBSTEPS
    print(f"{len(found.costs) - 1} steps of the solver: cost from {found.costs[0]:.0f} to {found.costs[-1]:.1f}")
    print(f"by hand the least normal force is {before[:, 2::3].min():.2f} N, planned {forces[:, 2::3].min():.2f} N")
    print(f"tangential over normal force: {slope:.3f} at most; torques: {torque:.2f} N m at most")
    print(f"mass centre: standing at {height[0]:.4f} m, planned up to {planned.max():.4f} m")
    print(f"simulated: in the air for {(down - off) * tau:.3f} s, up to {height.max():.4f} m, as a stone {stone:.4f} m")
    print(f"after landing: {left[:18].max():.4f} rad or m from standing, {left[18:].max():.3f} rad/s or m/s")

    figure = new_figure(12, 4)
    axes = figure.subplots(1, 3)
    times, nodes = tau * np.arange(len(xs)), STEP * np.arange(NODES + 1)
    axes[0].plot(nodes, planned, "o", ms=2, color="0.6", label="planned")
    axes[0].plot(times, height, label="simulated")
    flight = times[off:down] - times[off]
    parabola = height[off] + rate[off] * flight - 0.5 * GRAVITY * flight**2
    axes[0].plot(flight + times[off], parabola, "--", color="tab:red", label="a thrown stone")
    axes[0].set(xlabel="time [s]", ylabel="[m]", title="height of the mass centre")
    axes[1].plot(times, contact[:, :, 0], lw=1, label=FEET)
    axes[1].set(xlabel="time [s]", ylabel="[N]", ylim=(0, 60), title="normal forces, simulated")
    axes[2].plot(nodes[:-1], found.us / TORQUE, lw=1)
    axes[2].set(xlabel="time [s]", ylabel="torque / limit", title="planned torques")
    for each in axes:
        each.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    axes[1].legend(fontsize=8)
    save(figure, path)

    if torque > TORQUE or slope > FRICTION:
        raise SystemExit("forces or torques are beyond their limits")
    if (down - off) * tau < 0.2 or abs(height.max() - planned.max()) > 0.01 or abs(height.max() - stone) > 0.001:
        raise SystemExit("it does not jump as high as planned, or as its speed says")
    if left[:18].max() > 0.05 or left[18:].max() > 0.5:
        raise SystemExit("it does not stand still after landing")


if __name__ == "__main__":
    main()
