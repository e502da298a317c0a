# SPDX-License-Identifier: Apache-2.0
"""Dynamics in contact against closed forms: slope, rod of Painleve, impacts, stacks; forward and inverse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.models.touching import G, balls_in_a_row, block, on_slope, rod, rod_on_floor, slope

import rbd_dynamics as rbd
from rbd_dynamics.constraints import Sphere
from rbd_dynamics.contacts import Contact, ContactSet
from rbd_dynamics.model.joints import Floating

MASS = 2.0
BLOCK = block(MASS)
ROBOT = rbd.Robot(BLOCK)
STILL = np.zeros(6)


def laws_hold(found, accuracy=1e-9):
    assert np.all(found.converged)
    for name, value in found.residuals._asdict().items():
        assert np.all(np.abs(value) <= accuracy), name


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("angle", [0.0, 0.2, 0.46, 0.47, 0.8])
def test_a_block_on_a_slope_sticks_or_slides_at_the_right_angle(angle, cone):
    """Friction 0.5 holds up to atan 0.5 = 0.4636 rad."""
    contacts = slope(BLOCK, angle, cone=cone, friction_coefficient=0.5)
    found = ROBOT.contact_forward_dynamics(on_slope(angle), STILL, STILL, contacts)
    slides = max(0.0, G * (math.sin(angle) - 0.5 * math.cos(angle)))
    np.testing.assert_allclose(found.a, [0.0, 0.0, 0.0, slides, 0.0, 0.0], atol=1e-8)
    normal, tangential, across = found.forces.sum(axis=0)
    assert normal == pytest.approx(MASS * G * math.cos(angle), rel=1e-9)
    assert math.hypot(tangential, across) == pytest.approx(MASS * (G * math.sin(angle) - slides), abs=1e-8)
    np.testing.assert_allclose(found.forces[[0, 2]], found.forces[[1, 3]] * [1.0, 1.0, -1.0], atol=1e-6)
    laws_hold(found)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_what_slides_already_is_braked(cone):
    contacts = slope(BLOCK, 0.2, cone=cone, friction_coefficient=0.5)
    found = ROBOT.contact_forward_dynamics(on_slope(0.2), [0.0, 0.0, 0.0, 0.7, 0.0, 0.0], STILL, contacts)
    assert found.a[3] == pytest.approx(G * (math.sin(0.2) - 0.5 * math.cos(0.2)), rel=1e-9)
    laws_hold(found)


def test_what_is_apart_or_leaves_falls_freely():
    contacts = slope(BLOCK, 0.0, friction_coefficient=0.5)
    q = on_slope(0.0)
    for z, v in ((1e-3, 0.0), (0.0, 1e-3)):
        found = ROBOT.contact_forward_dynamics(q + [0, 0, z, 0, 0, 0, 0], [0, 0, 0, 0, 0, v], STILL, contacts)
        np.testing.assert_allclose(found.a, [0.0, 0.0, 0.0, 0.0, 0.0, -G], atol=1e-12)
        np.testing.assert_array_equal(found.forces, 0.0)
        laws_hold(found)


def test_an_external_force_lifts_it_off_or_presses_it_down():
    contacts = slope(BLOCK, 0.0, friction_coefficient=0.5)
    q = on_slope(0.0)
    for push, a in ((-5.0, 0.0), (MASS * G + 3.0, 3.0 / MASS)):
        found = ROBOT.contact_forward_dynamics(q, STILL, STILL, contacts, f_ext={"block": [0, 0, 0, 0, 0, push]})
        assert found.a[5] == pytest.approx(a, abs=1e-9)
        assert found.forces[:, 0].sum() == pytest.approx(max(0.0, MASS * G - push), abs=1e-9)
        laws_hold(found)


def test_compliant_contacts_push_as_their_springs():
    """Each corner 0.1 mm deep, moving down and along x."""
    contacts = slope(BLOCK, 0.0, friction_coefficient=0.5, compliance=1e-4, damping=20.0)
    q = on_slope(0.0) - [0.0, 0.0, 1e-4, 0.0, 0.0, 0.0, 0.0]
    found = ROBOT.contact_forward_dynamics(q, [0.0, 0.0, 0.0, 0.2, 0.0, -0.03], STILL, contacts)
    each = 1e-4 / 1e-4 + 20.0 * 0.03
    np.testing.assert_allclose(found.forces[:, 0], each, rtol=1e-9)
    assert found.a[3] == pytest.approx(-4.0 * 0.5 * each / MASS, rel=1e-9)
    assert found.a[5] == pytest.approx(4.0 * each / MASS - G, rel=1e-9)
    laws_hold(found)


def test_a_batch_is_its_samples():
    contacts = slope(BLOCK, 0.3, friction_coefficient=0.5)
    q = np.stack([on_slope(0.3)] * 3)
    v = np.zeros((3, 6))
    v[1, 3], v[2, 4] = 0.4, -0.3
    a = np.zeros((3, 6))
    a[1, 3] = G * (math.sin(0.3) - 0.5 * math.cos(0.3))
    results = [
        (ROBOT.contact_forward_dynamics, (q, v, STILL)),
        (ROBOT.contact_impulse, (q, v - [0.0, 0.0, 0.0, 0.0, 0.0, 1.0])),
        (ROBOT.contact_inverse_dynamics, (q[:2], v[:2], a[:2])),
        (ROBOT.contact_inverse_dynamics, (q[0], v[0], np.zeros((2, 6)))),
    ]
    for method, given in results:
        whole = method(*given, contacts)
        for k in range(len(given[-1]) if given[-1].ndim == 2 else 3):
            one = method(*(x[k] if np.ndim(x) == 2 else x for x in given), contacts)
            for part, single in zip(flat(whole), flat(one)):
                np.testing.assert_allclose(part[k], single, atol=1e-9)


def test_any_number_of_leading_axes_and_bad_samples_apart():
    contacts = slope(BLOCK, 0.3, friction_coefficient=0.5)
    q, v = np.tile(on_slope(0.3), (2, 3, 1)), np.zeros((3, 6))
    v[1, 3], v[2, 4] = 0.4, -0.3
    sparing = rbd.Robot(ROBOT.model, errors="nan")
    for name, given in (("forward_dynamics", (STILL,)), ("impulse", ()), ("inverse_dynamics", (np.zeros(6),))):
        whole = getattr(ROBOT, f"contact_{name}")(q, v, *given, contacts)
        q_bad = q.copy()
        q_bad[1, 2, 0] = np.nan
        found = getattr(sparing, f"contact_{name}")(q_bad, v, *given, contacts)
        for part, ours in zip(flat(whole), flat(found)):
            assert part.shape[:2] == (2, 3)
            np.testing.assert_allclose(part[1], part[0])
            np.testing.assert_allclose(ours[0], part[0])
            if ours.dtype == float:
                assert np.isnan(ours[1, 2]).all()
        if "converged" in found._fields:
            assert found.converged.sum() == 5


def flat(found):
    """Its arrays, those of the residuals too."""
    return [array for part in found for array in (part if isinstance(part, tuple) else (part,))]


# --- the rod of Painleve ------------------------------------------------------------------------


def rod_force(angle, rate, friction, mass=1.5, half=0.5):
    """Normal force on the lower end of a rod that slides in the direction of its upper end, and its normal response."""
    response = (1.0 + 3.0 * math.cos(angle) ** 2 - 3.0 * friction * math.sin(angle) * math.cos(angle)) / mass
    free = half * rate**2 * math.sin(angle) - G
    return -free / response, response


@pytest.mark.parametrize(("angle", "rate", "friction"), [(1.0, 0.0, 0.3), (0.6, 1.5, 0.5), (1.2, -2.0, 0.8)])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_rod_that_slides(angle, rate, friction, direction):
    model = rod(0.5, 1.5)
    # the lower end is still but for sliding
    slip = direction * 0.4
    v = [slip - 0.5 * rate * math.sin(angle), 0.5 * rate * math.cos(angle), rate]
    found = rbd.Robot(model).contact_forward_dynamics(
        [0.0, 0.5 * math.sin(angle), angle], v, np.zeros(3), rod_on_floor(model, 0.5, friction)
    )
    normal, _ = rod_force(angle, rate, -direction * friction)
    assert found.forces[0, 0] == pytest.approx(normal, rel=1e-5)  # its end is a ball of a micrometre
    assert np.hypot(*found.forces[0, 1:]) == pytest.approx(friction * normal, rel=1e-5)
    laws_hold(found)


def test_painleve_s_rod_has_no_rigid_acceleration_but_jams():
    """Above mu = 4/3 the normal response of sliding is negative: no force holds the end. Impulses do: it stops."""
    model = rod(0.5, 1.5)
    angle, friction = 1.1, 2.5
    normal, response = rod_force(angle, 0.0, friction)
    assert response < 0.0 and normal < 0.0
    q, contacts, robot = [0.0, 0.5 * math.sin(angle), angle], rod_on_floor(model, 0.5, friction), rbd.Robot(model)
    found = robot.contact_forward_dynamics(q, [-0.4, 0.0, 0.0], np.zeros(3), contacts)
    assert not found.converged
    assert found.residuals.motion == pytest.approx(G, rel=1e-9)
    after = robot.contact_impulse(q, [-0.4, 0.0, 0.0], contacts)
    np.testing.assert_allclose(after.v, [-0.4, 0.0, 0.0], atol=1e-12)  # it does not approach: no impact by itself
    after = robot.contact_impulse(q, [-0.4, -1e-3, 0.0], contacts)  # the least approach, and it is an impact
    rate = after.v[2]
    end = after.v[:2] + 0.5 * rate * np.array([math.sin(angle), -math.cos(angle)])
    np.testing.assert_allclose(end, 0.0, atol=1e-6)
    laws_hold(after)


# --- impacts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("friction", [0.0, 0.1, 0.6])
def test_a_ball_that_arrives_obliquely(friction, restitution):
    """Its friction impulse is mu times the normal one, or 2/7 of m u_t where it comes to roll."""
    mass, radius = 0.6, 0.1
    builder = rbd.ModelBuilder("ball")
    builder.add_body("ball", None, Floating(), mass=mass, inertia=0.4 * mass * radius**2 * np.eye(3))
    model = builder.build()
    floor = Contact("floor", "ball", radius=radius, friction_coefficient=friction, restitution=restitution)
    found = rbd.Robot(model).contact_impulse([0, 0, radius, 0, 0, 0, 1], [0, 0, 0, 1.2, 0.5, -2.0], [floor])
    normal = mass * (1.0 + restitution) * 2.0
    tangential = min(friction * normal, 2.0 / 7.0 * mass * math.hypot(1.2, 0.5))
    assert found.impulses[0, 0] == pytest.approx(normal, rel=1e-12)
    assert np.hypot(*found.impulses[0, 1:]) == pytest.approx(tangential, rel=1e-9, abs=1e-12)
    assert found.v[5] == pytest.approx(2.0 * restitution, abs=1e-12)
    scale = 1.0 - tangential / mass / math.hypot(1.2, 0.5)
    np.testing.assert_allclose(found.v[3:5], [1.2 * scale, 0.5 * scale], rtol=1e-9)
    laws_hold(found)


@pytest.mark.parametrize("moving", [1, 2])
def test_newton_s_cradle(moving):
    """As many leave as arrive; the others rest."""
    model, contacts = balls_in_a_row(5, 0.05, restitution=1.0)
    v = np.zeros(5)
    v[:moving] = 1.3
    found = rbd.Robot(model).contact_impulse(np.zeros(5), v, contacts)
    np.testing.assert_allclose(found.v, v[::-1], atol=1e-12)
    assert found.stages > 3
    laws_hold(found)


def test_an_impact_without_rebound_stops_the_row():
    model, contacts = balls_in_a_row(4, 0.05)
    found = rbd.Robot(model).contact_impulse(np.zeros(4), [1.2, 0.0, 0.0, 0.0], contacts)
    np.testing.assert_allclose(found.v, 0.3, rtol=1e-10)
    assert found.stages == 1
    laws_hold(found)


# --- between bodies, inverse --------------------------------------------------------------------


def test_a_ball_upon_a_ball_upon_the_floor():
    """Each contact carries what stands on it."""
    builder = rbd.ModelBuilder("tower")
    for k, mass in enumerate((0.5, 50.0)):
        builder.add_body(f"ball {k}", None, Floating(), mass=mass, inertia=0.004 * mass * np.eye(3))
    model = builder.build()
    contacts = [
        Contact("floor", "ball 0", radius=0.1, friction_coefficient=0.3),
        Contact("top", "ball 1", reference="ball 0", surface=Sphere(0.1), radius=0.1, friction_coefficient=0.3),
    ]
    q = [0.0, 0.0, 0.1, 0, 0, 0, 1, 0.0, 0.0, 0.3, 0, 0, 0, 1]
    found = rbd.Robot(model).contact_forward_dynamics(q, np.zeros(12), np.zeros(12), contacts)
    np.testing.assert_allclose(found.a, 0.0, atol=1e-8)
    np.testing.assert_allclose(found.forces[:, 0], [50.5 * G, 50.0 * G], rtol=1e-10)
    laws_hold(found)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_inverse_dynamics_finds_the_forces_of_a_motion(cone):
    """A push on the block that its friction carries: the least forces of contacts, and nothing lacks."""
    contacts = slope(BLOCK, 0.3, cone=cone, friction_coefficient=0.5)
    q = on_slope(0.3)
    push = {"block": [0.0, 0.0, 0.02, -1.0, 2.0, -3.0]}
    forward = ROBOT.contact_forward_dynamics(q, STILL, STILL, contacts, f_ext=push)
    np.testing.assert_allclose(forward.a, 0.0, atol=1e-8)
    found = ROBOT.contact_inverse_dynamics(q, STILL, STILL, contacts, f_ext=push)
    np.testing.assert_allclose(found.lacking, 0.0, atol=1e-8)
    np.testing.assert_allclose(found.forces, forward.forces, atol=1e-5)
    assert found.feasible
    np.testing.assert_array_equal(found.tau, 0.0)


@pytest.mark.parametrize(
    ("angle", "v", "a", "lacking"),
    [
        (0.0, STILL, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, MASS * (G + 1.0)]),  # nothing lifts it
        (0.0, [0, 0, 0, 0.5, 0, 0], STILL, [0.0, 0.0, 0.0, 0.5 * MASS * G, 0.0, 0.0]),  # friction brakes it
    ],
)
def test_a_motion_that_contacts_cannot_make(angle, v, a, lacking):
    contacts = slope(BLOCK, angle, friction_coefficient=0.5)
    found = ROBOT.contact_inverse_dynamics(on_slope(angle), v, a, contacts)
    assert not found.feasible
    if np.asarray(a).any():
        np.testing.assert_allclose(found.lacking, lacking, atol=1e-8)
    else:  # least squares: less normal force, less friction
        assert 0.0 < found.lacking[3] < lacking[3] and found.lacking[5] > 0.0


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_contacts_hold_nothing_back_that_is_pulled_away(cone):
    """A block that shall rest, and is pulled with 5 N more than its weight."""
    contacts = slope(BLOCK, 0.0, cone=cone, friction_coefficient=0.5)
    pull = {"block": [0.0, 0.0, 0.0, 0.0, 0.0, MASS * G + 5.0]}
    found = ROBOT.contact_inverse_dynamics(on_slope(0.0), STILL, STILL, contacts, f_ext=pull)
    np.testing.assert_allclose(found.forces, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.lacking, [0.0, 0.0, 0.0, 0.0, 0.0, -5.0], atol=1e-8)
    assert not found.feasible


def test_a_motion_into_the_surface_is_not_feasible():
    contacts = slope(BLOCK, 0.0, friction_coefficient=0.5)
    found = ROBOT.contact_inverse_dynamics(on_slope(0.0), STILL, [0, 0, 0, 0, 0, -2.0], contacts)
    assert found.motion == pytest.approx(2.0) and not found.feasible


def test_joints_with_actuators_give_the_rest():
    """A pressing arm: with all joints driven no contact force is needed; with none the floor has to carry it."""
    contacts = slope(BLOCK, 0.0, friction_coefficient=0.5)
    found = ROBOT.contact_inverse_dynamics(on_slope(0.0), STILL, STILL, contacts, actuated=np.ones(6, bool))
    np.testing.assert_allclose(found.tau, [0.0, 0.0, 0.0, 0.0, 0.0, MASS * G], atol=1e-12)
    np.testing.assert_array_equal(found.forces, 0.0)


def test_compliant_contacts_in_inverse_dynamics():
    contacts = slope(BLOCK, 0.0, friction_coefficient=0.5, compliance=1e-3)
    depth = MASS * G / 4.0 * 1e-3
    q = on_slope(0.0) - [0.0, 0.0, depth, 0.0, 0.0, 0.0, 0.0]
    found = ROBOT.contact_inverse_dynamics(q, STILL, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], contacts)
    np.testing.assert_allclose(found.forces[:, 0], MASS * G / 4.0, rtol=1e-9)
    assert found.feasible


# --- what makes no sense ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compliance": -1.0}, "contact 'c': compliance -1.0 must be finite and not negative"),
        ({"compliance": 1e-4, "restitution": 0.5}, "contact 'c': .* either compliance or restitution"),
        ({"damping": 2.0}, "contact 'c': damping is of a compliant contact"),
        ({"radius": -1.0}, "contact 'c': radius"),
        ({"friction_coefficient": "much"}, "contact 'c': friction_coefficient: 'much' is not a number"),
        ({"restitution": None}, "contact 'c': restitution: None is not a number"),
        ({"compliance": math.inf}, "contact 'c': compliance: inf is not finite"),
        ({"name": None}, "contact name None is not a text"),
    ],
)
def test_contacts_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        Contact(**{"name": "c", "frame": "block", **options})


def test_sets_that_make_no_sense():
    with pytest.raises(KeyError, match="foot"):
        ContactSet(BLOCK, [Contact("c", "foot")])
    with pytest.raises(TypeError, match="contacts must be Contacts"):
        ContactSet(BLOCK, ["c"])
    with pytest.raises(ValueError, match="there are none"):
        ContactSet(BLOCK, [])
    with pytest.raises(ValueError, match="cone 'flat' is not one of elliptic, pyramidal"):
        ContactSet(BLOCK, [Contact("c", "block")], cone="flat")
    with pytest.raises(ValueError, match="contact name 'c' occurs twice"):
        ContactSet(BLOCK, [Contact("c", "block")] * 2)
    with pytest.raises(ValueError, match="contact 'c': 'world' and 'world' do not move against each other"):
        ContactSet(BLOCK, [Contact("c", "world")])
    with pytest.raises(KeyError, match="contact 'c': no frame named 'foot'"):
        ContactSet(BLOCK, [Contact("c", "block", reference="foot")])
    with pytest.raises(ValueError, match="another model"):
        ROBOT.contact_impulse(on_slope(0.0), STILL, slope(block(3.0), 0.0))
    with pytest.raises(TypeError, match="ContactSet or a sequence"):
        ROBOT.in_contact(7)
    with pytest.raises(ValueError, match=r"actuated has shape \(2,\), expected \(6,\)"):
        ROBOT.contact_inverse_dynamics(on_slope(0.0), STILL, STILL, slope(BLOCK, 0.0), actuated=[True, False])
    with pytest.raises(ValueError, match="actuated: expected booleans"):
        ROBOT.contact_inverse_dynamics(on_slope(0.0), STILL, STILL, slope(BLOCK, 0.0), actuated=range(6))


METHODS = {
    "forward": lambda q, v, a, **options: ROBOT.contact_forward_dynamics(q, v, a, slope(BLOCK, 0.2), **options),
    "inverse": lambda q, v, a, **options: ROBOT.contact_inverse_dynamics(q, v, a, slope(BLOCK, 0.2), **options),
    "impulse": lambda q, v, a, **options: ROBOT.contact_impulse(q, v, slope(BLOCK, 0.2), **options),
}


@pytest.mark.parametrize("method", METHODS)
def test_batches_of_nothing_have_the_shapes_of_a_batch(method):
    q = on_slope(0.2)
    one, none = (METHODS[method](np.tile(q, (*lead, 1)), STILL, STILL) for lead in ((1, 2), (0, 2)))
    for part, empty in zip(flat(one), flat(none)):
        assert empty.shape == (0, *part.shape[1:]) and empty.dtype == part.dtype


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("touching", "message"),
    [
        ("near", "touching 'near' is not a number"),
        (math.nan, "touching nan must be a number"),
        (np.ones(3), r"touching array\(\[1.0, 1.0, 1.0\]\) is not a number"),
    ],
)
def test_a_distance_of_touching_that_makes_no_sense(method, touching, message):
    with pytest.raises(ValueError, match=message):
        METHODS[method](on_slope(0.2), STILL, STILL, touching=touching)


@pytest.mark.parametrize("method", ["forward", "inverse"])
@pytest.mark.parametrize("still", [-1.0, math.nan])
def test_a_speed_of_rest_that_makes_no_sense(method, still):
    with pytest.raises(ValueError, match=f"still {still:g} must be a number, and not negative"):
        METHODS[method](on_slope(0.2), STILL, STILL, still=still)
