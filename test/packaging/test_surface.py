# SPDX-License-Identifier: Apache-2.0
"""What users see: names where they are looked for, imported when they are used, options that cannot be confused."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.models.arms import ARM

import rbd_dynamics as rbd
from rbd_dynamics.common.node_table import NODES

ROOT = Path(rbd.__file__).parent
#: rooms whose `__init__` says what users use
ROOMS = ["rbd_dynamics"] + [
    f"rbd_dynamics.{name}"
    for name in sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
    if name not in ("algorithms", "cli", "common", "compiler", "demo", "nodes", "screws")
]
PARTS = ["model.joints", "replay.fleet", "replay.identification", "replay.reading", "replay.report"]
PARTS += ["theory.closed_forms", "theory.screws"]
PARTS = [f"rbd_dynamics.{name}" for name in PARTS]
HEAVY = ["scipy", "matplotlib", "plotly", "trimesh", "rosbags", "rclpy", "pyarrow", "dask", "rich", "llvmlite"]
LATE = [
    "actuators",
    "analysis",
    "control",
    "demo",
    "joint_states",
    "nodes",
    "replay",
    "simulation",
    "theory",
]


def is_on_demand(package: str) -> bool:
    return "on_demand(__name__)" in Path(importlib.import_module(package).__file__).read_text()


ON_DEMAND = [package for package in ROOMS + PARTS if is_on_demand(package)]


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- names --------------------------------------------------------------------------------------------


def loaded_by(code: str) -> set[str]:
    """Modules that a fresh process has imported in the end; what the code prints does not count."""
    shown = f"import sys\n{code}\nprint(chr(10) + 'LOADED', *sys.modules, file=sys.__stdout__)"
    return set(in_a_fresh_process(shown).partition("\nLOADED ")[2].split())


def heavy_of(loaded: set[str], *allowed: str) -> set[str]:
    return {name.partition(".")[0] for name in loaded} & (set(HEAVY) - set(allowed))


def test_importing_the_package_imports_nothing_heavy():
    loaded = loaded_by("import rbd_dynamics")
    assert not heavy_of(loaded) and "numpy" not in loaded
    assert not loaded & {f"rbd_dynamics.{room}" for room in (*LATE, "model", "robot", "compiler")}


def test_a_call_imports_no_more_than_it_needs():
    code = (
        "import rbd_dynamics as rbd; from rbd_dynamics.model.joints import Revolute\n"
        "builder = rbd.ModelBuilder('pendulum')\n"
        "builder.add_body('bob', None, Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -1))\n"
        "rbd.Robot(builder.build()).inverse_dynamics([0.1], [0.0], [0.0])"
    )
    assert not heavy_of(loaded_by(code), "llvmlite")


def test_the_command_line_starts_without_what_it_may_not_need(tmp_path):
    loaded = loaded_by("from rbd_dynamics.cli import main\ntry:\n  main(['--help'])\nexcept SystemExit:\n  pass")
    assert "rbd_dynamics.cli.arguments" in loaded
    assert not heavy_of(loaded) and "numpy" not in loaded
    (tmp_path / "robot.urdf").write_text(ARM)
    info = f"from rbd_dynamics.cli import main; main(['info', {str(tmp_path / 'robot.urdf')!r}"
    assert not heavy_of(loaded_by(info + "])"), "rich")
    loaded = loaded_by(info + ", '--json'])")
    assert not heavy_of(loaded) and "rbd_dynamics.compiler" not in loaded


@pytest.mark.ros
@pytest.mark.parametrize("node", NODES)
def test_a_node_starts_without_what_it_may_not_need(node):
    pytest.importorskip("rclpy")
    loaded = loaded_by(f"import rbd_dynamics.nodes.{node}")
    assert "rclpy" in loaded
    assert not heavy_of(loaded, "rclpy")
    others = {*NODES} - {node}
    assert not loaded & {f"rbd_dynamics.nodes.interface.{other}" for other in others}


@pytest.mark.parametrize("name", ["analysis", "base_parameters", "control", "operational_space", "replay", "spatial"])
def test_a_name_is_reachable_from_the_package_alone(name):
    code = f"import rbd_dynamics as rbd; assert {name!r} in dir(rbd); print(rbd.{name}.__name__)"
    assert in_a_fresh_process(code).strip().rpartition(".")[2] == name


@pytest.mark.parametrize("package", ROOMS + PARTS)
def test_a_room_says_what_it_has(package):
    room = importlib.import_module(package)
    assert len(room.__doc__.strip()) > 40
    assert len(set(room.__all__)) == len(room.__all__)
    for name in room.__all__:
        assert getattr(room, name) is not None
        assert name in dir(room)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = room.no_such_name


@pytest.mark.parametrize("package", ON_DEMAND)
def test_what_type_checkers_see_is_what_there_is(package):
    room = importlib.import_module(package)
    tree = ast.parse(Path(room.__file__).read_text())
    late = [node for block in tree.body if isinstance(block, ast.If) for node in block.body]
    names = {part.name: node.module for node in late for part in node.names}
    assert names and set(names) <= set(room.__all__)
    modules = {module.name for module in pkgutil.iter_modules(room.__path__)}
    for name, module in names.items():
        if module == package:
            assert getattr(room, name) is importlib.import_module(f"{package}.{name}")
        else:
            assert getattr(room, name) is getattr(importlib.import_module(module), name)
            assert name not in modules, "importing that module would hide the name"


# --- options ------------------------------------------------------------------------------------------

#: what may have a default and be positional: {qualified name, or its class: why}
POSITIONAL = {
    "rbd_dynamics.model.joints": "a kind is read as its direction, Revolute((0, 0, 1))",
    "Sphere": "a surface is read as its size, Sphere(0.5)",
    "Cylinder": "a surface is read as its size, Cylinder(0.5)",
    "ImplicitSurface": "a surface is read as its function",
    "Quadric": "coefficients in the order of the equation",
    "PairConstraint": "a pair is a frame and its reference, FrameConstraint('grip', 'tool0', 'hand')",
    "placement": "xyz, rpy as in a URDF's <origin>",
    "JointCoupling": "the coefficients are what it is",
    "ModelBuilder": "its name",
    "Robot.inverse_kinematics": "a pose and where the search for it begins",
    "Reaching": "how many there are, as Gymnasium gives it",
    "Model.random": "its seed, as of numpy.random.default_rng",
    "Simulation.advance": "its number of steps",
    "DrivenSimulation.advance": "its number of steps",
    "layout_of": "bytes and their encoding, as of bytes.decode",
}


def positional_defaults(function) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.default is not p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]


def public_callables():
    """(qualified name, callable, short names: with those of bases) of all that the rooms offer, each once."""
    modules = [importlib.import_module(name) for name in ROOMS + PARTS]
    modules += [getattr(rbd.analysis, name) for name in rbd.analysis.__all__] + [rbd.passive_forces]
    seen = set()
    for module in modules:
        for name in getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]:
            found = getattr(module, name)
            if not callable(found) or found in seen or not is_ours(found):
                continue
            seen.add(found)
            qualified = f"{found.__module__}.{name}"
            if not inspect.isclass(found):
                yield qualified, found, {name}
                continue
            bases = [base.__name__ for base in found.__mro__]
            if not issubclass(found, (tuple, Exception)):  # a named tuple's fields have an order
                yield qualified, found, set(bases)
            for method, function in inspect.getmembers(found, callable):
                if not method.startswith("_") and is_ours(function) and not inspect.isclass(function):
                    yield f"{qualified}.{method}", function, {f"{base}.{method}" for base in bases}


def is_ours(thing) -> bool:
    return (getattr(thing, "__module__", None) or "").startswith("rbd_dynamics")


def test_options_are_keyword_only():
    """An option given by its place is taken for another: `robot.gravity(q, v)` would overwrite v."""
    found = list(public_callables())
    assert len(found) > 300
    wrong, used = [], set()
    for name, function, short in found:
        if names := positional_defaults(function):
            exceptions = {key for key in POSITIONAL if key in short or name.startswith(f"{key}.")}
            used |= exceptions
            wrong += [] if exceptions else [f"{name}: {', '.join(names)}"]
    assert not wrong
    assert used == set(POSITIONAL), "an exception that nothing needs"


@pytest.mark.parametrize("name", ["to_dict", "to_urdf", "write_urdf", "show"])
def test_a_method_that_became_a_function_still_works_and_tells_the_caller(name, tmp_path):
    model = rbd.load_urdf(ARM)
    path = tmp_path / "arm.urdf"
    given = (path,) if name == "write_urdf" else ()
    function = getattr(rbd, {"to_dict": "model_to_dict", "to_urdf": "model_to_urdf"}.get(name, name))
    for owner in (model, rbd.Robot(model, backend="reference")) if name == "show" else (model,):
        with pytest.warns(DeprecationWarning, match=rf"{name} is now rbd_dynamics\.{function.__name__}") as caught:
            answer = getattr(owner, name)(*given)
        assert caught[0].filename == __file__
        expected = function(owner, *given)
        assert (answer.html, answer.scene) == (expected.html, expected.scene) if name == "show" else answer == expected
    assert name != "write_urdf" or path.read_text() == rbd.model_to_urdf(model)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("control.hybrid_stability", "control.hybrid.stability", "Plant"),
        ("constraints.montana", "theory.montana", "contact_rates"),
        ("closed_forms", "theory.closed_forms", "PoeKinematics"),
        ("screws", "theory.screws", "Screw"),
        ("screws.planar", "theory.screws.planar", "inertia"),
    ],
)
def test_a_module_that_moved_still_works_and_tells_the_caller(old, new, name):
    old, new = importlib.import_module(f"rbd_dynamics.{old}"), importlib.import_module(f"rbd_dynamics.{new}")
    with pytest.warns(DeprecationWarning, match=re.escape(f"{old.__name__} is now {new.__name__}")) as caught:
        found = getattr(old, name)
    assert found is getattr(new, name)
    assert caught[0].filename == __file__


def test_rooms_that_moved_are_found_from_the_package_alone():
    code = "import rbd_dynamics as rbd; rbd.screws.Screw, rbd.closed_forms.PoeKinematics"
    assert not in_a_fresh_process(f"import warnings; warnings.simplefilter('ignore'); {code}")
    assert not {"closed_forms", "screws"} & set(rbd.__all__)


#: what may take any keyword: {name: why}
OPEN = {
    "ConstraintSet.changed": "the fields of whatever constraint it is, as of dataclasses.replace",
    "Motor.of_voltage": "other fields of the motor",
    "BoundModel.show": "deprecated: options of `show`",
    "Model.show": "deprecated: options of `show`",
}


def test_options_have_names_and_types():
    """`**options: Any` is no signature: an editor completes nothing, a type checker sees nothing."""
    wrong, used = [], set()
    for name, function, short in public_callables():
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        if any(p.kind is p.VAR_KEYWORD for p in parameters) and not getattr(function, "_is_protocol", False):
            exceptions = set(OPEN) & short
            used |= exceptions
            wrong += [] if exceptions else [name]
    assert not wrong
    assert used == set(OPEN), "an exception that nothing needs"


#: methods of `Robot` that stand for those of the robot under constraints or in contact
STANDS_FOR = {
    **{name: (rbd.Robot.constrained, rest) for name, rest in {
        "constraint_rows": "rows",
        "constrained_forward_dynamics": "forward_dynamics",
        "constrained_forward_dynamics_derivatives": "forward_dynamics_derivatives",
        "constrained_hybrid_dynamics": "hybrid_dynamics",
        "constrained_hybrid_dynamics_derivatives": "hybrid_dynamics_derivatives",
        "constrained_inverse_dynamics": "inverse_dynamics",
        "constrained_inverse_dynamics_derivatives": "inverse_dynamics_derivatives",
        "constraint_impulse": "impulse",
        "constraint_impulse_derivatives": "impulse_derivatives",
        "force_projection": "force_projection",
        "project_configuration": "project_configuration",
        "constraint_wrenches": "wrenches",
    }.items()},
    **{f"contact_{rest}": (rbd.Robot.in_contact, rest) for rest in ("forward_dynamics", "inverse_dynamics", "impulse")},
}  # fmt: skip


def of_sets() -> list[str]:
    """Methods of `Robot` that take constraints or contacts and compute something."""
    methods = inspect.getmembers(rbd.Robot, inspect.isfunction)
    about = {name for name, f in methods if {"constraints", "contacts"} & set(inspect.signature(f).parameters)}
    return sorted(about - {"constrained", "compile_constrained", "constrained_kernel", "in_contact"})


@pytest.mark.parametrize("name", of_sets())
def test_a_method_for_sets_passes_all_its_options_on(name):
    bind, rest = STANDS_FOR[name]
    what = "constraints" if bind is rbd.Robot.constrained else "contacts"
    bound = importlib.import_module(inspect.getmodule(bind).__name__)
    cls = bound.Constrained if what == "constraints" else bound.ContactDynamics
    own, theirs = (inspect.signature(f).parameters for f in (getattr(rbd.Robot, name), getattr(cls, rest)))
    assert {k: (p.kind, p.default, p.annotation) for k, p in own.items() if k != what} == {
        k: (p.kind, p.default, p.annotation) for k, p in theirs.items()
    }

    class Bound:
        def __getattr__(self, method):
            return lambda *args, **options: (method, args, options)

    robot, bound = rbd.Robot.__new__(rbd.Robot), Bound()
    setattr(robot, bind.__name__, lambda given: bound)
    values = {k: object() for k in own if k != "self"}
    positional = [v for k, v in values.items() if own[k].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and k != what]
    options = {k: v for k, v in values.items() if own[k].kind is inspect.Parameter.KEYWORD_ONLY}
    assert getattr(robot, name)(**values) == (rest, tuple(positional), options)
