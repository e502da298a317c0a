# SPDX-License-Identifier: Apache-2.0
"""Exported C computes what the library does, refuses what it refuses, and is written as a whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.checks.exported import COMPILERS, STRICT, Library, needs, output_of, self_test
from helpers.models.arms import ARM, FLOATING_ARM, JOINTS
from helpers.paths import ROOT
from helpers.wide import table

import rbd_dynamics as rbd
from rbd_dynamics.cli import main
from rbd_dynamics.control import Feedforward
from rbd_dynamics.control.feedforward import feedforward_law
from rbd_dynamics.control.motion.splines import motion_of
from rbd_dynamics.export import KERNELS, export_c
from rbd_dynamics.export.pieces import cut
from rbd_dynamics.export.selection import selected
from rbd_dynamics.kernels.catalog import CATALOG
from rbd_dynamics.kernels.specialise import specialise

pytestmark = needs("gcc")
OK, BAD_INPUT, BAD_RESULT, OUT_OF_RANGE = 0, 1, 2, 4
CHOSEN = ["inverse_dynamics", "inverse_dynamics_f_ext", "forward_dynamics", "hybrid_dynamics", "mass_matrix",
          "center_of_mass", "pose:hand", "feedforward"]  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return rbd.load_urdf(ARM)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("export") / "arm"
    export_c(model, place, kernels=CHOSEN, friction=True)
    return place


@pytest.fixture(scope="module")
def library(folder):
    return Library(folder)


def every_kernel(model: rbd.Model) -> list[str]:
    return [f"{name}:hand" if name in CATALOG and CATALOG[name].of == "frame" else name for name in KERNELS]


# --- agreement ------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("options", [{}, {"single": True}], ids=["double", "single"])
def test_the_self_test_of_every_kernel_passes(model, tmp_path, compiler, options):
    names = every_kernel(model)
    export_c(model, tmp_path / "arm", kernels=names, friction=True, **options)
    lines = self_test(tmp_path / "arm", compiler=(compiler, *STRICT)).splitlines()
    assert [line.partition(": status")[0] for line in lines] == [*names, "inertia_of_load"]
    assert all(line.endswith(": right") for line in lines)


def test_the_self_test_notices_a_wrong_operation(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "arm")
    source = tmp_path / "arm" / "src" / "arm.c"
    text = source.read_text()
    begin = text.index("int arm_mass_matrix(")
    source.write_text(text[:begin] + text[begin:].replace(" + x", " - x", 1))
    (test,) = (tmp_path / "arm" / "test").iterdir()
    output_of("gcc", "-I", tmp_path / "arm/include", source, test, "-o", tmp_path / "t", "-lm")
    lines = output_of(tmp_path / "t", status=1).splitlines()
    wrong = [line for line in lines if line.endswith("WRONG")]
    assert len(wrong) == 1 and wrong[0].startswith("mass_matrix:")


def test_results_are_those_of_the_library(model, library):
    robot = rbd.Robot(model, friction=True)
    rng = np.random.default_rng(4)
    for _ in range(20):
        q, v, a = model.random(rng), *rng.normal(size=(2, 3))
        f_ext = rng.normal(size=6)
        prescribed = rng.integers(0, 2, 3).astype(bool)
        wrenches = robot.body_wrenches({"hand": f_ext})
        inertia, fixed = robot.inertial_parameters, model.fixed_inertia.parameters
        expected = {
            "inverse_dynamics": ([robot.inverse_dynamics(q, v, a)], (q, v, a, inertia)),
            "inverse_dynamics_f_ext": (
                [robot.inverse_dynamics(q, v, a, f_ext={"hand": f_ext})],
                (q, v, a, wrenches, inertia),
            ),
            "forward_dynamics": ([robot.forward_dynamics(q, v, a)], (q, v, a, inertia)),
            "hybrid_dynamics": (
                robot.hybrid_dynamics(q, v, a, 2 * a, prescribed),
                (q, v, a, 2 * a, prescribed, inertia),
            ),
            "mass_matrix": ([robot.mass_matrix(q)], (q, inertia)),
            "center_of_mass": ([robot.center_of_mass(q)], (q, inertia, fixed)),
            "pose:hand": ([robot.pose(q, "hand")], (q,)),
        }
        for name, (results, inputs) in expected.items():
            signature, _ = specialise(model, name, friction=True)
            status, found = library(name.replace(":", "_"), signature, *inputs)
            assert status == OK
            for result, own in zip(results, found, strict=True):
                np.testing.assert_allclose(own, result, rtol=0, atol=1e-12 * max(1, np.abs(result).max()))


def test_the_feedforward_law_is_that_of_the_node(model, library):
    robot = rbd.Robot(model)
    law = Feedforward(robot, kp=30.0, kd=2.0, evaluate_at="desired", effort_limits=20.0)
    rng = np.random.default_rng(5)
    q, v = model.random(rng), rng.normal(size=3)
    motion = motion_of(list(rng.normal(size=(3, 3))))
    signature, _ = feedforward_law(robot)
    weights, gains = [1, 1, 1, 1, 0, 1, 0], [[30.0] * 3, [2.0] * 3]
    inputs = (q, v, motion, [0.2], weights, gains, np.zeros(3), [20.0] * 3, robot.inertial_parameters)
    status, (efforts, _) = library("feedforward", signature, *inputs)
    assert status == OK
    expected = law.compute(q, v, motion, np.array([0.2]))
    np.testing.assert_allclose(efforts, expected, rtol=1e-12, atol=1e-12)
    assert np.abs(expected).max() == 20.0


@pytest.mark.parametrize("length", [20, 77])
def test_pieces_compute_what_the_whole_does(model, monkeypatch, tmp_path, length):
    """And in single functions no value is read from a place before it is written, nor after another has taken it."""
    monkeypatch.setattr("rbd_dynamics.export.c_code.cut", lambda program: cut(program, length))
    names = ["forward_dynamics", "inverse_dynamics_derivatives", "feedforward"]
    export_c(model, tmp_path / "arm", kernels=names, friction=True)
    assert (tmp_path / "arm/src/arm.c").read_text().count("SEPARATE static void arm_forward_dynamics_") > 1
    assert self_test(tmp_path / "arm").count(": right") == 4
    for kernel in selected(rbd.Robot(model), names):
        pieces = cut(kernel.program, length)
        if pieces.is_whole:
            continue
        held: dict[int, int] = {place: index for index, place in pieces.places.items() if place < 2 * pieces.padded}
        for piece in pieces.pieces:
            assert all(held.get(place) == index for index, place in piece.reads.items())
            assert not set(piece.reads.values()) & set(piece.writes.values())
            held |= {place: index for index, place in piece.writes.items()}
        assert all(held[pieces.places[index]] == index for index in pieces.results)
        assert pieces.size < len(kernel.program.nodes)


def test_sines_and_cosines_of_any_angle(tmp_path, model):
    """Branch-free ones near zero, at multiples of a quarter turn, up to the limit, and the C library's beyond it."""
    export_c(model, tmp_path / "arm", kernels=["pose:upper"])
    library = Library(tmp_path / "arm", flags=("-O3", "-ffp-contract=fast"))
    signature, _ = specialise(model, "pose:upper")
    quarters = [k * math.pi / 2 for k in range(-9, 10)]
    rng = np.random.default_rng(6)
    angles = [*quarters, *np.nextafter(quarters, 9), *rng.uniform(-1e6, 1e6, 200), 999999.9, 1.1e6, -3e9, 1e-300]
    for angle in angles:
        status, (pose,) = library("pose_upper", signature, [angle, 0, 0])
        assert status == OK
        found = pose[0, 0], pose[0, 2]
        assert np.allclose(found, (math.cos(angle), math.sin(angle)), rtol=0, atol=3e-16), angle


# --- payloads, wrenches, C++ ----------------------------------------------------------------------

USES_CPP = """
#include <cstdio>
#include <vector>
#include "arm.hpp"

static_assert(arm::nq == 3 && arm::nv == 3 && ARM_JOINTS == 3, "sizes");

int main()
{
  arm::Robot robot;
  const double q[3] = {0.3, -0.4, 0.05};
  const std::vector<double> v = {0.1, 0.2, -0.3};
  std::array<double, 3> a{1.0, -2.0, 0.5}, tau{};
  double heavy[3];
  robot.inverse_dynamics(q, v, a, tau);
  if (robot.attach(ARM_FRAME_HAND, 2.0, std::array<double, 3>{0.0, 0.1, 0.2},
                   std::array<double, 6>{0.02, 0.0, 0.001, 0.03, 0.0, 0.02}) != arm::Status::ok) return 1;
  robot.inverse_dynamics(q, v, a, heavy);
  for (double x : tau) std::printf("%.17g ", x);
  for (double x : heavy) std::printf("%.17g ", x);
  double f_ext[6 * ARM_BODIES] = {0};
  const double wrench[6] = {0.1, 0.2, 0.3, 4, 5, 6};
  if (arm_add_wrench(f_ext, ARM_FRAME_HAND, wrench) != ARM_OK) return 2;
  robot.inverse_dynamics_f_ext(q, v, a, f_ext, tau);
  for (double x : tau) std::printf("%.17g ", x);
  if (robot.attach(ARM_FRAMES, 1.0, q) != arm::Status::bad_input) return 3;
  if (robot.attach(ARM_FRAME_HAND, -1.0, q) != arm::Status::bad_input) return 4;
  if (robot.attach(ARM_FRAME_BASE, 5.0, q) != arm::Status::ok) return 5;
  robot.detach();
  robot.inverse_dynamics(q, v, a, heavy);
  for (double x : heavy) std::printf("%.17g ", x);
  std::printf("%s %s %g\\n", arm_joint_names[2], arm_frame_names[ARM_FRAME_HAND], arm_effort_limits[0]);
}
"""


@needs("g++")
def test_payloads_and_wrenches_from_c_plus_plus(model, folder, tmp_path):
    (tmp_path / "uses.cpp").write_text(USES_CPP)
    output_of("gcc", "-c", "-I", folder / "include", folder / "src/arm.c", "-o", tmp_path / "arm.o")
    strict = ("-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror")
    output_of("g++", *strict, "-I", folder / "include", tmp_path / "uses.cpp", tmp_path / "arm.o", "-o", tmp_path / "u")
    *numbers, joint, frame, limit = output_of(tmp_path / "u").split()
    robot = rbd.Robot(model, friction=True)
    state = [0.3, -0.4, 0.05], [0.1, 0.2, -0.3], [1.0, -2.0, 0.5]
    load = {"com": (0, 0.1, 0.2), "inertia": (0.02, 0, 0.001, 0.03, 0, 0.02)}
    light = robot.inverse_dynamics(*state)
    robot.set_payload("hand", 2.0, **load)
    heavy = robot.inverse_dynamics(*state)
    pushed = robot.inverse_dynamics(*state, f_ext={"hand": [0.1, 0.2, 0.3, 4, 5, 6]})
    expected = np.concatenate([light, heavy, pushed, light])
    np.testing.assert_allclose(np.array(numbers, dtype=float), expected, rtol=1e-12, atol=1e-12)
    assert (joint, frame, limit) == (JOINTS[2], "hand", "80")


@needs("g++")
def test_what_the_page_calls_is_there(tmp_path):
    """C and C++ of docs/export.md, with the arrays that it takes for granted."""
    model = rbd.load_urdf(ARM.replace('"hand"', '"tool0"'))
    export_c(model, tmp_path / "out", name="ur5", kernels=["inverse_dynamics"])
    page = (ROOT / "docs/export.md").read_text()
    first, second, third = (re.findall(rf"```{kind}\n(.*?)```", page, re.S) for kind in ("c", "cpp", "js"))
    assert (len(first), len(second), len(third)) == (2, 1, 1)
    c, cpp = "\n".join(first), second[0].replace('#include "ur5.hpp"', "")
    include, c = c.split("\n", 1)
    text = f"#include <string.h>\n{include}\nint run(void);\nint run(void)\n{{\n{c}\nreturn status; }}"
    (tmp_path / "page.c").write_text(text)
    arrays = "std::array<double, 3> q{}, v{}, a{}, tau{};"
    (tmp_path / "page.cpp").write_text(f'#include "ur5.hpp"\nvoid run();\nvoid run()\n{{ {arrays}\n{cpp}\n}}')
    output_of("gcc", "-std=c99", "-fsyntax-only", "-I", tmp_path / "out/include", tmp_path / "page.c")
    output_of("g++", "-std=c++17", "-Werror", "-fsyntax-only", "-I", tmp_path / "out/include", tmp_path / "page.cpp")


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", range(3))
def test_an_input_that_is_not_finite_is_refused_and_nothing_is_written(model, library, bad, place):
    signature, _ = specialise(model, "forward_dynamics", friction=True)
    inputs = np.ones((3, 3))
    inputs[place, 1] = bad
    status, (found,) = library("forward_dynamics", signature, *inputs, rbd.Robot(model).inertial_parameters)
    assert status == BAD_INPUT and np.all(found == 7)


def test_a_result_that_is_not_finite_is_refused(model, library):
    signature, _ = specialise(model, "forward_dynamics", friction=True)
    for inertia in (np.zeros((3, 10)), np.full((3, 10), math.nan)):
        status, (found,) = library("forward_dynamics", signature, *np.ones((3, 3)), inertia)
        assert status == BAD_RESULT and np.all(found == 7)


def test_a_quaternion_far_from_unit_length_is_refused(tmp_path):
    model = rbd.load_urdf(FLOATING_ARM, base="floating")
    export_c(model, tmp_path / "arm")
    assert self_test(tmp_path / "arm").count(": right") == 6  # without feedforward, which has no floating joints
    library, robot = Library(tmp_path / "arm"), rbd.Robot(model)
    signature, _ = specialise(model, "gravity")
    q = model.random(1)
    status, (found,) = library("gravity", signature, q, robot.inertial_parameters)
    assert status == OK
    np.testing.assert_allclose(found, robot.gravity(q), rtol=1e-12, atol=1e-12)
    q[3:7] *= 1.1
    assert library("gravity", signature, q, robot.inertial_parameters)[0] == OUT_OF_RANGE


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-ffast-math", "a NaN would pass for a number"),
        ("-ffinite-math-only", "a NaN would pass for a number"),
        ("-funsafe-math-optimizations", "sines would be wrong"),
    ],
)
def test_fast_math_is_an_error_of_compilation(folder, flag, message):
    (source,) = (folder / "src").iterdir()
    macros = output_of("gcc", flag, "-dM", "-E", "-x", "c", "/dev/null")
    if flag == "-funsafe-math-optimizations" and "__ASSOCIATIVE_MATH__" not in macros:
        pytest.skip("this gcc does not tell")
    command = ["gcc", flag, "-fsyntax-only", "-I", str(folder / "include"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and message in done.stderr


def test_the_source_needs_nothing_but_math(folder):
    text = "".join(path.read_text() for path in [*(folder / "src").iterdir(), *(folder / "include").glob("*.h")])
    assert {line for line in text.splitlines() if line.startswith("#include")} == {
        "#include <math.h>", '#include "arm.h"'
    }  # fmt: skip
    output_of("gcc", "-c", "-O1", "-I", folder / "include", folder / "src/arm.c", "-o", folder / "arm.o")
    symbols = [line.split()[-2:] for line in output_of("nm", folder / "arm.o").splitlines()]
    assert {name for kind, name in symbols if kind == "U"} <= {"sin", "cos", "sincos", "tanh", "_GLOBAL_OFFSET_TABLE_"}
    assert not {name for kind, name in symbols if kind in "BbDdC"}, "variables"


# --- the package ----------------------------------------------------------------------------------


@needs("cmake")
def test_the_cmake_package_is_built_tested_installed_and_found(folder, tmp_path):
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    output_of("cmake", "-S", folder, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_BUILD_TYPE=Debug")
    output_of("cmake", "--build", build)
    assert "100% tests passed" in output_of("ctest", "--test-dir", build)
    output_of("cmake", "--install", build)
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user LANGUAGES C)\nfind_package(arm REQUIRED)\n"
        "add_executable(user main.c)\ntarget_link_libraries(user arm::arm)\n"
    )
    (user / "main.c").write_text(
        "#include <arm.h>\nint main(void) { double q[3] = {0}, M[9]; return arm_mass_matrix(q, arm_inertia, M); }\n"
    )
    output_of("cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    output_of("cmake", "--build", user / "build")
    output_of(user / "build/user")


def test_without_a_choice_a_controller_finds_what_it_needs(model, tmp_path):
    export_c(model, tmp_path / "out")
    text = (tmp_path / "out/include/arm.h").read_text()
    usual = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "gravity", "feedforward"]
    assert re.findall(r"^int arm_(\w+)\(", text, re.M) == [*usual, "inertia_of_load"]


def test_the_header_says_what_a_call_costs(model, tmp_path):
    export_c(model, tmp_path / "out", kernels=["gravity", "inverse_dynamics_derivatives"])
    text = (tmp_path / "out/include/arm.h").read_text()
    for kernel in selected(rbd.Robot(model), ["gravity", "inverse_dynamics_derivatives"])[:2]:
        assert f"   {kernel.program.operations} operations. */\nint arm_{kernel.identifier}(" in text
    assert "tau (3): torques and forces of the joints (N m, N)" in text


def test_names_of_joints_and_frames_that_c_does_not_take(tmp_path):
    odd = ARM.replace('name="arm"', 'name="2 Arme!"').replace('"hand"', '"hand-\\ö"').replace('"fore"', '"fore*/x"')
    model = rbd.load_urdf(odd.replace('"upper"', '"hand/ö"'))
    export_c(model, tmp_path / "out", kernels=["inverse_dynamics", "pose:fore*/x"])
    assert self_test(tmp_path / "out").count(": right") == 3
    text = (tmp_path / "out/include/robot_2_arme.h").read_text()
    assert "#define ROBOT_2_ARME_FRAME_HAND 2\n" in text and "#define ROBOT_2_ARME_FRAME_HAND_2 6\n" in text
    assert '"hand/ö"' in text and '"hand-\\\\ö"' in text


@needs("cmake", "g++")
@pytest.mark.parametrize("name", table(["test", "gamma", "m", "bool", "**//&#10;main"], ["test", "**//&#10;main"]))
def test_a_robot_whose_name_is_taken_in_c_or_cmake(tmp_path, name):
    folder = tmp_path / "out"
    export_c(rbd.load_urdf(ARM.replace('name="arm"', f'name="{name}"')), folder, kernels=["gravity"])
    output_of("cmake", "-S", folder, "-B", tmp_path / "build")
    output_of("cmake", "--build", tmp_path / "build")
    (header,) = (folder / "include").glob("robot_*.hpp")
    output_of("g++", "-std=gnu++17", "-fsyntax-only", "-include", "cmath", "-x", "c++", header)


# --- errors, by name; then nothing is there -------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kernels", "inverse_dynamic"], "no kernel named 'inverse_dynamic'; did you mean 'inverse_dynamics'"),
        (["--kernels", "mass_matrix_f_ext"], "no kernel named 'mass_matrix_f_ext'"),
        (["--kernels", "time_step"], "no kernel named 'time_step'"),
        (["--kernels", "pose"], "kernel 'pose' is of a frame: pose:FRAME"),
        (["--kernels", "pose:hamd"], "no frame named 'hamd'; did you mean 'hand'?"),
        (["--kernels", "gravity:hand"], "kernel 'gravity' is not of a frame"),
        (["--kernels", ","], "no kernel is chosen"),
        (["--joints", "shoulder,elbw"], "no joint named 'elbw'; did you mean 'elbow'?"),
        (["--lock", "shoulder=0", "--lock", "elbow=0", "--lock", "slide=0"], "no joint that is free"),
        (["--floating", "--kernels", "feedforward"], "has 6 degrees of freedom"),
        (["--target", "aarch46"], "no target named 'aarch46'; did you mean 'aarch64'?"),
        (["--target", "thumbv7em"], "target 'thumbv7em' computes in single precision: add --single"),
        (["--name", "int"], "name 'int' cannot begin names in C"),
        (["--name", "Arm"], "name 'Arm' cannot begin names in C"),
        (["--name", "arm_"], "lower-case letters, digits and single underscores"),
        (["--name", "test"], "name 'test' cannot begin names in C: C, C++ or CMake has it for something else"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(tmp_path, capsys, options, message):
    (tmp_path / "arm.urdf").write_text(FLOATING_ARM)
    assert main(["export", str(tmp_path / "arm.urdf"), "--output", str(tmp_path / "new" / "out"), *options]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]


def test_without_llvmlite_there_is_c_and_no_object_file(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    code = "import sys; sys.modules['llvmlite'] = None; from rbd_dynamics.cli import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, "export", str(tmp_path / "arm.urdf"), "--kernels", "gravity", "-o"]
    output_of(*words, tmp_path / "plain")
    assert "/gpu/cuda/arm.cu\n" in output_of(*words, tmp_path / "gpu", "--target", "cuda")
    done = subprocess.run([*words, str(tmp_path / "out"), "--target", "wasm32"], capture_output=True, text=True)
    assert done.returncode == 2 and "this needs the module 'llvmlite" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arm.urdf", "gpu", "plain"]


def test_kernels_that_would_have_one_name_are_told(tmp_path):
    model = rbd.load_urdf(ARM.replace('"upper"', '"hand-1"').replace('"fore"', '"hand_1"'))
    with pytest.raises(ValueError, match="'pose:hand-1' and 'pose:hand_1' would both be called pose_hand_1 in C"):
        export_c(model, tmp_path / "out", kernels=["pose:hand-1", "pose:hand_1"])
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_empty_stays_as_it_is(model, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="the folder is not empty") as error:
        export_c(model, tmp_path)
    assert str(tmp_path) in str(error.value)
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        export_c(model, tmp_path / "mine.txt")
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        export_c(model, tmp_path / "mine.txt" / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(OSError, match="/proc/nowhere"):
        export_c(model, "/proc/nowhere/out")


def test_an_empty_folder_is_filled_and_not_replaced(model, tmp_path, monkeypatch):
    """A shell that stands in it sees the files."""
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    files = export_c(model, ".", kernels=["gravity"])
    assert tmp_path.stat().st_ino == before
    assert sorted(str(path) for path in Path().rglob("*") if path.is_file()) == sorted(files)
    assert {path.name for path in Path().iterdir()} == {Path(file).parts[0] for file in files}


def test_an_empty_folder_is_empty_again_after_an_error(model, tmp_path, monkeypatch):
    rename, names = Path.rename, []

    def second_fails(self, target):
        names.append(self.name)
        if len(names) == 2:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr("pathlib.Path.rename", second_fails)
    with pytest.raises(OSError, match="Input/output error"):
        export_c(model, tmp_path, kernels=["gravity"])
    assert len(names) == 2 and not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_empty_folder_counts_and_not_the_one_above(model, tmp_path):
    (tmp_path / "out").mkdir()
    tmp_path.chmod(0o500)
    export_c(model, tmp_path / "out", kernels=["gravity"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(model, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot be written"):
        export_c(model, tmp_path / "out")


def test_a_disk_that_fills_up_leaves_nothing(model, tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space left on device"):
        export_c(model, tmp_path / "a" / "b", kernels=["gravity"])
    assert not list(tmp_path.iterdir())


def test_an_empty_folder_is_taken_and_the_command_lists_what_it_wrote(tmp_path, capsys):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "out").mkdir()
    words = ["export", str(tmp_path / "arm.urdf"), "-o", str(tmp_path / "out"), "--kernels", "gravity", "--json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert set(told["files"]) == written and len(written) == 7


@pytest.mark.parametrize(
    "words", [["URDF", "--kernels", "gravity", "pose:fore"], ["--kernels", "gravity", "pose:fore", "URDF"],
              ["--kernels", "gravity,pose:fore", "URDF"]],
)  # fmt: skip
def test_kernels_are_named_by_commas_or_one_by_one(tmp_path, words):
    (tmp_path / "arm.urdf").write_text(ARM)
    words = [str(tmp_path / "arm.urdf") if word == "URDF" else word for word in words]
    assert main(["export", *words, "-o", str(tmp_path / "out")]) == 0
    header = (tmp_path / "out" / "include" / "arm.h").read_text()
    assert "arm_gravity(" in header and "arm_pose_fore(" in header and "arm_bias(" not in header


def test_the_benchmark_says_in_a_line_what_it_lacks(capsys):
    pytest.importorskip("pinocchio")
    from benchmarks.dynamics import exported_code

    assert exported_code.main(["--compiler", "no-such-compiler"]) == 0
    assert capsys.readouterr().out == "not measured: there is no no-such-compiler\n"
