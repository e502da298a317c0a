# SPDX-License-Identifier: Apache-2.0
"""Hybrid position/force control: closed loops as the theory says, independence of the gauge, internal forces."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers.models.robots import robot_file
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.constraints import (
    ConstraintSet,
    Cylinder,
    FrameConstraint,
    JointCoupling,
    PfaffianRows,
    Plane,
    Sphere,
    SurfaceConstraint,
)
from rbd_dynamics.control.hybrid.controller import HybridController
from rbd_dynamics.control.hybrid.gains import HybridGains
from rbd_dynamics.control.hybrid.multiplier_sensor import MultiplierSensor
from rbd_dynamics.model.joints import Planar
from rbd_dynamics.spatial.se3 import Transform

TOOL = "panda_hand_tcp"
POSE = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.785])
DOWN = (1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
LAWS = ("geometric", "gauge_invariant")
FORCE = np.array([10.0])


@pytest.fixture(scope="module")
def robot():
    return rbd.Robot(rbd.load_urdf(robot_file("panda"), locked={"panda_finger_joint1": 0.02}))


class Press:
    """A tool on a surface below it: what is constrained, what is controlled, where it starts."""

    def __init__(self, robot, surface=None, elbow=True):
        self.robot, model = robot, robot.model
        surface = surface or Plane()
        point = robot.pose(POSE, TOOL)[:3, 3]
        depth = 0.0 if isinstance(surface, Plane) else surface.radius
        lying = IDENTITY if not isinstance(surface, Cylinder) else (0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0)
        base = Transform.of(lying, (point[0], point[1], point[2] - depth))
        touched = Transform.of(IDENTITY, tuple(point))
        turned = Transform.of(DOWN, (0.0, 0.0, 0.0))
        upright = FrameConstraint(
            "tool", TOOL, directions=("rx", "ry", "rz", "x", "y"), reference_placement=touched, placement=turned
        )
        table = SurfaceConstraint("table", TOOL, reference_placement=base, surface=surface)
        self.constraints = ConstraintSet(model, [table])
        rows = [upright, JointCoupling("elbow", {"panda_joint1": 1.0})] if elbow else [upright]
        self.task = ConstraintSet(model, rows)
        self.q = robot.project_configuration(POSE, ConstraintSet(model, [table, upright]))

    def controller(self, law, kp=10.0, kd=10.0, **gains):
        """Both laws with the same closed loop: (d/dt + kd)(d/dt + kp) e = 0."""
        position = {"kp": kp * kd, "kd": kp + kd} if law == "geometric" else {"kp": kp, "kd": kd}
        return HybridController(
            self.robot, self.constraints, self.task, law=law, gains=HybridGains(**position, **gains)
        )

    def terms(self, q, v):
        """M, C, N, A, Adot v, A_t, Adot_t v."""
        robot, held, moved = self.robot, self.constraints, self.task
        _, A, Adot_v = robot.constraint_rows(q, v, held)
        _, A_t, Adot_t_v = robot.constraint_rows(q, v, moved)
        return robot.mass_matrix(q), robot.coriolis_matrix(q, v), robot.gravity(q), A, Adot_v, A_t, Adot_t_v

    def allowed(self, rng):
        """A random state near the start that obeys the constraint."""
        q = self.robot.project_configuration(self.q + rng.uniform(-0.2, 0.2, 7), self.constraints)
        v, _, _ = self.robot.constraint_impulse(q, rng.uniform(-0.5, 0.5, 7), self.constraints)
        return q, v


@pytest.fixture(scope="module")
def press(robot):
    return Press(robot)


def reference(rng, k):
    return tuple(rng.uniform(-0.1, 0.1, k) for _ in range(3))


@pytest.mark.parametrize(
    ("surface", "law"),
    table(
        product((Plane(), Sphere(0.3), Cylinder(0.4)), LAWS),
        lambda case: isinstance(case[0], Sphere) == (case[1] == "geometric"),
    ),
)
def test_closed_loop_acceleration_and_force_are_those_of_the_theory(robot, law, surface):
    """Any state on the constraint: e'' + (kp + kd) e' + kp kd e = 0, or the gauge-invariant form of it."""
    press, rng = Press(robot, surface), np.random.default_rng(1)
    kp, kd = 7.0, 12.0
    controller = press.controller(law, kp, kd)
    for _ in range(5):
        q, v = press.allowed(rng)
        theta, rate, acceleration = reference(rng, 6)
        out = controller.step(q, v, theta, rate=rate, acceleration=acceleration, force=FORCE)
        motion = robot.constrained_forward_dynamics(q, v, out.wanted, press.constraints)
        M, C, _, A, Adot_v, A_t, Adot_t_v = press.terms(q, v)
        np.testing.assert_allclose(motion.multipliers, FORCE, rtol=1e-9)
        e, de = out.theta - theta, out.rate - rate
        dde = A_t @ motion.a + Adot_t_v - acceleration
        if law == "geometric":
            np.testing.assert_allclose(dde, -(kp + kd) * de - kp * kd * e, rtol=1e-8, atol=1e-9)
            continue
        # with s = v - J rho: P_w (M (vdot - v_r dot) + C s) = -kd M s, so s^T M s falls with 2 kd
        J = tangent(A, A_t)
        rho = rate - kp * e
        s = v - J @ rho
        dJ = -np.linalg.solve(np.vstack([A, A_t]), matrix_rate(press, q, v) @ J)
        ds = motion.a - (J @ (acceleration - kp * de) + dJ @ rho)
        left = J.T @ (M @ ds + C @ s + kd * M @ s)
        np.testing.assert_allclose(left, 0.0, atol=1e-8 * np.abs(J.T @ M @ ds).max())


def tangent(A, A_t):
    """J (nv, k) with A J = 0, A_t J = 1, where both together are square."""
    return np.linalg.inv(np.vstack([A, A_t]))[:, len(A) :]


def matrix_rate(press, q, v, step=1e-6):
    """d/dt of A over A_t, by central differences."""
    sides = []
    for sign in (1.0, -1.0):
        moved = press.robot.model.integrate(q, sign * step * v)
        sides.append(np.vstack([press.robot.constraint_rows(moved, v, s).A for s in (press.constraints, press.task)]))
    return (sides[0] - sides[1]) / (2 * step)


@pytest.mark.parametrize("law", LAWS)
def test_errors_die_out_at_the_rates_of_the_gains(press, law):
    """A simulated closed loop: the rates fitted from the error are kp and kd."""
    robot, kp, kd, h = press.robot, 4.0, 9.0, 1e-3
    controller = press.controller(law, kp, kd)
    q, v = press.q.copy(), np.zeros(7)
    goal = controller.step(q, v, np.zeros(6)).theta.copy()
    goal[3:5] += (0.05, -0.03)
    seen = []
    for _ in range(1200):
        e = controller.step(q, v, goal, force=FORCE).theta - goal
        seen.append((e, controller.step(q, v, goal, force=FORCE).rate.copy()))
        q, v = runge_kutta(lambda q, v: closed_loop(press, controller, q, v, goal), robot.model, q, v, h)
    e = np.array([x for x, _ in seen])[:, 3:5]
    de = np.array([x for _, x in seen])[:, 3:5]
    slope, *_ = np.linalg.lstsq(np.column_stack([de[:-1].ravel(), e[:-1].ravel()]), (np.diff(de, axis=0) / h).ravel())
    fitted = np.sort(np.roots([1.0, -slope[0], -slope[1]]))
    np.testing.assert_allclose(fitted.real, [-kd, -kp], rtol=0.02)
    assert np.abs(fitted.imag).max() < 1e-6
    assert np.abs(robot.constraint_rows(q, v, press.constraints).h).max() < 1e-9


def closed_loop(press, controller, q, v, goal, posture=None):
    out = controller.step(q, v, goal, force=FORCE, posture=posture)
    return press.robot.constrained_forward_dynamics(q, v, out.tau, press.constraints).a


def runge_kutta(acceleration, model, q, v, h):
    """One step of the classical method, for joints whose velocity is the rate of q."""
    k1 = acceleration(q, v)
    v2 = v + h / 2 * k1
    k2 = acceleration(q + h / 2 * v, v2)
    v3 = v + h / 2 * k2
    k3 = acceleration(q + h / 2 * v2, v3)
    v4 = v + h * k3
    k4 = acceleration(q + h * v3, v4)
    return q + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def test_force_error_dies_out_at_the_rate_of_its_gain(press):
    """The contact exerts 3 N that nobody commanded: with the integral the error falls as exp(-ki t)."""
    ki, h, offset = 5.0, 1e-3, 3.0
    controller = press.controller("geometric", ki=ki)
    measured, errors = FORCE + offset, []
    for _ in range(600):
        out = controller.step(press.q, np.zeros(7), np.zeros(6), force=FORCE, measured=measured, dt=h)
        measured = out.force + offset
        errors.append(float(measured[0] - FORCE[0]))
    rate = np.polyfit(h * np.arange(600), np.log(errors), 1)[0]
    np.testing.assert_allclose(rate, -ki, rtol=0.01)
    controller.reset()
    assert controller.step(press.q, np.zeros(7), np.zeros(6), force=FORCE).force == FORCE


def test_integral_stops_at_its_limit(press):
    controller = press.controller("geometric", ki=5.0, integral_limit=2.0)
    for _ in range(50):
        out = controller.step(press.q, np.zeros(7), np.zeros(6), force=FORCE, measured=np.array([-90.0]), dt=0.1)
    np.testing.assert_allclose(out.force, FORCE + 2.0)


@pytest.mark.parametrize("law", LAWS)
def test_what_the_integral_of_the_task_adds(press, law):
    """The acceleration of the rows differs by what it was preset to, and not by more than its limit."""
    wanted, accelerations = np.array([0.3, -0.2, 0.1, 1.0, -2.0, 0.5]), []
    controller = press.controller(law, task_ki=5.0, task_integral_limit=1.5)
    for extra in (0.0 * wanted, wanted):
        controller.preset(acceleration=extra)
        out = controller.step(press.q, np.zeros(7), np.zeros(6), force=FORCE)
        a = press.robot.constrained_forward_dynamics(press.q, np.zeros(7), out.wanted, press.constraints).a
        accelerations.append(press.terms(press.q, np.zeros(7))[5] @ a)
    np.testing.assert_allclose(accelerations[1] - accelerations[0], np.clip(wanted, -1.5, 1.5), atol=1e-8)


def test_the_integral_of_the_task_does_not_grow_where_a_torque_is_cut_off(press):
    gains = HybridGains(kp=100.0, kd=20.0, task_ki=5.0)
    for limit, grows in ((np.inf, True), (1.0, False)):
        limits = np.full(7, min(limit, 1e4))
        controller = HybridController(press.robot, press.constraints, press.task, gains=gains, effort_limits=limits)
        goal = np.full(6, 0.1)
        for _ in range(3):
            out = controller.step(press.q, np.zeros(7), goal, force=FORCE, dt=1e-3)
        assert bool(np.abs(out.task_integral).max() > 0.0) == grows


def test_the_two_laws_differ_by_what_the_coriolis_terms_act_on(press):
    """theory.md section 8: tau_geometric - tau_gauge = P_w (M Jdot + C J) (e' + K_p e) exactly."""
    rng, kp = np.random.default_rng(5), 6.0
    geometric, gauge = (press.controller(law, kp, 11.0) for law in LAWS)
    for _ in range(5):
        q, v = press.allowed(rng)
        theta, rate, acceleration = reference(rng, 6)
        one = geometric.step(q, v, theta, rate=rate, acceleration=acceleration, force=FORCE)
        other = gauge.step(q, v, theta, rate=rate, acceleration=acceleration, force=FORCE)
        M, C, _, A, _, A_t, _ = press.terms(q, v)
        J = tangent(A, A_t)
        dJ = -np.linalg.solve(np.vstack([A, A_t]), matrix_rate(press, q, v) @ J)
        P_w, _ = press.robot.force_projection(q, press.constraints)
        expected = P_w @ (M @ dJ + C @ J) @ (one.rate - rate + kp * (one.theta - theta))
        np.testing.assert_allclose(one.wanted - other.wanted, expected, rtol=1e-6, atol=1e-7)


def test_the_choice_of_the_gauge_drops_out(press):
    """Aghili's controller in reduced quasi-velocities, for random bases V2 of the tangent space, is the same torque."""
    rng, kp, kd, robot = np.random.default_rng(3), 5.0, 8.0, press.robot
    controller = press.controller("gauge_invariant", kp, kd)
    q, v = press.allowed(rng)
    theta, rate, acceleration = reference(rng, 6)
    out = controller.step(q, v, theta, rate=rate, acceleration=acceleration, force=FORCE)
    torques, step = [], 1e-5
    for _ in range(3):
        gauge = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        V2 = tangent_basis(press, q, gauge)
        sides = [tangent_basis(press, robot.model.integrate(q, s * step * v), gauge) for s in (1.0, -1.0)]
        torques.append(
            aghili(press, q, v, out, (theta, rate, acceleration), kp, kd, V2, (sides[0] - sides[1]) / (2 * step))
        )
    for torque in torques:
        np.testing.assert_allclose(torque, out.wanted, rtol=1e-5, atol=1e-5)


def tangent_basis(press, q, gauge):
    """V2 (nv, 6) smooth in q: the projection of fixed directions, made orthonormal, times a rotation."""
    W = press.robot.mass_factor(q)
    A = press.robot.constraint_rows(q, np.zeros(7), press.constraints).A
    normal = np.linalg.solve(W, A.T)
    normal = normal / np.linalg.norm(normal)
    keep = np.argsort(np.abs(normal[:, 0]))[:6]
    Q, R = np.linalg.qr((np.eye(7) - normal @ normal.T)[:, np.sort(keep)])
    return Q * np.sign(np.diag(R)) @ gauge


def aghili(press, q, v, out, wanted, kp, kd, V2, dV2):
    """tau = W (V1 u_o + V2 u_r) + N with quasi-velocities v_r = V2^T W^T v and their Coriolis matrix."""
    robot = press.robot
    M, C, N, A, _, A_t, _ = press.terms(q, v)
    W = robot.mass_factor(q)
    theta, rate, acceleration = wanted
    J = tangent(A, A_t)
    e, de = out.theta - theta, out.rate - rate
    rho, drho = rate - kp * e, acceleration - kp * de
    B = V2.T @ W.T @ J
    dJ = -np.linalg.solve(np.vstack([A, A_t]), matrix_rate(press, q, v) @ J)
    # s = B rho; its rate, and the Coriolis matrix of the reduced quasi-velocities
    ds = B @ drho + V2.T @ W.T @ dJ @ rho + (dV2.T @ W.T + V2.T @ factor_rate(robot, q, v).T) @ J @ rho
    W_i = np.linalg.inv(W)
    gam = W_i @ (C - W @ factor_rate(robot, q, v).T) @ W_i.T
    gam_r = V2.T @ gam @ V2 - dV2.T @ V2
    np.testing.assert_allclose(gam_r, -gam_r.T, atol=1e-4)  # skew
    u_r = ds + gam_r @ B @ rho - kd * B @ (de + kp * e)
    P_w, _ = robot.force_projection(q, press.constraints)
    A_rate_v = robot.constraint_rows(q, v, press.constraints).Adot_v
    normal = -A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), A_rate_v)
    return W @ V2 @ u_r + (np.eye(7) - P_w) @ (normal + C @ v) - A.T @ FORCE + N


def factor_rate(robot, q, v, step=1e-6):
    sides = [robot.mass_factor(robot.model.integrate(q, s * step * v)) for s in (1.0, -1.0)]
    return (sides[0] - sides[1]) / (2 * step)


def test_freedoms_that_are_left_over_are_damped_and_drawn_to_the_posture(robot):
    """Six rows for seven joints: the elbow comes to rest nearer to the posture, the tool does not notice."""
    press = Press(robot, elbow=False)
    controller = press.controller("geometric", posture_kp=30.0, posture_kd=10.0)
    q, v, posture = press.q.copy(), np.zeros(7), press.q + [0.3, 0.0, -0.3, 0.0, 0.0, 0.0, 0.0]
    goal = controller.step(q, v, np.zeros(5)).theta.copy()
    for _ in range(600):
        out = controller.step(q, v, goal, force=FORCE, posture=posture)
        assert np.abs(out.theta - goal).max() < 1e-7
        q, v = runge_kutta(lambda q, v: closed_loop(press, controller, q, v, goal, posture), robot.model, q, v, 4e-3)
    assert np.abs(v).max() < 1e-3
    assert np.linalg.norm(q - posture) < 0.9 * np.linalg.norm(press.q - posture)
    assert out.rank == 6


@pytest.mark.parametrize("kp", [0.0, 6.0, 30.0])
@pytest.mark.parametrize("law", LAWS)
def test_nonholonomic_rows_follow_a_velocity(law, kp):
    """A skate in the plane: no side slip; forward and turning speed are the task. Its error decays with kd alone."""
    builder = rbd.ModelBuilder("skate", gravity=(0.0, 0.0, 0.0))
    builder.add_body("skate", None, Planar(), mass=2.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.0, 0.0, 0.1, 0.0, 0.2))
    robot = rbd.Robot(builder.build())
    blade = ConstraintSet(robot.model, [PfaffianRows("blade", lambda q: [[0.0, 1.0, 0.0]], labels=("side",))])
    drive = PfaffianRows("drive", lambda q: [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], labels=("forward", "turn"))
    gains = HybridGains(kp=kp, kd=5.0)
    controller = HybridController(robot, blade, ConstraintSet(robot.model, [drive]), law=law, gains=gains)
    q, v, h = np.zeros(3), np.array([0.2, 0.0, -0.5]), 1e-3
    wanted = np.array([1.0, 0.7])
    speeds = []
    for _ in range(1000):
        out = controller.step(q, v, np.zeros(2), rate=wanted)
        speeds.append(v[[0, 2]].copy())
        v = v + h * robot.constrained_forward_dynamics(q, v, out.tau, blade).a
        q = robot.model.integrate(q, h * v)
    error = np.array(speeds) - wanted
    if law == "geometric":  # each by itself; else the error's kinetic energy
        sizes = np.abs(error)
    else:
        M = robot.mass_matrix(q)[np.ix_([0, 2], [0, 2])]
        sizes = np.sqrt(np.einsum("ti,ij,tj->t", error, M, error))[:, None]
    rates = np.polyfit(h * np.arange(1000), np.log(sizes), 1)[0]
    np.testing.assert_allclose(rates, -5.0, rtol=0.02)
    assert abs(v[1]) < 1e-12


def test_with_fewer_motors_the_motion_is_the_same_and_the_forces_are_nearest(robot):
    """A closed chain driven by some joints: same acceleration, no torque elsewhere, least change of torque."""
    model = robot.model
    rng = np.random.default_rng(2)
    closed = ConstraintSet(model, [FrameConstraint("held", TOOL, directions=("x", "y", "z"), reference="panda_link0",
        reference_placement=Transform.of(IDENTITY, tuple(robot.pose(POSE, TOOL)[:3, 3])))])  # fmt: skip
    task = ConstraintSet(model, [JointCoupling(f"t{k}", {f"panda_joint{k}": 1.0}) for k in (1, 3, 5, 7)])
    actuated = np.array([True, True, False, True, True, False, True])  # 5 motors, 4 freedoms
    full = HybridController(robot, closed, task)
    some = HybridController(robot, closed, task, actuated=actuated)
    force = np.array([1.0, -2.0, 3.0])
    q = POSE
    v, _, _ = robot.constraint_impulse(q, rng.uniform(-0.3, 0.3, 7), closed)
    goal = {"theta": rng.uniform(-0.3, 0.3, 4), "force": force}
    one, other = full.step(q, v, **goal), some.step(q, v, **goal)
    assert np.all(other.wanted[~actuated] == 0.0)
    np.testing.assert_allclose(other.lacking, 0.0, atol=1e-10)
    a = [robot.constrained_forward_dynamics(q, v, out.wanted, closed).a for out in (one, other)]
    np.testing.assert_allclose(a[1], a[0], rtol=1e-9, atol=1e-9)
    P_w, _ = robot.force_projection(q, closed)
    nearest = np.linalg.pinv(P_w[:, actuated], rcond=1e-9) @ (P_w @ (one.wanted - actuated * one.wanted))
    np.testing.assert_allclose(other.wanted[actuated], (one.wanted[actuated] + nearest), rtol=1e-8, atol=1e-9)


def test_too_few_motors_are_said(robot):
    model = robot.model
    held = ConstraintSet(model, [FrameConstraint("held", TOOL, directions=("x", "y", "z"))])
    task = ConstraintSet(model, [JointCoupling(f"t{k}", {f"panda_joint{k}": 1.0}) for k in (1, 3, 5, 7)])
    motors = np.array([True, False, False, False, True, False, False])
    out = HybridController(robot, held, task, actuated=motors).step(POSE, np.zeros(7), np.zeros(4), force=np.ones(3))
    assert np.abs(out.lacking).max() > 1e-3


@pytest.mark.parametrize("frame", [TOOL, "panda_hand"])
def test_multipliers_out_of_a_wrench_sensor(press, frame):
    robot = press.robot
    sensor = MultiplierSensor(robot, press.constraints, frame)
    q, _ = press.allowed(np.random.default_rng(4))
    J = robot.jacobian(q, frame)
    A = robot.constraint_rows(q, np.zeros(7), press.constraints).A
    # the wrench at the sensor that does the work of 12 N on the surface
    wrench = np.linalg.lstsq(J.T, A.T @ [12.0], rcond=None)[0]
    np.testing.assert_allclose(sensor.multipliers(q, wrench), [12.0], rtol=1e-9)


def test_another_table_without_another_kernel(robot, press):
    controller = press.controller("geometric")
    placement = press.constraints["table"].reference_placement
    lower = Transform.of(placement.rotation, (placement.p[0], placement.p[1], placement.p[2] - 0.02))
    controller.move(press.constraints.changed("table", reference_placement=lower), press.task)
    np.testing.assert_allclose(controller.step(press.q, np.zeros(7), np.zeros(6)).h, 0.02, atol=1e-9)
    with pytest.raises(ValueError, match="structure"):
        controller.move(press.constraints.changed("table", surface=Sphere(1.0)), press.task)


def test_limits_payload_and_bad_numbers(press):
    robot = rbd.Robot(press.robot.model)
    gains = HybridGains(kp=100.0, kd=20.0)
    controller = HybridController(robot, press.constraints, press.task, gains=gains, effort_limits=[5.0] * 7)
    out = controller.step(press.q, np.zeros(7), np.zeros(6), force=FORCE)
    np.testing.assert_allclose(out.tau, np.clip(out.wanted, -5.0, 5.0))
    before = out.wanted.copy()
    robot.set_payload(TOOL, 1.0)
    after = controller.step(press.q, np.zeros(7), np.zeros(6), force=FORCE).wanted
    assert np.abs(after - before).max() > 1.0
    for bad in ({"q": press.q * np.nan}, {"theta": np.full(6, np.inf)}, {"measured": np.array([np.nan])}):
        arguments = {"q": press.q, "v": np.zeros(7), "theta": np.zeros(6), "measured": FORCE} | bad
        with pytest.raises(ValueError, match=next(iter(bad))):
            controller.step(**arguments)


@pytest.mark.parametrize(
    ("gains", "reason"),
    [
        ({"kp": [1.0, 2.0]}, "kp has 2 values for 6 task rows"),
        ({"kd": -1.0}, "not negative"),
        ({"ki": np.nan}, "finite"),
        ({"kd": [1.0, 2.0, 1.0, 1.0, 1.0, 1.0]}, "one kd"),
    ],
)
def test_gains_that_do_not_fit(press, gains, reason):
    with pytest.raises(ValueError, match=reason):
        HybridController(press.robot, press.constraints, press.task, law="gauge_invariant", gains=HybridGains(**gains))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"effort_limits": [5.0] * 6}, "effort_limits must be 7 numbers >= 0"),
        ({"effort_limits": [5.0] * 6 + [-1.0]}, "effort_limits must be 7 numbers >= 0"),
        ({"effort_limits": [5.0] * 6 + [np.nan]}, "effort_limits must be 7 numbers >= 0"),
        ({"actuated": [True] * 6}, "actuated has shape"),
        ({"law": "hybrid"}, "law is 'hybrid', expected one of geometric, gauge_invariant"),
    ],
)
def test_what_does_not_fit_the_robot_is_refused(press, options, reason):
    with pytest.raises(ValueError, match=reason):
        HybridController(press.robot, press.constraints, press.task, **options)


@pytest.mark.parametrize("law", LAWS)
def test_friction_is_compensated_where_the_robot_has_it(press, law):
    model = press.robot.model
    v = np.linspace(-0.4, 0.5, 7)
    torques = []
    for friction in (True, False):
        robot = rbd.Robot(model, friction=friction, backend="reference")
        controller = HybridController(robot, press.constraints, press.task, law=law, gains=HybridGains(kp=9.0, kd=6.0))
        torques.append(controller.step(press.q, v, np.zeros(6), force=FORCE).wanted.copy())
    expected = rbd.Robot(model).friction_torque(v)
    assert np.abs(expected).min() > 1e-4
    np.testing.assert_allclose(torques[0] - torques[1], expected, rtol=1e-9, atol=1e-9)
