# SPDX-License-Identifier: Apache-2.0
"""The recipes of CONTRIBUTING.md, followed to the letter: the code there is put where it says, and works."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.checks.oracles import assert_close, derivative
from helpers.models.arms import ARM, JOINTS
from helpers.nodes.ros_nodes import Ros, joint_state, needs_ros, wait_until
from helpers.paths import ROOT
from helpers.recorded import recordings
from helpers.recorded.bags import Content, needs_rosbags, write_ros2

import rbd_dynamics as rbd
from rbd_dynamics.constraints import ConstraintSet, constraints_to_dict, load_constraints

RECIPES = (ROOT / "CONTRIBUTING.md").read_text().partition("## Recipes")[2].partition("\n## ")[0]


def code_of(title: str) -> list[str]:
    """The blocks of Python below a recipe's title."""
    recipe = RECIPES.partition(f"**{title}**")[2].partition("\n**")[0]
    found = re.findall(r"```python\n(.*?)```", recipe, re.DOTALL)
    assert found, f"no code for {title}"
    return found


@pytest.fixture
def file_of(tmp_path, monkeypatch):
    """Makes a recipe's code a file, and imports it."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(title: str):
        (code,) = code_of(title)
        name = "recipe_" + title.replace(" ", "_").lower()
        (tmp_path / f"{name}.py").write_text(code)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return make


def put_before(file: Path, places: dict[str, str]) -> None:
    """{text that is there once: what is put before it}."""
    text = file.read_text()
    for place, code in places.items():
        assert text.count(place) == 1, place
        text = text.replace(place, code + place)
    file.write_text(text)


def model_with(joint: dict[str, object]) -> rbd.Model:
    """One link with mass, off the joint's axis, from a dictionary as a file would have it."""
    inertia = {"mass": 2.0, "com": [0.1, 0.0, -0.2], "inertia_at_com": [0.1, 0.0, 0.0, 0.2, 0.0, 0.1]}
    body = {"name": "link", "joint": {"name": "joint", **joint}, "inertia": inertia}
    return rbd.model_from_dict({"format": "rbd_dynamics model", "version": 1, "bodies": [body]})


def test_a_joint_kind_is_one_file(file_of):
    swing = file_of("A joint kind").Swing
    model = model_with({"type": "swing", "length": 1.5})
    assert model.joints[0].kind == swing(1.5)
    assert rbd.model_from_dict(json.loads(json.dumps(rbd.model_to_dict(model)))) == model
    robot, revolute = rbd.Robot(model), rbd.ModelBuilder("the same, as a hinge above")
    placed = {"placement": (0.0, 0.0, -1.5), "mass": 2.0, "com": (0.1, 0.0, -0.2)}
    revolute.add_body("arm", None, rbd.joints.Revolute((0.0, -1.0, 0.0)))
    revolute.add_fixed("seat", "arm", inertia=(0.1, 0.0, 0.0, 0.2, 0.0, 0.1), **placed)
    hinge = rbd.Robot(revolute.build())
    q, v, a = np.array([0.4]), np.array([1.3]), np.array([-0.7])
    assert_close(robot.inverse_dynamics(q, v, a), hinge.inverse_dynamics(q, v, a), 1e-12)
    for ours, theirs in zip(robot.inverse_dynamics_derivatives(q, v, a), hinge.inverse_dynamics_derivatives(q, v, a)):
        assert_close(ours, theirs, 1e-11)


def test_a_passive_force_is_one_file(file_of):
    drag = file_of("A passive force").AirDrag
    model = model_with({"type": "revolute", "passive": [{"type": "air drag", "coefficient": 0.5}]})
    assert model.joints[0].passive == (drag(0.5),)
    assert rbd.model_from_dict(rbd.model_to_dict(model)) == model
    bare, robot = rbd.Robot(model), rbd.Robot(model, friction=True)
    q, v, a = np.array([0.4]), np.array([-2.0]), np.array([0.3])
    assert_close(robot.inverse_dynamics(q, v, a) - bare.inverse_dynamics(q, v, a), np.array([-2.0]), 1e-12)
    assert_close(
        robot.forward_dynamics_derivatives(q, v, a)[1],
        derivative(lambda t: robot.forward_dynamics(q, v + t, a))[:, None],
        1e-7,
    )


def test_a_constraint_kind_is_one_file(file_of):
    sphere = file_of("A constraint kind").OnSphereAbout
    model = rbd.load_urdf(ARM)
    tool = model.frame_names[-1]
    text = f"[{{name: held, type: on sphere about, frame: {tool}, radius: 0.6}}]"
    held = load_constraints(text, model)
    assert held.constraints == (sphere("held", tool, radius=0.6),)
    assert load_constraints(constraints_to_dict(held), model).constraints == held.constraints
    robot = rbd.Robot(model)
    as_built_in = ConstraintSet(model, [rbd.constraints.DistanceConstraint("held", tool, distance=0.6)])
    q = robot.project_configuration(np.array([0.3, 0.5, 0.7]), held)
    v = robot.constraint_impulse(q, np.array([1.0, -0.5, 0.3]), held)[0]
    tau = np.array([1.0, 2.0, -1.0])
    for name in ("constrained_forward_dynamics", "constrained_forward_dynamics_derivatives"):
        ours, theirs = (getattr(robot, name)(q, v, tau, of) for of in (held, as_built_in))
        assert_close(ours[0], theirs[0], 1e-9)


@pytest.fixture
def copy(tmp_path):
    """Of the package, to be changed."""
    package = tmp_path / "copy" / "rbd_dynamics"
    shutil.copytree(ROOT / "rbd_dynamics", package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def check_blade() -> None:
    """Glides along its first tangent: by itself, with others, in dynamics, in steps of time, and of shapes.

    In a process of its own, where the package has the law.
    """
    import importlib.util

    import numpy as np
    import pytest

    import rbd_dynamics as rbd
    from rbd_dynamics.collisions import read_collisions
    from rbd_dynamics.contacts import CONES, Contact, ContactSet, ContactSolver, solve_contacts
    from rbd_dynamics.joints import Prismatic
    from rbd_dynamics.simulation import Simulation, SimulationOptions

    assert CONES == ("elliptic", "blade", "pyramidal")
    with pytest.raises(ValueError, match="cone 'flat' is not one of elliptic, blade, pyramidal"):
        solve_contacts(np.eye(3), np.zeros(3), [0.5], cone="flat")
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(1, 5))
        rows, mu = rng.normal(size=(3 * n, int(rng.integers(3, 9)))), rng.uniform(0.0, 1.0, n)
        G, free = rows @ rows.T, rows @ rng.normal(size=rows.shape[1])
        forces, u, _, converged = solve_contacts(G, free, mu, cone="blade")
        in_python = ContactSolver(n, cone="blade", machine_code=False)
        in_python.delassus[:], in_python.free[:], in_python.friction[:] = G, free, mu
        assert converged and in_python.solve(least=True)
        small = 1e-8 * (1.0 + np.abs(forces).max())
        np.testing.assert_allclose(in_python.forces.reshape(n, 3), forces, rtol=0.0, atol=small)
        normal, along, across = forces.T
        assert min(normal.min(), u[:, 0].min()) > -small and np.abs(along).max() < small
        assert (np.abs(across) < mu * normal + small).all()
        assert np.abs(normal * u[:, 0]).max() < 10.0 * small, "no force where it leaves"
        assert np.abs(across * u[:, 2] + mu * normal * np.abs(u[:, 2])).max() < 10.0 * small, "against the motion"

    builder, parent = rbd.ModelBuilder("skate"), None
    for name, axis in zip(("along", "across", "blade"), np.eye(3)):
        builder.add_body(name, parent, Prismatic(tuple(axis)), mass=0.5)
        parent = name
    model, q, still = builder.build(), np.array([0.0, 0.0, 0.01]), np.zeros(3)
    contact = Contact("blade", "blade", radius=0.01, friction_coefficient=0.1)
    robot, ice = rbd.Robot(model), ContactSet(model, [contact], cone="blade")
    weight = -robot.forward_dynamics(q, still, still)[2] * 0.5  # on the blade; 1 kg moves across, 1.5 kg along
    held = robot.contact_forward_dynamics(q, still, [3.0, 0.3, 0.0], ice)
    np.testing.assert_allclose(held.a, [2.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(held.forces, [[weight, 0.0, -0.3]], atol=1e-9)
    sliding = robot.contact_forward_dynamics(q, [1.0, 0.2, 0.0], still, ice)
    np.testing.assert_allclose(sliding.a, [0.0, -0.1 * weight, 0.0], atol=1e-9)
    needed = robot.contact_inverse_dynamics(q, [1.0, 0.2, 0.0], sliding.a, ice, actuated=[True, False, False])
    assert needed.feasible
    np.testing.assert_allclose(needed.forces, sliding.forces, atol=1e-6)
    options = SimulationOptions(step=1e-3, start_braked=False, effort_limits=False)
    simulation = Simulation(model, q=q, options=options, contacts=ice)
    simulation.v = np.array([1.0, 0.2, 0.0])
    for speed in (0.2 - 0.01 * weight, 0.0):
        simulation.advance(100 if speed else 900)
        np.testing.assert_allclose(simulation.v, [1.0, speed, 0.0], atol=1e-9)
    if importlib.util.find_spec("coal"):
        floor = {"name": "floor", "frame": "world", "type": "plane"}
        ball = {"name": "ball", "frame": "blade", "type": "sphere", "size": [0.01]}
        shapes = read_collisions({"shapes": [floor, ball], "friction_coefficient": 0.1, "cone": "blade"}, model)
        pushed = robot.contact_forward_dynamics(q, still, [0.3, 0.3, 0.0], shapes)
        assert np.abs(pushed.forces[0, 1]) < 1e-9 < 0.1 < np.abs(pushed.forces[0, 2])


def test_a_contact_law_is_a_file_and_its_place_in_the_list(copy, tmp_path):
    law, entry = code_of("A contact law")
    laws = copy / "contacts" / "laws"
    (laws / "blade.py").write_text(law)
    imported = "from rbd_dynamics.contacts.laws.blade import Blade\n"
    put_before(laws / "__init__.py", {"    Pyramidal(),\n": entry, "from rbd_dynamics.contacts.laws.pyr": imported})
    done = subprocess.run(
        [sys.executable, "-c", f"{inspect.getsource(check_blade)}\ncheck_blade()"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(copy.parent)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def replayed(copy: Path, run: Path, *options: str) -> tuple[dict[str, Any], str]:
    """(summary.json, the terminal's lines) of a replay by a copy of the package, which leaves out/ beside the run."""
    (run.parent / "arm.urdf").write_text(recordings.URDF)
    command = ["replay", str(run), "--urdf", "arm.urdf", "-o", "out", "--formats", "html", "--no-external-torque"]
    done = subprocess.run(
        [sys.executable, "-m", "rbd_dynamics", *command, *options],
        cwd=run.parent, env={**os.environ, "PYTHONPATH": str(copy.parent)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads((run.parent / "out" / "summary.json").read_text()), done.stdout


@needs_rosbags
def test_a_question_to_a_recording_is_a_file_and_its_place_in_the_list(copy, tmp_path):
    """Asked on the command line."""
    question, field, entry = code_of("A question to a recording")
    (copy / "replay" / "questions" / "reach.py").write_text(question)
    places = {"    energy: bool = True\n": field, "    DiagnosisQuestion(),\n": entry}
    places["from rbd_dynamics.replay.questions.payload"] = (
        "from rbd_dynamics.replay.questions.reach import ReachQuestion\n"
    )
    put_before(copy / "replay" / "questions" / "__init__.py", places)
    summary, said = replayed(copy, recordings.bag(tmp_path / "run"), "--reach")
    assert summary["questions"]["reach"] is True and list(summary["reach"]["span"]) == summary["robot"]["joints"]
    assert list(summary["reach"]["span"].values()) == pytest.approx([2.0, 2.0], rel=0.01), "sines of 1 rad"
    assert "Moved: " in said and "<h2>Reach</h2>" in (tmp_path / "out" / "report.html").read_text()


@needs_rosbags
def test_a_cause_in_the_diagnosis_is_a_file_and_its_place_in_the_list(copy, tmp_path):
    """Found where the recorded elbow has a spring of 4 N m/rad, and nowhere else."""
    cause, entry = code_of("A cause in the diagnosis")
    causes = copy / "replay" / "diagnosis" / "causes"
    (causes / "spring.py").write_text(cause)
    imported = "from rbd_dynamics.replay.diagnosis.causes.spring import Spring\n"
    put_before(causes / "__init__.py", {"    DELAY,\n": entry, "\n__all__": imported})
    sprung = [replace(one, effort=one.effort + one.position * (0.0, 4.0)) for one in recordings.messages()]
    content = Content({"/joint_states": sprung}, {"/robot_description": recordings.URDF})
    summary, said = replayed(copy, write_ros2(tmp_path / "run", content))
    shoulder, elbow = summary["diagnosis"]["joints"]
    assert shoulder["causes"] == []
    assert elbow["causes"][0]["name"] == "spring" and elbow["causes"][0]["share"] > 0.9
    (stiffness,) = elbow["causes"][0]["estimates"]
    assert (stiffness["name"], stiffness["unit"]) == ("stiffness", "N m/rad")
    assert stiffness["value"] == pytest.approx(4.0, rel=0.02)
    assert "a spring that the description lacks" in " ".join(said.split())
    assert "spring 100 %, stiffness 4" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.ros
@pytest.mark.skipif(needs_ros[1].args[0], reason="needs ROS 2")
def test_a_service_is_an_entry_and_a_function(copy, tmp_path):
    from rbd_dynamics_interfaces.srv import InverseDynamics

    entry, function = code_of("A service")
    put_before(copy / "nodes" / "interface" / "dynamics_server.py", {"        SET_PAYLOAD,\n": entry})
    answers = copy / "nodes" / "server" / "dynamics_services.py"
    answers.write_text(answers.read_text() + "\n\n" + function)
    robot, q = rbd.Robot(rbd.load_urdf(ARM)), np.array([0.3, -0.2, 0.6])
    with Ros(tmp_path) as ros, ros.start("dynamics_server", {"robot_description": ARM}, package=copy.parent) as node:
        node.is_active()
        call = ros.client(InverseDynamics, "dynamics_server/rest_efforts")
        answer = call(InverseDynamics.Request(joint_names=JOINTS, positions=q.tolist()))
        assert answer.success, answer.message
        assert_close(np.array(answer.efforts), robot.gravity(q), 1e-12)


@pytest.mark.ros
@pytest.mark.skipif(needs_ros[1].args[0], reason="needs ROS 2")
def test_a_node_is_two_files_and_its_name_in_the_table(copy, tmp_path):
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64

    for file, code in zip(
        (copy / "nodes" / "interface" / "energy.py", copy / "nodes" / "energy.py"), code_of("A node")
    ):
        file.write_text(code)
    table = copy / "common" / "node_table.py"
    table.write_text(table.read_text().replace("NODES = (\n", 'NODES = (\n    "energy",\n'))
    for folder in ("docs", "config/security", "launch"):
        (copy.parent / folder).mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "rbd_dynamics.nodes.reference"], cwd=copy.parent, check=True)
    assert "## energy\n" in (copy.parent / "docs" / "nodes.md").read_text()
    assert "kinetic: true" in (copy.parent / "config" / "energy.yaml").read_text()
    assert 'launch_node("energy", "energy.yaml")' in (copy.parent / "launch" / "energy.launch.py").read_text()
    robot, q, v = rbd.Robot(rbd.load_urdf(ARM)), np.array([0.3, -0.2, 0.6]), np.array([1.0, -0.5, 0.3])
    with Ros(tmp_path) as ros, ros.start("energy", {"robot_description": ARM}, package=copy.parent) as node:
        states = ros.publisher(JointState, "joint_states", qos_profile_sensor_data)
        heard = ros.collect(Float64, "energy/energy")
        node.is_active()
        alone, kinetic = robot.potential_energy(q), robot.kinetic_energy(q, v)

        def is_said(energy):
            states.publish(joint_state(JOINTS, q, v, stamp=1))
            time.sleep(0.01)
            return heard and abs(heard[-1].data - energy) < 1e-12 * abs(energy)

        wait_until(lambda: is_said(alone + kinetic), "the energy")
        assert ros.set_parameters("energy", kinetic=False)[0].successful
        wait_until(lambda: is_said(alone), "the potential energy")
