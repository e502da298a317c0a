# SPDX-License-Identifier: Apache-2.0
"""Reading a description takes work and memory in proportion to its links, whatever its shape."""

from __future__ import annotations

import sys
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.models.robots import random_tree
from helpers.models.shapes import SHAPES, described
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.model import load_urdf, model_from_dict, model_to_dict, preflight
from rbd_dynamics.model.errors import ModelError
from rbd_dynamics.model.inertia_felt import all_inertia_is_felt
from rbd_dynamics.model.mass_matrix_pivots import pivots
from rbd_dynamics.robot import Robot
from rbd_dynamics.spatial.inertia import RigidInertia


def calls_of(work):
    """How many functions a piece of work calls, in Python and below."""
    count = 0

    def see(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def memory_of(work):
    """The most bytes that it holds at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", table(SHAPES, lambda shape: shape != "tree"))
def test_loading_is_linear_in_the_number_of_links(shape):
    small, large = described(shape, 100), described(shape, 400)
    load_urdf(small)  # what is made once
    for cost in (calls_of, memory_of):
        assert cost(lambda: load_urdf(large)) < 5.0 * cost(lambda: load_urdf(small)), cost.__name__


@pytest.mark.parametrize("shape", table(SHAPES, lambda shape: shape != "tree"))
def test_so_is_what_else_reads_a_whole_model(shape):
    small, large = (load_urdf(described(shape, count)) for count in (50, 200))

    def use(model):
        model_from_dict(model_to_dict(model))
        preflight(model)
        q = model.random(0)
        model.difference(q, model.integrate(q, np.ones(model.nv)))
        for name in model.joint_names:
            model.joint(name)
        for name in model.frame_names:
            model.frame(name)

    use(small)
    for cost in (calls_of, memory_of):
        assert cost(lambda: use(large)) < 5.0 * cost(lambda: use(small)), cost.__name__


@pytest.mark.parametrize("shape", SHAPES)
def test_a_description_of_many_links_is_read(shape):
    """Deeper than Python calls go, and than a pivot of the mass matrix stands out from its composite inertia."""
    count = 1200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_urdf(described(shape, count))
    assert model.nv == {"fixed chain": 0, "mimic chain": 1}.get(shape, count)
    assert len(model.frames) == 2 * count + 1


def test_a_circle_of_mimics_is_named_once_and_what_leads_into_it_is_no_second_error():
    text = described("mimic chain", 300).replace(
        '<parent link="l0"/><child link="l1"/>', '<mimic joint="j20"/><parent link="l0"/><child link="l1"/>'
    )
    with pytest.raises(ModelError, match="joint 'j1': mimics itself, through 'j1', 'j20', 'j19'") as caught:
        load_urdf(text)
    assert len(caught.value.findings) == 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mimic", [0.0, 0.5])
def test_the_pivots_multiply_to_the_determinant_of_the_mass_matrix(seed, mimic, monkeypatch):
    """An elimination in any order has the same product; relative to other terms, here to 1."""
    model = random_tree(seed, n=6, mimic=mimic)
    q = model.random(seed)
    sizes = []
    import rbd_dynamics.model.mass_matrix_pivots as module

    class Recording(module._Form):
        def _take_out(self, coupled, pivots):
            sizes.append(abs(pivots[0, 1]))
            return super()._take_out(coupled, pivots)

    monkeypatch.setattr(module, "_Form", Recording)
    left = pivots(model, q).left
    expected = np.linalg.det(Robot(model, backend="reference").mass_matrix(q))
    assert np.prod(left) * np.prod(sizes) == pytest.approx(expected, rel=1e-9)
    assert len(sizes) == model.nv


def spoilt(model, rng):
    """The model with the inertias of some bodies gone, or as good as gone, on the joint's axis or negative."""
    bodies = list(model.bodies)
    for k in rng.choice(len(bodies), size=2, replace=False):
        (column, *_) = bodies[k].joint.kind.columns(bodies[k].joint.kind.neutral())
        along = np.array(column[:3] if any(column[:3]) else column[3:])
        scale = 10.0 ** float(rng.integers(-14, 1))
        inertia = [
            RigidInertia(),
            RigidInertia.from_parameters(tuple(scale * each for each in bodies[k].inertia.parameters)),
            RigidInertia.from_com(1.0, tuple((0.3 * along).tolist()), (scale, 0.0, 0.0, scale, 0.0, scale)),
            RigidInertia.from_com(-scale, (0.1, 0.0, 0.0), (0.0,) * 6),
        ][rng.integers(4)]
        armature = float(rng.choice([0.0, 1e-9, 1e-3]))
        bodies[k] = replace(bodies[k], inertia=inertia, joint=replace(bodies[k].joint, armature=armature))
    return replace(model, bodies=tuple(bodies))


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_what_is_certain_of_the_inertia_that_joints_feel_is_so(base):
    certain = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        kinds = ("revolute", "continuous", "prismatic")
        model = random_tree(rng, n=int(rng.integers(2, 8)), kinds=kinds, base=base, mimic=0.3 * (seed % 2))
        for tried in (model, *(spoilt(model, rng) for _ in range(4))):
            if not all_inertia_is_felt(tried):
                continue
            certain += 1
            q = np.stack([tried.random(rng) for _ in range(4)])
            assert pivots(tried, q).left.min() > 1e-9, seed
            assert np.linalg.eigvalsh(Robot(tried, backend="reference").mass_matrix(q[0]))[0] > 0.0, seed
    assert certain > 100


def test_of_robots_as_they_are_nearly_all_are_certain():
    named = [robots()[name] for name in ("panda", "ur5_robot", "talos_reduced", "anymal", "kinova")]
    assert all(all_inertia_is_felt(rbd.load(file, base=base)) for file in named for base in ("fixed", "floating"))


def test_a_direction_that_two_joints_share_is_found_in_a_long_chain():
    """Two joints on one axis with nothing between them: one of them moves no mass of its own."""
    text = described("chain", 200)
    bare = text.replace('<link name="l100"><inertial>', '<link name="l100"><unused>', 1)
    start = bare.index("<unused>")
    end = bare.index("</inertial>", start)
    bare = bare[:start] + bare[end + len("</inertial>") :]
    same = bare.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 1"/>').replace(
        '<child link="l101"/><origin xyz="0 0.1 0.2" rpy="0.1 0 0.2"/>', '<child link="l101"/>'
    )
    with pytest.warns(UserWarning, match="'j100': moves no mass that the joints after it do not move"):
        load_urdf(same)
