# SPDX-License-Identifier: Apache-2.0
"""What friction, loads and inertias share: parts that are merged, terms, errors."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from helpers.models.identified import LOAD, arm, loaded
from helpers.models.robots import shared_robot
from helpers.recorded.exciting import LOW_PASS, RATE, fourier, measured, segments_of
from helpers.recorded.identifying import found_by

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.control.terms import inverse_dynamics_terms
from rbd_dynamics.model import Model, ModelWarning
from rbd_dynamics.replay.identification import FrictionIdentifier, InertiaIdentifier, PayloadIdentifier
from rbd_dynamics.replay.signals.filtering import LowPass


def makers(model: Model):
    return [
        lambda: FrictionIdentifier(shared_robot(model), low_pass=LOW_PASS),
        lambda: PayloadIdentifier(shared_robot(model), "link2", low_pass=LOW_PASS),
        lambda: InertiaIdentifier(shared_robot(model), low_pass=LOW_PASS),
    ]


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("duration", [40.0, 200.0])
def test_parts_found_elsewhere_and_merged_are_the_whole(which, duration):
    model = arm()
    make = makers(model)[which]
    parts = segments_of(*measured(loaded(model, "link2"), 1, duration), block=700)
    assert len(parts) > 4
    whole = found_by(make(), parts)
    first, second, third = make(), make(), make()
    for k, part in enumerate(parts):
        (first, second, third)[(0, 2, 1, 1, 0)[k % 5]].add(part)
    second = pickle.loads(pickle.dumps(second))  # as from another process
    third.merge(second)
    third.merge(first)
    assert_close(third.results().to_dict(), whole.to_dict())


def assert_close(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_close(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for x, y in zip(one, other):
            assert_close(x, y)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-8)
    else:
        assert one == other


@pytest.mark.parametrize("terms", [("gravity", "friction"), ("inertia", "coriolis", "friction"), ("inertia",)])
def test_efforts_may_contain_some_terms_only(terms):
    model, given = loaded(arm(), "link2"), arm()
    stamps, numbers = measured(model, None, speed=1.5)
    q, v, effort = numbers.transpose(1, 0, 2)
    a = fourier(model, np.arange(len(q)) / RATE, speed=1.5)[2]
    effort[:] = inverse_dynamics_terms(shared_robot(model), q, v, a, terms)
    effort += 0.02 * np.random.default_rng(0).normal(size=effort.shape)
    parts = segments_of(stamps, numbers)
    load = found_by(PayloadIdentifier(shared_robot(given), "link2", low_pass=LOW_PASS, terms=terms), parts)
    assert load.mass.value == pytest.approx(LOAD[0], abs=0.02)
    assert set(load.terms) == set(terms)
    base = found_by(InertiaIdentifier(shared_robot(given), low_pass=LOW_PASS, terms=terms), parts)
    for found in (load, base):
        assert all(joint.rmse_after < 0.02 for joint in found.joints)
        assert max(joint.rmse_before for joint in found.joints) > 0.1


def test_errors_name_the_culprit():
    model = arm()
    robot, other = shared_robot(model), Robot(arm(2))
    with pytest.raises(KeyError, match="link9"):
        PayloadIdentifier(robot, "link9")
    with pytest.raises(ValueError, match="without friction"):
        FrictionIdentifier(Robot(model, friction=True))
    with pytest.raises(ValueError, match="unknown term 'magic'"):
        FrictionIdentifier(robot, terms=("magic",))
    with pytest.raises(ValueError, match="size"):
        PayloadIdentifier(robot, "link2", size=0.0)
    with pytest.raises(ValueError, match="weight"):
        InertiaIdentifier(robot, weight=-1.0)
    part = segments_of(*measured(model, 0, 20.0))[0]
    for identifier in (FrictionIdentifier(other), PayloadIdentifier(other, "link1"), InertiaIdentifier(other)):
        with pytest.raises(ValueError, match="3 joints, the robot 2"):
            identifier.add(part)
    with pytest.raises(ValueError, match="samples per second"):
        FrictionIdentifier(robot, low_pass=LowPass(10.0, 4, 50.0)).add(part)
    for make in (FrictionIdentifier, InertiaIdentifier):
        with pytest.raises(ValueError, match="another robot"):
            make(robot).merge(make(other))
        with pytest.raises(ValueError, match="other terms"):
            make(robot).merge(make(robot, terms=("gravity",)))
    with pytest.raises(ValueError, match="'link2' and 'link1'"):
        PayloadIdentifier(robot, "link2").merge(PayloadIdentifier(robot, "link1"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        fixed = load_urdf('<robot name="r"><link name="base"/></robot>')
    with pytest.raises(ValueError, match="fixed to the world"):
        PayloadIdentifier(Robot(fixed), "base")
