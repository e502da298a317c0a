# SPDX-License-Identifier: Apache-2.0
"""The work of the services of `dynamics_server` on robots that no URDF describes, without a node."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.nodes.ros_nodes import needs_ros

from rbd_dynamics import Limits, ModelBuilder, Robot
from rbd_dynamics.model.joints import Revolute
from rbd_dynamics.model.passive_forces import Spring

pytestmark = needs_ros

STIFFNESS, REST, DAMPING = (40.0, 90.0), (0.3, -0.2), (0.7, 0.2)
JOINTS = ("upper_joint", "fore_joint")
CIRCLE = "[{name: held, type: frame, frame: tip, directions: [x]}]"


@pytest.fixture(scope="module")
def model():
    builder = ModelBuilder("springy")
    parent, inertia = None, (0.02, 0, 0, 0.03, 0, 0.025)
    for name, k, rest, damping in zip(("upper", "fore"), STIFFNESS, REST, DAMPING):
        builder.add_body(
            name, parent, Revolute((0, 1, 0)), placement=(0.4 if parent else 0, 0, 0), mass=1.5, com=(0.2, 0, 0.01),
            inertia=inertia, damping=damping, friction=0.3, passive=(Spring(k, rest=rest),), limits=Limits(effort=50),
        )  # fmt: skip
        parent = name
    builder.add_frame("tip", "fore", placement=(0.3, 0, 0))
    return builder.build()


@pytest.fixture(params=[True, False], ids=["friction", "no friction"])
def engine(model, request):
    from rbd_dynamics.nodes.interface.dynamics_server import DynamicsServerParameters
    from rbd_dynamics.nodes.server.server_engine import build_engine

    terms = ("inertia", "coriolis", "gravity", "spring", *(("friction",) if request.param else ()))
    return build_engine(model, DynamicsServerParameters(terms=terms), lambda *_: None)


@pytest.fixture
def state():
    return np.random.default_rng(3).uniform(-1, 1, (4, 5, 2))


def ask(engine, name, **fields):
    from rbd_dynamics.nodes.server import dynamics_services
    from rbd_dynamics_interfaces import srv

    kind = getattr(srv, "".join(part.title() for part in name.split("_")))
    response = kind.Response()
    flat = {key: value.ravel().tolist() if isinstance(value, np.ndarray) else value for key, value in fields.items()}
    getattr(dynamics_services, name)(engine, kind.Request(**flat), response)
    return response


def ask_constrained(engine, name, **fields):
    from rbd_dynamics.nodes.server import constrained_services
    from rbd_dynamics_interfaces import srv

    kind = getattr(srv, "Constrained" + "".join(part.title() for part in name.split("_")))
    request, response = kind.Request(constraints_yaml=CIRCLE, **fields), kind.Response()
    x = constrained_services.ConstrainedRequest(engine.model, engine.prefix, engine.known, request)
    getattr(constrained_services, f"constrained_{name}")(engine.moving, x, request, response)
    return response


def springs(q):
    return np.array(STIFFNESS) * (q - REST)


def test_terms_sum_to_inverse_dynamics_and_springs_are_hookes(engine, model, state):
    q, v, a, _ = state
    terms = ask(engine, "dynamics_terms", positions=q, velocities=v)
    np.testing.assert_allclose(np.reshape(terms.spring, q.shape), springs(q), rtol=1e-13)
    assert np.any(terms.friction) == engine.moving.friction
    mass = np.einsum("nij,nj->ni", np.reshape(terms.mass_matrix, (*q.shape, 2)), a)
    parts = [np.reshape(part, q.shape) for part in (terms.coriolis, terms.gravity, terms.spring, terms.friction)]
    answer = ask(engine, "inverse_dynamics", positions=q, velocities=v, accelerations=a)
    np.testing.assert_allclose(np.reshape(answer.efforts, q.shape), mass + sum(parts), rtol=1e-11, atol=1e-11)
    answer = ask(engine, "inverse_dynamics", positions=q, velocities=v, accelerations=a, terms=["spring"])
    np.testing.assert_allclose(np.reshape(answer.efforts, q.shape), springs(q), rtol=1e-11, atol=1e-11)


def test_forward_and_hybrid_dynamics_undo_inverse_dynamics(engine, state):
    """With friction where the server models it, and springs always."""
    q, v, a, _ = state
    efforts = ask(engine, "inverse_dynamics", positions=q, velocities=v, accelerations=a).efforts
    given = {"positions": q, "velocities": v, "efforts": np.array(efforts)}
    answer = ask(engine, "forward_dynamics", **given)
    np.testing.assert_allclose(np.reshape(answer.accelerations, a.shape), a, rtol=1e-9)
    answer = ask(engine, "hybrid_dynamics", accelerations=a, prescribed=[True, False], **given)
    np.testing.assert_allclose(np.reshape(answer.accelerations, a.shape), a, rtol=1e-9)
    np.testing.assert_allclose(answer.efforts, efforts, rtol=1e-9)


def test_constrained_inverse_dynamics_asks_the_least_of_the_actuators(engine, model, state):
    """What friction takes counts: all torques for a motion differ by a multiple of the row, and none is smaller."""
    q, v, _, _ = state[:, 0]
    acting = Robot(model, friction=engine.moving.friction)
    rows = acting.constraint_rows(q, v, engine.known.chosen((), CIRCLE))
    a = -np.linalg.pinv(rows.A) @ rows.Adot_v
    given = {"positions": q.tolist(), "velocities": v.tolist()}
    answer = ask_constrained(engine, "inverse_dynamics", accelerations=a.tolist(), **given)
    needed = acting.inverse_dynamics(q, v, a)
    (row,) = rows.A
    least = needed - row * (row @ needed) / (row @ row)
    np.testing.assert_allclose(answer.efforts, least, rtol=1e-9)
    made = ask_constrained(engine, "forward_dynamics", efforts=list(answer.efforts), **given)
    np.testing.assert_allclose(made.accelerations, a, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(made.multipliers, answer.multipliers, rtol=1e-9)


def test_constrained_inverse_dynamics_counts_friction_at_joints_without_an_actuator(engine, model, state):
    q, v, _, _ = state[:, 0]
    acting = Robot(model, friction=engine.moving.friction)
    rows = acting.constraint_rows(q, v, engine.known.chosen((), CIRCLE))
    a = -np.linalg.pinv(rows.A) @ rows.Adot_v
    answer = ask_constrained(
        engine, "inverse_dynamics", positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist(),
        actuated=[True, False], efforts=[0.0, 0.25],
    )  # fmt: skip
    needed = acting.inverse_dynamics(q, v, a)
    (row,) = rows.A
    multiplier = (needed[1] - 0.25) / row[1]
    np.testing.assert_allclose(answer.efforts, [needed[0] - row[0] * multiplier, 0.25], rtol=1e-9)
    np.testing.assert_allclose(answer.multipliers, [multiplier], rtol=1e-9)


def test_loads_count_for_both_robots(engine, model, state):
    from rbd_dynamics.nodes.managed.payload import Payloads

    q, v, a, _ = state
    Payloads().set(engine.robots, "tip", (2.0, (0.0, 0.0, 0.1), None), lambda robot: None)
    loaded = Robot(model, friction=engine.moving.friction)
    loaded.set_payload("tip", 2.0, com=(0.0, 0.0, 0.1))
    answer = ask(engine, "inverse_dynamics", positions=q, velocities=v, accelerations=a)
    np.testing.assert_allclose(np.reshape(answer.efforts, q.shape), loaded.inverse_dynamics(q, v, a), rtol=1e-11)
    answer = ask(engine, "forward_dynamics", positions=q, velocities=v, efforts=a)
    np.testing.assert_allclose(np.reshape(answer.accelerations, q.shape), loaded.forward_dynamics(q, v, a), rtol=1e-11)
