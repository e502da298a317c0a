# SPDX-License-Identifier: Apache-2.0
"""A kernel is what its function computes today: edited kinds, algorithms, laws and constants give the new number.

Small programs are traced at each start, so that this is plain. Here notes are kept of all that there can be notes of.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from unittest import mock

import numpy as np
import pytest
from helpers.models.arms import ARM

import rbd_dynamics
from rbd_dynamics import Robot, joints, load_urdf
from rbd_dynamics.compiler import backends, cache
from rbd_dynamics.compiler.notes import note_of
from rbd_dynamics.compiler.program import Argument, Signature
from rbd_dynamics.kernels.specialise import specialise
from rbd_dynamics.model.joints import JointKind
from rbd_dynamics.model.model import Body, Joint, Model
from rbd_dynamics.spatial.inertia import RigidInertia
from rbd_dynamics.spatial.se3 import Transform

COMPILED = ["llvm", "python"]
EVERY = [*COMPILED, "reference"]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def notes_of_all(monkeypatch):
    monkeypatch.setattr(backends, "LARGE", 0)


@pytest.fixture
def traced(monkeypatch):
    """Counts calls of what traces; no function of Python's, for that would be seen as another's code."""
    watched = mock.Mock(wraps=backends.trace)
    monkeypatch.setattr(backends, "trace", watched)
    return watched


def needs(backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite")


def model_of(kind: JointKind) -> Model:
    return Model("one", (Body("link", -1, Transform.of(), Joint("joint", kind, 0, 0), point_mass()),))


def point_mass() -> RigidInertia:
    return RigidInertia.from_com(2.0, (1.0, 0.0, 0.0), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))


@pytest.mark.parametrize("backend", EVERY)
@pytest.mark.parametrize("attribute", ["damping", "friction"])
def test_friction_is_that_of_the_robot_and_not_of_a_like_one_in_the_cache(backend, attribute):
    needs(backend)
    v = np.array([1.0, 0.5, -0.2])
    once = Robot(load_urdf(ARM), backend=backend).friction_torque(v)
    value = {"damping": "0.4", "friction": "0.6"}[attribute]
    other = load_urdf(ARM.replace(f'{attribute}="{value}"', f'{attribute}="7"'))
    assert Robot(other, backend=backend).friction_torque(v)[0] - once[0] > 5.0


# --- kinds of one's own ---------------------------------------------------------------------------

OWN_KIND = """
from dataclasses import dataclass
from typing import ClassVar

from rbd_dynamics.model.joints import JointKind
from rbd_dynamics.spatial.se3 import Transform

REACH = 1.0


def scaled(q):
    return FACTOR * REACH * q


FACTOR = 1.0


@dataclass(frozen=True)
class Lift(JointKind):
    name: ClassVar[str] = "identity test lift"
    gain: ClassVar[float] = 1.0

    def transform(self, q):
        return Transform((), (0.0, 0.0, self.gain * scaled(q[0])))

    def columns(self, q):
        return ((0.0, 0.0, 0.0, 0.0, 0.0, self.gain * FACTOR * REACH),)
"""

EDITS = {
    "a constant that is read": ("REACH = 1.0", "REACH = 3.0"),
    "a constant that is defined later": ("FACTOR = 1.0", "FACTOR = 3.0"),
    "an attribute of the class": ("gain: ClassVar[float] = 1.0", "gain: ClassVar[float] = 3.0"),
    "code": ("self.gain * FACTOR * REACH)", "3.0 * self.gain * FACTOR * REACH)"),
}


def own_kind(folder: Path, source: str):
    """The class, out of a file, as a new process would find it."""
    (folder / "identity_own_kind.py").write_text(source)
    sys.modules.pop("identity_own_kind", None)
    JointKind.known.pop("identity test lift", None)
    importlib.invalidate_caches()
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    return importlib.import_module("identity_own_kind").Lift


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("backend", EVERY)
def test_an_edited_kind_gives_the_new_torque(backend, edit, tmp_path, monkeypatch):
    needs(backend)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def torque(source):
        return float(Robot(model_of(own_kind(tmp_path, source)()), backend=backend).gravity([0.3])[0])

    assert torque(OWN_KIND) == pytest.approx(19.62)
    assert torque(OWN_KIND.replace(*EDITS[edit])) == pytest.approx(3 * 19.62)
    assert torque(OWN_KIND) == pytest.approx(19.62)


@pytest.mark.parametrize("backend", COMPILED)
def test_a_kind_defined_anew_in_one_session_gives_the_new_torque(backend):
    """As in a notebook: the same names, no file."""
    needs(backend)
    for factor in (1.0, 2.0):
        JointKind.known.pop("identity test again", None)

        @dataclass(frozen=True)
        class Again(joints.Prismatic):
            name: ClassVar[str] = "identity test again"

            def columns(self, q, factor=factor):
                return ((0.0, 0.0, 0.0, 0.0, 0.0, factor),)

        assert Robot(model_of(Again()), backend=backend).gravity([0.0])[0] == pytest.approx(factor * 19.62)


@pytest.mark.parametrize("backend", COMPILED)
def test_kinds_of_one_name_in_one_robot_are_told_apart(backend):
    """As a factory makes them: the same place in the same file, other values closed over."""
    needs(backend)

    def lift(factor):
        class Lift(joints.Prismatic):
            def columns(self, q):
                return ((0.0, 0.0, 0.0, 0.0, 0.0, factor),)

        return Lift()

    for factors in ((1.0, 2.0), (3.0, 2.0), (1.0, 4.0), (1.0, 2.0)):
        bodies = [
            Body(f"link{k}", -1, Transform.of(), Joint(f"joint{k}", lift(factor), k, k), point_mass())
            for k, factor in enumerate(factors)
        ]
        found = Robot(Model("two", tuple(bodies)), backend=backend).gravity([0.0, 0.0])
        np.testing.assert_allclose(found, np.array(factors) * 19.62)


@pytest.mark.parametrize("backend", COMPILED)
def test_what_a_helper_of_a_kind_closes_over_counts(backend):
    """A kind whose method closes over an object, whose class closes over the number."""
    needs(backend)

    def helper(factor):
        class Helper:
            def height(self):
                return factor

        return Helper()

    def lift(own):
        class Lift(joints.Prismatic):
            def columns(self, q):
                return ((0.0, 0.0, 0.0, 0.0, 0.0, own.height()),)

        return Lift()

    for factor in (1.0, 2.0, 1.0):
        found = Robot(model_of(lift(helper(factor))), backend=backend).gravity([0.0])[0]
        assert found == pytest.approx(factor * 19.62)


@pytest.mark.parametrize("backend", COMPILED)
def test_what_a_kind_is_told_besides_its_fields_counts(backend):
    """State that is no field, and no part of the representation."""
    needs(backend)

    class Told(joints.Prismatic):
        def columns(self, q):
            return ((0.0, 0.0, 0.0, 0.0, 0.0, self.factor),)

    for factor in (1.0, 2.0):
        kind = Told()
        object.__setattr__(kind, "factor", factor)
        assert Robot(model_of(kind), backend=backend).gravity([0.0])[0] == pytest.approx(factor * 19.62)


@pytest.mark.parametrize("backend", COMPILED)
def test_what_comes_from_outside_is_looked_at_each_time(backend, tmp_path, traced):
    needs(backend)
    table = tmp_path / "table.txt"

    class FromFile(joints.Prismatic):
        def columns(self, q):
            with open(table) as file:
                return ((0.0, 0.0, 0.0, 0.0, 0.0, float(file.read())),)

    for factor in (1.0, 2.0, 2.0):
        table.write_text(str(factor))
        assert Robot(model_of(FromFile()), backend=backend).gravity([0.0])[0] == pytest.approx(factor * 19.62)
    assert traced.call_count == 3


# --- patched algorithms, kinds and laws -----------------------------------------------------------


@pytest.mark.parametrize("backend", EVERY)
def test_a_patched_algorithm_gives_the_new_torque(backend, monkeypatch):
    from rbd_dynamics.kernels import inputs

    needs(backend)
    state = np.array([[0.3, -0.4, 0.5]] * 3)
    before = Robot(load_urdf(ARM), backend=backend).inverse_dynamics(*state)
    original = inputs.inverse_dynamics
    monkeypatch.setattr(inputs, "inverse_dynamics", lambda *a, **k: [2.0 * x for x in original(*a, **k)])
    np.testing.assert_allclose(Robot(load_urdf(ARM), backend=backend).inverse_dynamics(*state), 2.0 * before)
    monkeypatch.setattr(inputs, "inverse_dynamics", original)
    np.testing.assert_allclose(Robot(load_urdf(ARM), backend=backend).inverse_dynamics(*state), before)


@pytest.mark.parametrize("backend", COMPILED)
def test_a_patched_kind_gives_the_new_torque(backend, monkeypatch):
    needs(backend)
    before = Robot(model_of(joints.Prismatic()), backend=backend).gravity([0.0])
    monkeypatch.setattr(joints.Prismatic, "columns", lambda self, q: ((0.0, 0.0, 0.0, 0.0, 0.0, 2.0),))
    assert Robot(model_of(joints.Prismatic()), backend=backend).gravity([0.0]) == pytest.approx(2.0 * before)


@pytest.mark.parametrize("backend", COMPILED)
def test_a_patched_law_gives_the_new_torque(backend, monkeypatch):
    from rbd_dynamics.control import feedforward

    needs(backend)
    model = load_urdf(ARM)
    q, v, motion, since = np.array([0.3, 0.2, 0.1]), np.zeros(3), np.zeros((6, 3)), np.zeros(1)

    def torque():
        controller = feedforward.Feedforward(Robot(model, backend=backend), effort_limits=[np.inf])
        return controller.compute(q, v, motion, since).copy()

    before = torque()
    original = feedforward.feedforward_torque
    monkeypatch.setattr(
        feedforward, "feedforward_torque", lambda *a: tuple([3.0 * x for x in part] for part in original(*a))
    )
    np.testing.assert_allclose(torque(), 3.0 * before)


# --- functions of one's own -----------------------------------------------------------------------

ONE = Signature((Argument("x", (1,)),), (Argument("y", (1,)),))
SLOPE = FACTOR = DIVISOR = 2.0


def value_of(function, backend):
    kernel = Robot(load_urdf(ARM), backend=backend).custom_kernel("mine", ONE, function)
    return float(kernel(([5.0],))[0])


@pytest.mark.parametrize("backend", EVERY)
def test_a_function_of_ones_own_is_known_by_what_it_computes(backend, monkeypatch):
    needs(backend)

    def line(slope):
        return lambda x: [[slope * x[0]]]

    def reads_constant(x):
        return [[SLOPE * x[0]]]

    def has_default(x, slope=2.0):
        return [[slope * x[0]]]

    assert [value_of(line(slope), backend) for slope in (2.0, 3.0, 2.0)] == [10.0, 15.0, 10.0]
    assert value_of(reads_constant, backend) == 10.0
    monkeypatch.setitem(globals(), "SLOPE", 4.0)
    assert value_of(reads_constant, backend) == 20.0
    assert value_of(has_default, backend) == 10.0
    has_default.__defaults__ = (7.0,)
    assert value_of(has_default, backend) == 35.0


def test_a_function_that_cannot_be_pickled_has_a_kernel():
    class Stubborn:
        def __call__(self, x):
            return [[3.0 * x[0]]]

        def __reduce__(self):
            raise RuntimeError("not here")

    assert value_of(Stubborn(), "python") == 15.0


@pytest.mark.parametrize("backend", EVERY)
def test_constants_of_the_same_value_are_told_apart_by_their_names(backend, monkeypatch):
    needs(backend)

    def by_what_there_is(x):
        try:
            return [[FACTOR * x[0]]]
        except NameError:
            return [[x[0] / DIVISOR]]

    for name, other, expected in (("FACTOR", "DIVISOR", 10.0), ("DIVISOR", "FACTOR", 2.5)):
        monkeypatch.setitem(globals(), name, 2.0)
        monkeypatch.delitem(globals(), other)
        assert value_of(by_what_there_is, backend) == expected


@pytest.mark.parametrize("backend", COMPILED)
def test_the_same_program_under_two_names_is_one_kernel(backend, monkeypatch):
    needs(backend)
    made = []
    for name in ("_source", "emit_python"):
        original = getattr(backends, name)
        monkeypatch.setattr(backends, name, lambda *a, original=original: made.append(1) or original(*a))
    robot = Robot(load_urdf(ARM), backend="python")
    robot.custom_kernel("same", ONE, lambda x: [[x[0] + x[0]]])
    count = len(made)
    robot.custom_kernel("same", ONE, lambda x: [[1.0 * (x[0] + 1.0 * x[0])]])
    assert len(made) == count


# --- starting again -------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", COMPILED)
def test_nothing_is_traced_at_a_second_start(backend, traced):
    """Also control laws and constraints."""
    from rbd_dynamics.constraints import ConstraintSet, SurfaceConstraint
    from rbd_dynamics.control.contact.momentum_observer import MomentumObserver
    from rbd_dynamics.control.feedforward import Feedforward

    needs(backend)

    def start():
        robot = Robot(load_urdf(ARM), backend=backend, friction=True)
        robot.compile("inverse_dynamics", "forward_dynamics_derivatives", f"jacobian:{robot.model.frame_names[-1]}")
        held = ConstraintSet(robot.model, [SurfaceConstraint("table", robot.model.frame_names[-1])])
        robot.compile_constrained(held, "constrained_forward_dynamics")
        MomentumObserver(robot)
        Feedforward(Robot(load_urdf(ARM), backend=backend))

    start()
    assert traced.call_count == 6
    traced.reset_mock()
    start()
    assert traced.call_count == 0


@pytest.mark.parametrize("backend", COMPILED)
def test_nothing_is_traced_of_a_robot_whose_file_lies_elsewhere(backend, traced, tmp_path):
    needs(backend)
    for name in ("here.urdf", "there.urdf"):
        (tmp_path / name).write_text(ARM)
    Robot(load_urdf(tmp_path / "here.urdf"), backend=backend).compile("bias")
    assert traced.call_count == 1
    for model in (load_urdf(tmp_path / "there.urdf"), load_urdf(ARM)):
        Robot(model, backend=backend).compile("bias")
    assert traced.call_count == 1


PROGRAMS = """
import json, sys
from rbd_dynamics import load_urdf
from rbd_dynamics.compiler.program import trace
from rbd_dynamics.kernels.catalog import CATALOG
from rbd_dynamics.kernels.specialise import specialise
model = load_urdf(sys.argv[1], base="floating")
names = [n if e.of == "robot" else f"{n}:{model.frame_names[-1]}" for n, e in CATALOG.items()]
digests = {}
for name in names:
    signature, function = specialise(model, name, friction=True)
    digests[name] = trace(function, signature).digest
print(json.dumps(digests))
"""


def run(code, *arguments, folder=None, **environment):
    """What a new process prints; it imports the package from the folder, if that is given."""
    # an edit within a second that keeps the size of a file would be lost to its bytecode
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
    variables = {**os.environ, **own, **environment}
    answer = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=variables, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_programs_are_the_same_in_every_process():
    """Whatever the seed of Python's hashes."""
    assert run(PROGRAMS, ARM, PYTHONHASHSEED="1") == run(PROGRAMS, ARM, PYTHONHASHSEED="2")


NUMBERS = """
import json, sys
import numpy as np
from rbd_dynamics import ConstraintSet, Robot, constraints, load_urdf
from rbd_dynamics.compiler import backends
from rbd_dynamics.control.feedforward import Feedforward
from rbd_dynamics.simulation.wrench_sensor import WrenchSensor
from unittest import mock

backends.LARGE = 0
backends.trace = mock.Mock(wraps=backends.trace)

model = load_urdf(sys.argv[1])
robot, tool = Robot(model), model.frame_names[-1]
x = np.array([0.3, 0.2, 0.1])
held = ConstraintSet(model, [constraints.DistanceConstraint("rod", tool, distance=0.5)])
results = {
    "dynamics": robot.inverse_dynamics(x, x, x),
    "law": Feedforward(robot).compute(x, x, np.zeros((6, 3)), np.zeros(1)),
    "rows": robot.constraint_rows(x, x, held).A.ravel(),
    "sensor": WrenchSensor(robot, held, tool).wrench(x, np.ones(1)),
    "friction": robot.friction_torque(x),
}
print(json.dumps([{name: list(map(float, value)) for name, value in results.items()}, backends.trace.call_count]))
"""

#: file of the package -> what is edited there, and which numbers change
PACKAGE_EDITS = {
    "algorithms/inverse_dynamics.py": ("tau[dof] + dot6(column, wrench)", "tau[dof] + 2.0 * dot6(column, wrench)",
                                       {"dynamics", "law"}),
    "model/joints/single.py": ("return ((*self.axis, 0.0, 0.0, 0.0),)", "return ((*self.axis, 0.0, 0.0, 0.5),)",
                               {"dynamics", "law", "rows"}),
    "algorithms/feedforward_torque.py": ("(1.0 - computed) * pd +", "(1.0 - computed) * pd + 1.0 +", {"law"}),
    "constraints/frames.py": ("sqrt(dot3(pose.p, pose.p)) -", "2.0 * sqrt(dot3(pose.p, pose.p)) -",
                              {"rows", "sensor"}),
    "simulation/wrench_sensor.py": ("scale6(multiplier, row)", "scale6(3.0 * multiplier, row)", {"sensor"}),
    "model/passive_forces.py": ("return self.coefficient * v", "return 2.0 * self.coefficient * v", {"friction"}),
}  # fmt: skip


@pytest.mark.wide
def test_an_edit_anywhere_in_the_package_gives_the_new_number(tmp_path):
    """A copy of the package, edited file by file, with one cache for all."""
    pytest.importorskip("llvmlite")
    package = tmp_path / "copy" / "rbd_dynamics"
    shutil.copytree(Path(rbd_dynamics.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    before, traced = run(NUMBERS, ARM, folder=package.parent)
    assert traced == 5
    assert run(NUMBERS, ARM, folder=package.parent) == [before, 1]  # the sensor is of a room without notes
    for file, (old, new, changes) in PACKAGE_EDITS.items():
        source = (package / file).read_text()
        assert source.count(old) >= 1
        (package / file).write_text(source.replace(old, new))
        after, traced = run(NUMBERS, ARM, folder=package.parent)
        assert {name for name in before if after[name] != before[name]} == changes, file
        (package / file).write_text(source)
    assert run(NUMBERS, ARM, folder=package.parent)[0] == before


EDITED_WHILE_RUNNING = """
import json, sys
from pathlib import Path
from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.compiler import backends
import rbd_dynamics.kernels.catalog
backends.LARGE = 0
if len(sys.argv) > 2:
    file = Path(rbd_dynamics.__file__).parent / "algorithms" / "inverse_dynamics.py"
    file.write_text(file.read_text().replace(sys.argv[2], sys.argv[3]))
x = [0.3, 0.2, 0.1]
print(json.dumps(Robot(load_urdf(sys.argv[1])).inverse_dynamics(x, x, x).tolist()))
"""


def test_code_that_is_edited_while_a_process_runs_is_not_taken_for_what_that_runs(tmp_path):
    pytest.importorskip("llvmlite")
    package = tmp_path / "copy" / "rbd_dynamics"
    shutil.copytree(Path(rbd_dynamics.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    old, new, _ = PACKAGE_EDITS["algorithms/inverse_dynamics.py"]
    with_old = run(EDITED_WHILE_RUNNING, ARM, old, new, folder=package.parent)
    with_new = run(EDITED_WHILE_RUNNING, ARM, folder=package.parent)
    assert max(abs(a - b) for a, b in zip(with_old, with_new)) > 0.1


def test_a_kernel_of_the_package_can_be_known_without_tracing():
    """Nothing in it is beyond telling, for any algorithm: else starts are slow without anyone noticing."""
    from rbd_dynamics.constraints import ConstraintSet, SurfaceConstraint
    from rbd_dynamics.kernels.catalog import CATALOG
    from rbd_dynamics.kernels.constrained import CONSTRAINED

    model = load_urdf(ARM, base="floating")
    frame = model.frame_names[-1]
    held = ConstraintSet(model, [SurfaceConstraint("table", frame)])
    for name, entry in {**CATALOG, **CONSTRAINED}.items():
        constraints = held if entry.of == "constraints" else None
        whole = f"{name}:{frame}" if entry.of == "frame" else name
        signature, function = specialise(model, whole, friction=True, constraints=constraints)
        assert note_of(name, signature, function, rows=True) is not None, name


def test_code_for_batches_is_made_where_it_is_wanted(tmp_path, monkeypatch):
    """A control loop has one sample at a time, and starts in half the time without it."""
    from rbd_dynamics.constraints import ConstraintSet, SurfaceConstraint
    from rbd_dynamics.control.contact.momentum_observer import MomentumObserver

    def made():
        return sorted(file.name.partition("-")[0] for file in tmp_path.rglob("*.many*.o"))

    needs("llvm")
    monkeypatch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path))
    robot = Robot(load_urdf(ARM), backend="llvm")
    held = ConstraintSet(robot.model, [SurfaceConstraint("table", robot.model.frame_names[-1])])
    MomentumObserver(robot)
    robot.compile("bias", batches=False)
    robot.compile_constrained(held, "constraint_rows", batches=False)
    assert len(list(tmp_path.rglob("*.o"))) == 3 and not made()
    robot.compile("bias")
    robot.compile_constrained(held, "constraint_rows")
    assert made() == ["bias.many", "constraint_rows.many"]
