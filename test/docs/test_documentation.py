# SPDX-License-Identifier: Apache-2.0
"""What the documentation shows in Python runs, and the tour of the library leaves nothing out."""

from __future__ import annotations

import inspect
import re
import shutil
import warnings

import pytest
from helpers.models.robots import load_robot, needs_pinocchio, robot_file
from helpers.paths import ROOT
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.analysis import operational_space, sensitivity
from rbd_dynamics.compiler import backends
from rbd_dynamics.theory import closed_forms, screws

MARKDOWN = ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md"))]
# the first two need a recording; test_recipes.py puts the code of the last one where it says
NOT_RUN = {"docs/replay.md", "docs/identification.md", "CONTRIBUTING.md"}
#: these compute for so long that compiling is the shorter way, all but the first too long for each run of the tests
COMPUTES = {"docs/library.md", "docs/excitation.md", "docs/tuning.md", "docs/learning.md"}
LONG = COMPUTES - {"docs/library.md"}
#: other libraries that a page uses
USES = {"docs/learning.md": ("jax", "casadi")}
PAGES = [page for page in MARKDOWN if "```python" in (ROOT / page).read_text() and page not in NOT_RUN]


def python_blocks(page):
    """The code of a page, each block at its own line, so that errors tell where."""
    text = (ROOT / page).read_text()
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
        yield "\n" * text.count("\n", 0, block.start(1)) + block[1]


@needs_pinocchio
@pytest.mark.parametrize("page", table(PAGES, lambda page: page not in LONG))
def test_python_of_the_page_runs(page, tmp_path, monkeypatch):
    for package in USES.get(page, ()):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    if page not in COMPUTES:
        monkeypatch.setattr(backends, "best_backend", lambda: "reference")  # nothing to compile
    shutil.copy(robot_file("ur5_robot"), "robot.urdf")
    blocks, names = list(python_blocks(page)), {}
    assert blocks
    for block in blocks:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(block, page, "exec", dont_inherit=True), names)


@needs_pinocchio
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ["panda", "kinova", "double_pendulum_continuous", "tiago_pro", "talos_full_v2"])
def test_calls_that_are_said_to_be_the_same_are(name, base, tmp_path, monkeypatch):
    """Of continuous and mimic joints, many branches, floating bases."""
    import pinocchio as pin

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(backends, "best_backend", lambda: "reference")
    shutil.copy(robot_file("ur5_robot"), "robot.urdf")
    page = {}
    for block in python_blocks("docs/pinocchio.md"):
        exec(compile(block, "docs/pinocchio.md", "exec", dont_inherit=True), page)
    robot = rbd.Robot(load_robot(name, base))
    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    theirs = pin.buildModelFromUrdf(str(robot_file(name)), *root)
    page["check"](robot, theirs, robot.model.body_names[-1])


@needs_pinocchio
def test_the_page_has_every_function_of_pinocchio():
    """With its counterpart, or that there is none; methods that it names exist."""
    import pinocchio as pin

    text = (ROOT / "docs" / "pinocchio.md").read_text()
    functions = [name for name in dir(pin) if not name.startswith("_") and callable(getattr(pin, name))]
    missing = [name for name in functions if not inspect.isclass(getattr(pin, name)) and f"`{name}" not in text]
    assert missing == []
    named = set(re.findall(r"`robot\.(\w+)", text))
    assert len(named) > 30 and [name for name in named if not hasattr(rbd.Robot, name)] == []


def test_the_tour_has_everything():
    tour = (ROOT / "docs" / "library.md").read_text()
    methods = [each for each in inspect.getmembers(rbd.Robot, inspect.isfunction) if not each[0].startswith("_")]
    current = [name for name, method in methods if not (method.__doc__ or "").startswith("Deprecated")]
    missing = [name for name in current if f"robot.{name}(" not in tour]
    for module in (operational_space, sensitivity):
        own = [name for name, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
        missing += [name for name in own if not name.startswith("_") and f".{name}(" not in tour]
    for package in (screws, closed_forms):
        results = [name for name in package.__all__ if isinstance(getattr(package, name), type)]
        missing += [n for n in package.__all__ if n not in results and f".{n}(" not in tour]
    # of the control laws and of `Constrained`, for those who write algorithms
    assert missing == ["body_wrenches", "constrained_kernel", "evaluation"]


@pytest.mark.parametrize("page", MARKDOWN)
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http://", "https://")):
            assert ((ROOT / page).parent / target).exists(), target
