# SPDX-License-Identifier: Apache-2.0
"""A reach by direct multiple shooting, with CasADi and Ipopt: the tool to a place, at rest, with little torque.

A UR5 brings its tool to a place in a given time. States at all instants and torques between them are variables, each
step of the simulator is a constraint, torques and positions have their limits. Dynamics and pose are the functions of
`rbd_dynamics.casadi`, whose exact first and second derivatives Ipopt takes. At the end the torques are given to the
simulator. The same dynamics as acados wants it, f(x, u), is written as C code.

    pip install 'rbd_dynamics[casadi]'
"""

from __future__ import annotations

import casadi
import numpy as np
from picture import new_figure, output_path, save

import rbd_dynamics as rbd
from rbd_dynamics.casadi import functions

STEPS, DURATION = 30, 1.2  # s
START = np.array([0.0, -1.2, 1.4, -1.7, -1.57, 0.0])
PLACE = np.array([0.3, 0.4, 0.5])  # of the tool, m


def acados_model(robot: rbd.Robot) -> dict[str, casadi.SX]:
    """x = (q, v), u = tau and dx/dt = f(x, u), named as the fields of an AcadosModel."""
    n = robot.model.nv
    x, u = casadi.SX.sym("x", 2 * n), casadi.SX.sym("u", n)
    rate = casadi.vertcat(x[n:], functions(robot).forward_dynamics(x[:n], x[n:], u))
    return {"x": x, "u": u, "f_expl_expr": rate}


def main() -> None:
    path = output_path("reach_casadi", __doc__)
    robot = rbd.Robot(rbd.load("ur5"))
    f, n, h = functions(robot), robot.model.nv, DURATION / STEPS
    limit, tool = robot.model.effort_limit, "tool0"

    q, v, tau = (casadi.SX.sym(name, n) for name in ("q", "v", "tau"))
    step = casadi.Function("step", [q, v, tau], list(f.step(q, v, tau, h)))
    place = casadi.Function("place", [q], [f.pose(q, tool)[:3, 3]])

    problem = casadi.Opti()
    Q, V, U = problem.variable(n, STEPS + 1), problem.variable(n, STEPS + 1), problem.variable(n, STEPS)
    for k in range(STEPS):
        after_q, after_v = step(Q[:, k], V[:, k], U[:, k])
        problem.subject_to(Q[:, k + 1] == after_q)
        problem.subject_to(V[:, k + 1] == after_v)
        problem.subject_to(problem.bounded(-1.0, U[:, k] / limit, 1.0))
    problem.subject_to(Q[:, 0] == START)
    problem.subject_to(V[:, 0] == 0.0)
    problem.subject_to(V[:, -1] == 0.0)
    problem.subject_to(place(Q[:, -1]) == PLACE)
    problem.minimize(casadi.sumsqr(U / casadi.repmat(casadi.DM(limit), 1, STEPS)) / STEPS)
    problem.set_initial(Q, np.tile(START[:, None], STEPS + 1))
    problem.set_initial(U, np.tile(robot.gravity(START)[:, None], STEPS))
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 300})
    found = problem.solve()
    torques = np.array(found.value(U)).T
    print(f"Ipopt: {found.stats()['iter_count']} iterations")

    # the same torques, by the library's own numbers
    at, speed, places = START, np.zeros(n), []
    for torque in torques:
        places.append(robot.pose(at, tool)[:3, 3])
        speed = speed + h * robot.forward_dynamics(at, speed, torque)
        at = robot.model.integrate(at, h * speed)
    places.append(robot.pose(at, tool)[:3, 3])
    miss = float(np.linalg.norm(places[-1] - PLACE))
    print(f"in the simulator the tool misses the place by {1e6 * miss:.3g} um, at {np.abs(speed).max():.3g} rad/s")

    model = acados_model(robot)
    code = casadi.CodeGenerator("ur5_dynamics")
    code.add(casadi.Function("f_expl", [model["x"], model["u"]], [model["f_expl_expr"]]))
    print(f"f(x, u) for acados: {code.dump().count(';')} statements of C")

    figure = new_figure(10, 4)
    left, right = figure.subplots(1, 2)
    times = h * np.arange(STEPS + 1)
    left.plot(times, np.array(places), label=["x", "y", "z"])
    left.plot(np.full(3, DURATION), PLACE, "k.", label="wanted")
    left.set(xlabel="time [s]", ylabel="tool [m]")
    right.step(times[:-1], torques / limit, label=list(robot.model.joint_names), where="post")
    right.set(xlabel="time [s]", ylabel="torque / limit")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    save(figure, path)
    if miss > 1e-6:
        raise SystemExit("the simulator does not follow the plan")


if __name__ == "__main__":
    main()
