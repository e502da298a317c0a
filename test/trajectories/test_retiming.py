# SPDX-License-Identifier: Apache-2.0
"""Retiming: no limit is passed between points, by an independent library; as fast as a convex program finds."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.arms import ARM, JOINTS
from helpers.models.robots import FILES, needs_pinocchio
from helpers.wide import wide
from scipy.interpolate import make_interp_spline
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, vstack

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler.loops import Loops
from rbd_dynamics.trajectories import Limits, Path, check, interior_point, newton_steps, passes, retime, retiming
from rbd_dynamics.trajectories.between import Used, not_kept

PANDA_JOINTS = [f"panda_joint{k}" for k in range(1, 8)]
STEPS = ("slacks", "duration", "solved", "assembled", "renewed", "moved", "least_time")
WITHOUT_FRICTION = ("inertia", "coriolis", "gravity", "spring")


@pytest.fixture(scope="module")
def arm():
    return Robot(load_urdf(ARM))


@pytest.fixture(scope="module")
def panda():
    return Robot(load_urdf(FILES["panda"]))


def panda_path(robot, seed, points=200):
    """A smooth random one, well within the joints' limits."""
    limits = [robot.model.joint(name).limits for name in PANDA_JOINTS]
    low, high = (np.array([getattr(each, side) for each in limits]) for side in ("lower", "upper"))
    corners = 0.5 * (low + high) + np.random.default_rng(seed).uniform(-0.16, 0.16, (5, 7)) * (high - low)
    through = Path(corners, PANDA_JOINTS)
    return Path(through.at(np.linspace(0.0, through.length, points)), PANDA_JOINTS)


def arm_path():
    return Path([[0.0, 0.0, 0.0], [0.6, -1.0, 0.1], [1.2, 0.3, 0.05], [0.2, 1.5, -0.05]], JOINTS)


def states_between(found, parts=8):
    """Many of a motion's states, its points among them: each (N, joints)."""
    motion = found.trajectory()
    times = np.concatenate([motion.times[:-1] + part * np.diff(motion.times) for part in np.linspace(0, 1, parts)])
    return np.array([motion.sample(t) for t in np.minimum(times, motion.times[-1] - 1e-12)]).transpose(1, 0, 2)


def torque_by_pinocchio(robot, q, v, a):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(FILES["panda"]))
    data = model.createData()
    pad = [np.hstack([each, np.zeros((len(each), model.nv - each.shape[1]))]) for each in (q, v, a)]
    return np.array([pin.rnea(model, data, *state) for state in zip(*pad)])[:, : q.shape[1]]


def least_duration(path, limits, torque, cells=400):
    """By a convex program on a grid of its own: x and u of each cell, every row at both of its ends."""
    s = np.linspace(0.0, path.length, cells + 1)
    q, dq, ddq = (path.at(s, order=order) for order in range(3))
    still = np.zeros_like(q)
    static = torque(q, still, still)
    a = np.hstack([dq, torque(q, still, dq) - static])
    b = np.hstack([ddq, torque(q, dq, ddq) - static])
    c = np.hstack([still, static])
    most = np.hstack([limits.acceleration, limits.effort])
    chosen = np.isfinite(most)
    a, b, c, most = a[:, chosen], b[:, chosen], c[:, chosen], most[chosen]
    h = path.length / cells
    rows, right = [], []
    for end in (0, 1):  # x_end is x + 2 h u at the far one
        x_at = np.arange(cells) + end
        for row in range(a.shape[1]):
            at = slice(end, end + cells)
            k = np.arange(cells)
            values, columns = np.concatenate([b[at, row], a[at, row]]), np.concatenate([x_at, cells + 1 + k])
            block = coo_array((values, (np.tile(k, 2), columns)), shape=(cells, 2 * cells + 1))
            rows += [block, -block]
            right += [most[row] - c[at, row], most[row] + c[at, row]]
    k = np.arange(cells)
    step = coo_array(
        (np.concatenate([np.ones(cells), -np.ones(cells), np.full(cells, -2.0 * h)]),
         (np.tile(k, 3), np.concatenate([k + 1, k, cells + 1 + k]))), shape=(cells, 2 * cells + 1),
    )  # fmt: skip
    with np.errstate(divide="ignore"):
        fastest = ((limits.velocity / dq) ** 2).min(axis=1)
    fastest[[0, -1]] = 0.0
    bounds = [(0.0, bound if np.isfinite(bound) else None) for bound in fastest] + [(None, None)] * cells
    goal = np.concatenate([-np.ones(cells + 1), np.zeros(cells)])
    found = linprog(goal, vstack(rows), np.concatenate(right), step, np.zeros(cells), bounds, method="highs")
    assert found.success, found.message
    v = np.sqrt(np.maximum(found.x[: cells + 1], 0.0))
    return float((2.0 * h / (v[1:] + v[:-1])).sum())


@needs_pinocchio
@pytest.mark.parametrize(("seed", "which"), [(0, "torque"), (1, "all")])
def test_limits_are_kept_between_points_and_the_motion_is_the_fastest(panda, seed, which):
    path = panda_path(panda, seed)
    fields = {"velocity": 0.0} if which == "torque" else {"acceleration": [15, 7.5, 10, 12.5, 15, 20, 20]}
    limits = Limits.of(panda, PANDA_JOINTS, **fields)
    found = retime(panda, path, limits, terms=WITHOUT_FRICTION)
    q, v, a = states_between(found)
    used = {
        "velocity": np.abs(v / limits.velocity).max(),
        "acceleration": np.abs(a / limits.acceleration).max(),
        "effort": np.abs(torque_by_pinocchio(panda, q, v, a) / limits.effort).max(),
    }
    assert max(used.values()) <= 1.0 + 1e-6, used
    assert max(used.values()) > 0.999

    def torque(q, v, a):
        return torque_by_pinocchio(panda, q, v, a)

    least = least_duration(path, limits, torque)
    assert least * 0.995 < found.duration < least * 1.01


def least_duration_with_rates(path, limits, torque, start, cells=150, rounds=12):
    """By a sequence of convex programs, from a timing `start` = (times, s) that need not keep the limits.

    Unknown is the pace X of a smooth motion s(w) at its nodes, U between them, as in the sought motion; nothing else is
    shared with what is tested: torques are another library's, and the programs are solved by HiGHS.
    """
    w = np.linspace(0.0, start[0][-1], 20 * cells + 1)
    s, step = np.interp(w, *start), w[1]
    size = len(w) // 12
    for _ in range(3):  # means over a twelfth of the duration: smooth, and at rest at both ends
        s = np.convolve(np.pad(s, (size, size), mode="edge"), np.ones(size) / size, mode="valid")
    w = step * np.arange(len(s))
    motion = make_interp_spline(w, path.length * (s - s[0]) / (s[-1] - s[0]), k=5)
    edges = np.linspace(0.0, w[-1], cells + 1)
    h, middle = edges[1], 0.5 * (edges[1:] + edges[:-1])
    place, speed, change = (motion(middle, order) for order in range(3))
    q, dq, ddq = (path.at(place, order=order) for order in range(3))
    slope, bend = dq * speed[:, None], ddq * speed[:, None] ** 2 + dq * change[:, None]
    still = np.zeros_like(q)
    static = torque(q, still, still)
    a, b = torque(q, still, slope) - static, torque(q, slope, bend) - static
    ends = path.at([0.0, path.length])
    ends = torque(ends, 0.0 * ends, 0.0 * ends)
    between = np.diff(np.concatenate([[0.0], middle, [w[-1]]]))
    eye = np.eye(cells + 1)
    X_at, U_at = 0.5 * (eye[1:] + eye[:-1]), (eye[1:] - eye[:-1]) / (2.0 * h)
    rows, right, rates = [], [], []
    for joint in range(q.shape[1]):
        tau = a[:, joint, None] * U_at + b[:, joint, None] * X_at
        acceleration = slope[:, joint, None] * U_at + bend[:, joint, None] * X_at
        for row, rest, most in (
            (tau, static[:, joint], limits.effort[joint]),
            (acceleration, 0.0 * place, limits.acceleration[joint]),
            (slope[:, joint, None] ** 2 * X_at, 0.0 * place, limits.velocity[joint] ** 2),
        ):
            if np.isfinite(most):
                rows += [row, -row]
                right += [most - rest, most + rest]
        along, rest = (np.pad(each, [(1, 1)] + [(0, 0)] * (each.ndim - 1)) for each in (tau, static[:, joint]))
        rest[[0, -1]] = ends[:, joint]
        rates.append((np.diff(along, axis=0), np.diff(rest), limits.effort_rate[joint]))
    X, best, reach = np.full(cells + 1, 0.05), np.inf, 0.6
    for _ in range(rounds):
        more_rows, more_right = [], []
        for row, rest, most in rates:  # h / sqrt(X) is convex: the tangent is below it
            flat = np.diag(0.5 * most * between * X**-1.5)
            for sign in (1.0, -1.0):
                more_rows.append(sign * row + flat)
                more_right.append(1.5 * most * between * X**-0.5 - sign * rest)
        root = np.sqrt(X)
        gradient = np.zeros(cells + 1)
        gradient[1:] -= h / (root[1:] + root[:-1]) ** 2 / root[1:]
        gradient[:-1] -= h / (root[1:] + root[:-1]) ** 2 / root[:-1]
        bounds = [(x * (1.0 - reach), x * (1.0 + 3.0 * reach)) for x in X]
        matrix = csr_array(np.vstack(rows + more_rows))
        tied = np.diff(eye, axis=0)[[0, 1, -2, -1]]  # next to nothing depends on these alone
        right_side = np.concatenate(right + more_right)
        found = linprog(gradient, matrix, right_side, tied, np.zeros(4), bounds, method="highs")
        assert found.success, found.message
        X = found.x
        root = np.sqrt(X)
        duration = float((2.0 * h / (root[1:] + root[:-1])).sum())
        reach = reach if duration < best * (1.0 - 2e-3) else 0.5 * reach
        best = min(best, duration)
    return best


@needs_pinocchio
def test_rates_of_efforts_are_kept_and_the_motion_is_the_fastest(panda):
    path = panda_path(panda, 2)
    fields = {"acceleration": [15, 7.5, 10, 12.5, 15, 20, 20]}
    limits = Limits.of(panda, PANDA_JOINTS, **fields, effort_rate=[700.0] * 4 + [300.0] * 3)
    found = retime(panda, path, limits, terms=WITHOUT_FRICTION)
    report = check(panda, found.waypoints, limits, terms=WITHOUT_FRICTION)
    assert report.within, str(report)
    motion, h = found.trajectory(), 1e-5
    times = np.linspace(2 * h, motion.times[-1] - 2 * h, 5_000)
    late, early = (
        torque_by_pinocchio(panda, *np.array([motion.sample(t + sign * h) for t in times]).transpose(1, 0, 2))
        for sign in (1.0, -1.0)
    )
    assert 0.98 < np.abs((late - early) / (2 * h) / limits.effort_rate).max() < 1.001
    unlimited = retime(panda, path, Limits.of(panda, PANDA_JOINTS, **fields), terms=WITHOUT_FRICTION)
    assert found.duration > 1.005 * unlimited.duration
    least = least_duration_with_rates(
        path, limits, lambda *state: torque_by_pinocchio(panda, *state), (unlimited.waypoints.times, unlimited.s)
    )
    assert least * 0.985 < found.duration < least * 1.01


def test_rates_of_a_mass_on_a_rail_are_as_the_closed_form_says():
    """Four phases of a constant rate j: a stretch d takes (32 d / j)^(1/3)."""
    urdf = """<robot name="rail"><link name="base"/><link name="cart"><inertial><mass value="2"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
      <limit lower="-5" upper="5" effort="1000" velocity="100"/></joint></robot>"""
    robot = Robot(load_urdf(urdf))
    limits = Limits.of(robot, ["rail"], effort_rate=40.0)  # a jerk of 20
    found = retime(robot, Path([[0.0], [4.0]], ["rail"]), limits)
    assert found.duration == pytest.approx((32 * 4.0 / 20.0) ** (1 / 3), rel=5e-3)
    assert check(robot, found.waypoints, limits).within
    assert abs(found.efforts[[0, -1]]).max() < 0.02 * abs(found.efforts).max()  # begins and ends without a jump


@pytest.mark.parametrize("rate", [(), 60.0])
def test_python_runs_what_is_machine_code_elsewhere(arm, monkeypatch, rate):
    path, limits = Path([[0.0], [1.0]], ["elbow"]), Limits.of(arm, ["elbow"], acceleration=8.0, effort_rate=rate)
    monkeypatch.setattr(retiming, "FEWEST_WITH_RATES", 80)
    fast = retime(arm, path, limits, points=80).duration
    for module, functions in (
        (passes, (passes.range_of, passes.fastest_along)),
        (interior_point, [getattr(newton_steps, name) for name in STEPS]),
    ):
        monkeypatch.setattr(module, "loops", lambda functions=functions: Loops(*functions, machine_code=False))
    monkeypatch.setattr(retiming, "loops", passes.loops)
    assert retime(arm, path, limits, points=80).duration == pytest.approx(fast, rel=1e-9)


def test_a_mass_on_a_rail_moves_as_the_closed_form_says():
    """Bang-bang, and with a velocity limit a stretch at that speed."""
    urdf = """<robot name="rail"><link name="base"/><link name="cart"><inertial><mass value="2"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
      <limit lower="-5" upper="5" effort="6" velocity="9"/></joint></robot>"""
    robot = Robot(load_urdf(urdf))
    path = Path([[0.0], [4.0]], ["rail"])  # acceleration 3
    assert retime(robot, path, Limits.of(robot, ["rail"])).duration == pytest.approx(2.0 * np.sqrt(4.0 / 3.0), rel=2e-3)
    slower = retime(robot, path, Limits.of(robot, ["rail"], velocity=2.0))
    assert slower.duration == pytest.approx(4.0 / 2.0 + 2.0 / 3.0, rel=2e-3)
    tool = retime(robot, path, Limits.of(robot, ["rail"], tool_speed={"cart": 2.0}))
    assert tool.duration == pytest.approx(slower.duration, rel=1e-6)
    robot.set_payload("cart", 4.0)  # a third of the acceleration
    assert retime(robot, path, Limits.of(robot, ["rail"])).duration == pytest.approx(2.0 * np.sqrt(4.0), rel=2e-3)


def test_friction_takes_its_part_of_the_effort(arm):
    path, limits = arm_path(), Limits.of(arm, JOINTS, velocity=0.0)
    found = retime(arm, path, limits)
    q, v, a = states_between(found)
    tau = arm.inverse_dynamics(q, v, a) + arm.friction_torque(v)
    assert 0.998 < np.abs(tau / limits.effort).max() <= 1.0 + 1e-6
    assert found.duration > retime(arm, path, limits, terms=WITHOUT_FRICTION).duration
    np.testing.assert_allclose(
        found.efforts[5], (arm.inverse_dynamics(*_state(found, 5)) + arm.friction_torque(_state(found, 5)[1]))
    )


def _state(found, k):
    points = found.waypoints
    return points.positions[k], points.velocities[k], points.accelerations[k]


def test_the_motion_follows_the_path_from_rest_to_rest(arm):
    path = arm_path()
    found = retime(arm, path, Limits.of(arm, JOINTS, acceleration=20.0), points=400)
    points = found.waypoints
    np.testing.assert_allclose(points.positions, path.at(found.s), atol=2e-9)
    assert set(np.round(path.knots, 12)) <= set(np.round(found.s, 12))
    assert (points.velocities[[0, -1]] == 0.0).all()
    assert (np.diff(points.times) > 0.0).all() and points.times[0] == 0.0
    motion = found.trajectory()
    middle = 0.5 * (points.times[1:] + points.times[:-1])
    off = [np.linalg.norm(path.at(np.linspace(a, b, 2000)) - motion.sample(t)[0], axis=1).min()
           for t, a, b in zip(middle[::9], found.s[::9], found.s[1::9])]  # fmt: skip
    assert max(off) < 1e-3 * path.length / 400


@pytest.mark.parametrize("points", [
    [[0.0], [1.0], [0.0]],  # turns round, without a stop of the path
    [[0.0], [0.0], [0.5], [0.5], [0.5], [1.0]],  # stands, and doubled points
    [[0.0], [1.0]],
])  # fmt: skip
def test_paths_of_one_joint_that_turn_round_or_stand(arm, points):
    limits = Limits.of(arm, ["elbow"], acceleration=8.0)
    found = retime(arm, Path(points, ["elbow"]), limits, others={"shoulder": 0.3, "slide": 0.1})
    report = check(arm, found.waypoints, limits, others={"shoulder": 0.3, "slide": 0.1})
    assert report.within and report.margins[0].used > 0.999


@pytest.mark.parametrize("near", [1e-8, 1e-9, 1e-12])
def test_points_almost_the_same_cost_no_time(arm, near):
    """Rounding, of points so near each other, would make a sharp bend of the path."""
    limits = Limits.of(arm, JOINTS, velocity=2.0, acceleration=10.0)
    clean = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, 0.1]]
    points = [clean[0], clean[1], [0.5, near, 0.0], [0.5, 2 * near, 0.0], clean[2], [near, 0.5, 0.1]]
    path = Path(points, JOINTS)
    assert path.numbers.tolist() == [0, 1, 5]
    np.testing.assert_allclose(path.at([0.0, path.length]), [points[0], points[-1]], rtol=0.0, atol=1e-15)
    expected = retime(arm, Path(clean, JOINTS), limits).duration
    assert retime(arm, path, limits).duration == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("rate", [(), 2000.0])
@pytest.mark.parametrize("length", [1e-5, 1e-6, 1e-7])
def test_a_path_that_hardly_moves_has_a_timing(arm, length, rate):
    """A planner's answer to a goal where the robot is, but for noise."""
    limits = Limits.of(arm, JOINTS, velocity=2.0, acceleration=10.0, effort_rate=rate)
    for seed in range(4):
        random = np.random.default_rng(seed)
        start, step = random.uniform(-0.8, 0.8, 3) * [1.0, 1.0, 0.1], random.normal(size=3)
        path = Path([start, start + length * step / np.linalg.norm(step)], JOINTS)
        report = check(arm, retime(arm, path, limits).waypoints, limits)
        assert report.within, str(report)


def test_joints_that_stand_count_where_they_are(arm):
    path = Path([[0.0], [1.0]], ["shoulder"])
    limits = Limits.of(arm, ["shoulder"], velocity=0.0)
    near = retime(arm, path, limits, others={"elbow": 2.5, "slide": -0.1})
    far = retime(arm, path, limits, others=np.array([0.0, 0.0, 0.2]))
    assert far.duration > 1.05 * near.duration
    assert retime(arm, path, limits, others=[0.0, 2.5, -0.1]).duration == near.duration


def test_the_limit_that_is_not_kept_is_named(arm):
    limits = Limits.of(arm, JOINTS, velocity=2.0, acceleration=10.0, effort=50.0, effort_rate=[0.0, 900.0, 0.0])
    used = Used(np.full((4, 6), 0.5), np.full(4, 0.5), np.full((4, 1), 0.5))
    named = [f"{what} of joint '{name}'" for what in ("acceleration", "effort") for name in JOINTS]
    places = [(used.rows, (k % 4, k)) for k in range(6)] + [(used.rates, (2, 0)), (used.speeds, 3)]
    for (array, place), name in zip(places, [*named, "effort rate of joint 'elbow'", "velocities or tool speeds"]):
        array[place] = 1.2
        assert f"that of {name} is passed by 20 %" in str(not_kept(used, limits))
        array[place] = 0.5


@pytest.mark.parametrize(("points", "names", "fields", "culprit"), [
    ([[0.0, 0.0]], ["elbow", "slide"], {}, "two points or more"),
    ([[0.1], [0.1]], ["elbow"], {}, "does not move"),
    ([[0.1], [0.1 + 1e-12]], ["elbow"], {"acceleration": 8.0}, "does not move"),
    ([[0.0], [1e200]], ["elbow"], {}, "the path is too long"),
    ([[0.0], [np.nan]], ["elbow"], {}, "point 1: the position of joint 'elbow' is nan"),
    ([[0.0, 1.0]] * 2, ["elbow", "elbow"], {}, "names joint 'elbow' twice"),
    ([[0.0], [1.0]], ["wrist"], {}, "wrist"),
    ([[0.0], [2.6]], ["shoulder"], {}, "near point 1 the path takes joint 'shoulder' to 2.6, outside its limits"),
    ([[0.0], [1.0]], ["shoulder"], {"effort": 5.0}, "joint 'shoulder' needs .* its effort limit of 5 leaves"),
    ([[0.0], [1.0]], ["elbow"], {"velocity": 0.0, "effort": 0.0}, "nothing limits the motion"),
    ([[0.0], [1.0]], ["elbow"], {"velocity": -1.0}, "velocity limit of joint 'elbow' is -1"),
    ([[0.0], [1.0]], ["elbow"], {"tool_speed": {"hand": 0.0}}, "tool_speed of frame 'hand' is 0"),
    ([[0.0], [1.0]], ["elbow"], {"tool_speed": {"finger": 1.0}}, "finger"),
    ([[0.0, 0.0], [1.0, 1.0]], ["elbow"], {}, "a column for a joint"),
])  # fmt: skip
def test_what_has_no_timing_is_refused_by_name(arm, points, names, fields, culprit):
    with pytest.raises((ValueError, KeyError), match=culprit):
        retime(arm, Path(points, names), Limits.of(arm, names, **fields))


def test_other_arguments_are_refused_by_name(arm):
    path, limits = Path([[0.0], [1.0]], ["elbow"]), Limits.of(arm, ["elbow"])
    with pytest.raises(ValueError, match="friction is one of the terms"):
        retime(Robot(load_urdf(ARM), friction=True), path, limits)
    with pytest.raises(ValueError, match="limits are of joints slide, the path is of elbow"):
        retime(arm, path, Limits.of(arm, ["slide"]))
    with pytest.raises(ValueError, match="points 1 is not a whole number"):
        retime(arm, path, limits, points=1)
    with pytest.raises(ValueError, match="others must be 3 finite numbers"):
        retime(arm, path, limits, others=[0.0, 1.0])


@pytest.mark.parametrize(("fields", "terms", "seeds"), [
    ({"acceleration": [15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]}, WITHOUT_FRICTION, range(6)),
    ({"acceleration": 1e3, "velocity": 1e3, "effort": [40.0, 60.0, 30.0, 30.0, 4.0, 4.0, 3.0]},
     WITHOUT_FRICTION, range(6)),
    ({"acceleration": 20.0, "effort_rate": 2e3}, WITHOUT_FRICTION, range(1, 4)),
    pytest.param({"acceleration": 20.0, "effort_rate": 2e3}, WITHOUT_FRICTION, range(6), marks=wide),
])  # fmt: skip
def test_noisy_paths_keep_their_limits_between_points_or_are_refused(panda, fields, terms, seeds):
    """Their motion changes so much between two points that samples of it miss the extrema."""
    limits = Limits.of(panda, PANDA_JOINTS, **fields)
    kept = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        t = np.linspace(0.0, 1.0, int(rng.integers(384, 1001)))[:, None]
        swing = np.sin(2.0 * np.pi * (t * rng.uniform(0.5, 2.0, 7) + rng.uniform(size=7)))
        q = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.8, 0.7]) + 0.4 * swing
        q += 10.0 ** rng.uniform(-5.0, -3.0) * rng.standard_normal(q.shape)
        try:
            found = retime(panda, Path(q, PANDA_JOINTS), limits, terms=terms)
        except ValueError as error:
            assert "no timing was found that keeps all limits between points" in str(error)
            continue
        kept += 1
        assert not check(panda, found.waypoints, limits, terms=terms).passed
    assert kept >= (len(seeds) + 1) // 2


def test_angles_that_wrap_go_on_the_short_way(arm):
    t = np.linspace(0.0, 1.0, 60)
    turning = np.stack([np.zeros(60), 0.2 * t, 9.0 * np.sin(2.0 * t)], axis=1)
    wrapped = turning.copy()
    wrapped[:, 2] = np.mod(turning[:, 2] + np.pi, 2.0 * np.pi) - np.pi
    names = ["a", "b", "c"]
    path, expected = Path(wrapped, names, continuous=["c"]), Path(turning, names)
    np.testing.assert_allclose(path.at(path.knots), expected.at(expected.knots), rtol=1e-12, atol=1e-12)
    assert Path(wrapped, names).length > path.length + 5.0
    with pytest.raises(ValueError, match="continuous: joint 'd' is not one of the path's: a, b, c"):
        Path(wrapped, names, continuous=["d"])


def test_what_cannot_be_smoothed_is_refused():
    noisy = np.random.default_rng(0).normal(0.0, 1e-2, (300, 2)) + np.linspace(0.0, 1.0, 300)[:, None]
    assert len(Path.smoothed(noisy, ["a", "b"], tolerance=0.05).knots) < 40
    with pytest.raises(ValueError, match=r"within 0.001: with 128 pieces for 300 points the position of joint '[ab]'"):
        Path.smoothed(noisy, ["a", "b"], tolerance=1e-3)
    assert len(Path.smoothed(noisy[:9], ["a", "b"], tolerance=1e-3).knots) == 9, "so few points are no noise"


def test_a_path_is_smoothed_however_far_apart_its_points_are():
    x = np.concatenate([np.linspace(0.0, 0.01, 100), [1.0, 2.0, 3.0]])
    smooth = Path.smoothed(np.stack([x, 0.0 * x], axis=1), ["a", "b"], tolerance=1e-6)
    np.testing.assert_allclose(smooth.at(x)[:, 0], x, atol=1e-6)


def test_noise_is_smoothed_within_the_tolerance(arm):
    t = np.linspace(0.0, 1.0, 300)
    clean = np.stack([np.sin(3 * t), np.cos(2 * t), 0.1 * t], axis=1)
    noisy = clean + np.random.default_rng(0).normal(0.0, 1e-4, clean.shape)
    limits = Limits.of(arm, JOINTS, acceleration=10.0)
    smooth = Path.smoothed(noisy, JOINTS, tolerance=1e-3)
    through = Path(noisy, JOINTS)
    assert np.abs(smooth.at(through.knots) - noisy).max() < 1e-3
    np.testing.assert_allclose(smooth.at([0.0, smooth.length]), noisy[[0, -1]], atol=1e-12)
    assert len(smooth.knots) < 40
    best = retime(arm, Path(clean, JOINTS), limits).duration
    assert retime(arm, smooth, limits).duration < 1.03 * best < retime(arm, through, limits).duration
