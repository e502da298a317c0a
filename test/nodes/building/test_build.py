# SPDX-License-Identifier: Apache-2.0
"""Engines that are made in a process first: the same engine, and no process where there is nothing to compile."""

from __future__ import annotations

import importlib
import io
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from helpers.models.arms import ARM
from helpers.models.robots import random_tree
from helpers.nodes.ros_nodes import needs_ros

from rbd_dynamics.compiler.cached_only import NotCached, cached_only
from rbd_dynamics.model.urdf import load_urdf
from rbd_dynamics.nodes.building.build_worker import LEAST_MEMORY
from rbd_dynamics.robot import Robot


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path))


def test_a_process_that_compiles_has_half_of_the_memory_and_goes_first():
    """And less where it was given less; it leaves nothing on the disk."""
    code = (
        "import resource, sys; from rbd_dynamics.nodes.building import build_worker as worker\n"
        "if len(sys.argv) > 1: resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)\n"
        "worker._step_back()\n"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CORE)[0],"
        " open('/proc/self/oom_score_adj').read())"
    )

    def limits(*given):
        run = [sys.executable, "-c", code, *map(str, given)]
        return [int(x) for x in subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()]

    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert limits() == [max(whole // 2, LEAST_MEMORY), 0, 1000]
    assert limits(LEAST_MEMORY - 4096)[0] == LEAST_MEMORY - 4096


def test_only_cached_kernels_where_that_is_asked_for(empty_cache):
    robot = Robot(load_urdf(ARM))
    with cached_only(), pytest.raises(NotCached):
        robot.compile("gravity")
    robot.compile("gravity")
    with cached_only():
        Robot(load_urdf(ARM)).compile("gravity")
        with pytest.raises(NotCached):
            Robot(load_urdf(ARM.replace('value="2.0"', 'value="2.5"'))).compile("mass_matrix")


@pytest.mark.parametrize("seed", range(5))
def test_a_model_in_parts_is_the_same_model_and_has_the_same_kernels(seed, empty_cache):
    from rbd_dynamics.nodes.building.build_process import joined, messages, parts_of

    model = random_tree(seed, n=20, base="floating", mimic=0.3)
    Robot(model).compile("gravity")  # which also fills what a model remembers
    stream, sizes = io.BytesIO(), [0]
    pickler = pickle.Pickler(stream)
    for part in parts_of(model):
        pickler.dump(part)
        sizes.append(stream.tell())
    assert max(np.diff(sizes)) < 10_000
    stream.seek(0)
    parts = messages(stream)
    kind, first = next(parts)
    again = joined(first, parts)
    assert kind == "model" and again == model
    with cached_only():
        ours, theirs = (Robot(each).gravity(model.neutral()) for each in (again, model))
    np.testing.assert_array_equal(ours, theirs)


def build_of(text, *, in_use, said):
    from rbd_dynamics.nodes.building.build import Build
    from rbd_dynamics.nodes.feedforward import FeedforwardNode
    from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters

    return Build(
        text, FeedforwardParameters(), FeedforwardNode.build, lambda *kernel: said.append(kernel), said.append,
        in_use=in_use,
    )  # fmt: skip


class TestBuild:
    pytestmark = needs_ros

    def test_a_process_compiles_and_where_it_has_done_so_none_is_needed(self, empty_cache):
        for in_use, processes in ((False, 1), (False, 0), (True, 1)):
            said = []
            build = build_of(ARM, in_use=in_use, said=said)
            engine = build.run()
            assert engine.model == load_urdf(ARM)
            assert said == [("feedforward", 1, 1)] * processes
            assert (build._process is not None) == bool(processes)

    def test_what_is_cancelled_before_it_begins_ends_nothing_else(self, empty_cache):
        from rbd_dynamics.nodes.managed.description_text import BuildError

        build = build_of(ARM, in_use=True, said=[])
        build.cancel()
        build.start()
        with pytest.raises(BuildError, match="abandoned"):
            build.abandon() or build.result()
        assert build_of(ARM, in_use=True, said=[]).run().model.nv == 3

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("<robot", "robot_description: robot description: is not well-formed XML"),
            ("", "robot_description: it is empty"),
            ("robots/arm.urdf", "is that a path"),
            (ARM.replace('value="2.0"', 'value="-2.0"'), "negative mass"),
        ],
    )
    @pytest.mark.parametrize("cached", [True, False])
    def test_errors_are_the_same_from_a_process_and_from_here(self, empty_cache, monkeypatch, text, reason, cached):
        from rbd_dynamics.nodes.managed.description_text import BuildError

        if not cached:
            monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", "")
        with pytest.raises(BuildError, match=reason):
            build_of(text, in_use=True, said=[]).run()

    @pytest.mark.parametrize("name", ["feedforward", "guard", "monitor", "dynamics_server", "simulator"])
    def test_kernels_are_counted_up_to_the_last(self, name):
        from rbd_dynamics.nodes.interface.every import interface_of

        module = importlib.import_module(f"rbd_dynamics.nodes.{name}")
        (node,) = (
            found for key, found in vars(module).items() if key.endswith("Node") and found.__module__ == module.__name__
        )
        said = []
        node.build(load_urdf(ARM), interface_of(name).parameter_set(), lambda *kernel: said.append(kernel))
        counts = [(k, count) for _, k, count in said]
        assert counts
        while counts:  # one series after the other, each up to its end
            most = counts[0][1]
            assert counts[:most] == [(k, most) for k in range(1, most + 1)]
            del counts[:most]

    def test_what_libraries_print_is_no_message(self, empty_cache, tmp_path, monkeypatch):
        from rbd_dynamics.nodes.building.build_process import BuildProcess, Work
        from rbd_dynamics.nodes.interface.feedforward import FeedforwardParameters

        (tmp_path / "talkative.py").write_text(
            "import os\nfrom rbd_dynamics.nodes.feedforward import FeedforwardNode\n\n"
            "def make(model, params, progress):\n"
            "    os.write(1, b'something to say')\n"
            "    return FeedforwardNode.build(model, params, progress)\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        said = []
        work = Work(ARM, FeedforwardParameters(), "talkative", "make")
        process = BuildProcess(work, lambda *kernel: said.append(kernel), said.append, in_use=False)
        assert process.run() == load_urdf(ARM) and said == [("feedforward", 1, 1)]


class Work:
    """A build that ends when the test says so."""

    def __init__(self, text):
        self.text, self.done, self.calls = text, False, []

    def __getattr__(self, name):
        return lambda: self.calls.append(name)


@needs_ros[0]
def test_one_description_is_built_at_a_time_and_the_latest_counts():
    from rbd_dynamics.nodes.building.build_queue import BuildQueue

    queue = BuildQueue(Work)
    queue.take("first")
    first = queue.under_way
    assert first.calls == ["start"] and queue.finished() is None
    for text in ("second", "third"):  # more than one may come before the first has ended
        queue.take(text)
    assert queue.under_way is first and set(first.calls) == {"start", "cancel"} and queue.finished() is None
    first.done = True
    assert queue.finished() is None
    third = queue.under_way
    assert (third.text, third.calls) == ("third", ["start"])
    third.done = True
    assert queue.finished() is third and queue.finished() is None and queue.under_way is None
    queue.take("fourth")
    fourth = queue.under_way
    queue.drop()
    assert fourth.calls == ["start", "cancel"] and queue.under_way is fourth
    fourth.done = True
    assert queue.finished() is None and queue.under_way is None
    queue.take("fifth")
    fifth = queue.under_way
    queue.take("sixth")
    queue.abandon()
    fifth.done = True
    assert fifth.calls[-1] == "abandon" and queue.under_way is None and queue.finished() is None
