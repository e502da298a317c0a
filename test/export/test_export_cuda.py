# SPDX-License-Identifier: Apache-2.0
"""Kernels in CUDA C++: as C++ for the processor they compute what the library does; nvcc compiles them, where it is."""

from __future__ import annotations

import math
import re
import shutil

import numpy as np
import pytest
from helpers.checks.cuda_on_host import STRICT_CPP, arguments_of, shared
from helpers.checks.exported import needs, output_of
from helpers.models.arms import ARM
from helpers.models.robots import load_robot, needs_pinocchio
from helpers.paths import ROOT
from helpers.wide import table, wide

import rbd_dynamics as rbd
from rbd_dynamics.export import export_c
from rbd_dynamics.export.pieces import cut

pytestmark = needs("g++")
CHOSEN = ["inverse_dynamics", "forward_dynamics", "hybrid_dynamics_f_ext", "center_of_mass", "pose:hand", "feedforward"]


@pytest.fixture(scope="module")
def model():
    return rbd.load_urdf(ARM)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("cuda") / "arm"
    files = export_c(model, place, kernels=CHOSEN, friction=True, targets=["cuda"])
    assert [name for name in files if name.startswith("cuda/")] == [
        "cuda/arm.cuh", "cuda/arm_cuda.h", "cuda/arm.cu", "cuda/arm_self_test.cu"
    ]  # fmt: skip
    return place


def self_test(folder, status=0):
    """Each sample in a batch of copies, with a bad one in its midst."""
    code = [folder / "cuda" / f"arm{end}.cu" for end in ("", "_self_test")]
    output_of("g++", *STRICT_CPP, "-O1", "-I", folder / "include", "-x", "c++", *code, "-o", folder / "self_test")
    return output_of(folder / "self_test", status=status).splitlines()


def test_the_self_test_passes_on_the_processor(folder):
    lines = self_test(folder)
    assert [line.partition(": status")[0] for line in lines] == [*CHOSEN, "inertia_of_load", "wrench_on_body"]
    assert all(line.endswith(": right") for line in lines)


@pytest.mark.parametrize("length", table([0, 50], [50]))
def test_in_single_precision_and_in_pieces(model, tmp_path, monkeypatch, length):
    if length:
        monkeypatch.setattr("rbd_dynamics.export.c_code.cut", lambda program: cut(program, length))
    names = ["forward_dynamics", "pose:hand", "inverse_dynamics_derivatives"]
    export_c(model, tmp_path / "arm", kernels=names, single=True, targets=["cuda"])
    assert ("ON_BOTH SEPARATE void forward_dynamics_1(" in (tmp_path / "arm/cuda/arm.cuh").read_text()) == (length > 0)
    lines = self_test(tmp_path / "arm")
    assert len(lines) == 4 and all(line.endswith(": right") for line in lines)


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("arm.cuh", "tau[2] = ", "tau[2] = 2 * "),  # an operation
        ("arm.cu", "tau + sample * 3", "tau + sample * 2"),  # where samples are
        ("arm.cu", "tau[sample * 3 + i] = SQRT(", "tau[sample * 3 + i] = FABS("),  # a bad sample
    ],
)
def test_the_self_test_notices_what_is_wrong(model, tmp_path, file, right, wrong):
    export_c(model, tmp_path / "arm", kernels=["inverse_dynamics"], targets=["cuda"])
    path = tmp_path / "arm/cuda" / file
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong).replace("#define SQRT sqrt", "#define SQRT sqrt\n#define FABS fabs"))
    assert self_test(tmp_path / "arm", status=1)[0].endswith("WRONG")


def test_batches_are_those_of_the_library(model, folder):
    """Rows as NumPy has them, an input for all samples beside one for each, and a bad sample among good ones."""
    robot, rng, count = rbd.Robot(model, friction=True, errors="nan"), np.random.default_rng(4), 50
    library = shared(folder / "batches.so", folder / "cuda/arm.cu", flags=["-I", folder / "include"])
    q, v, a = rng.normal(size=(3, count, 3))
    f_ext = {"hand": rng.normal(size=(count, 6))}
    prescribed = rng.integers(0, 2, 3).astype(np.uint8)
    v[7, 1] = math.nan
    inertia, wrenches = robot.inertial_parameters, robot.body_wrenches(f_ext)
    found_a, found_tau, status = np.empty((count, 3)), np.empty((count, 3)), np.full(count, 9, np.uint8)
    given = (q, 3, v, 3, a, 3, 2 * a[0], 0, prescribed, 0, wrenches, wrenches[0].size, inertia, 0)
    call = library.arm_cuda_hybrid_dynamics_f_ext
    arrays = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x for x in given]
    assert call(*arguments_of([count, *arrays, found_a, found_tau, status, 0])) == 0
    expected = robot.hybrid_dynamics(q, v, a, 2 * a[0], prescribed.astype(bool), f_ext=f_ext)
    for own, right in zip((found_a, found_tau), expected, strict=True):
        assert np.isnan(own[7]).all() and np.isfinite(np.delete(own, 7, axis=0)).all()
        np.testing.assert_allclose(own, right, rtol=0, atol=1e-12 * np.nanmax(np.abs(right)))
    assert status.tolist() == [1 if k == 7 else 0 for k in range(count)]


@wide
@needs_pinocchio
@pytest.mark.parametrize("name", ["talos_full_v2", "panda"])
def test_the_self_test_passes_for_a_robot(name, tmp_path):
    model = load_robot(name, base="floating" if name.startswith("talos") else "fixed")
    names = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_dynamics_derivatives"]
    export_c(model, tmp_path / "arm", kernels=names, name="arm", targets=["cuda"])
    assert [line.endswith(": right") for line in self_test(tmp_path / "arm")] == [True] * 5


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_nvcc_compiles_it(folder, tmp_path, architecture):
    for code in ("arm.cu", "arm_self_test.cu"):
        output_of("nvcc", "-arch", architecture, "-I", folder / "include", "-c", folder / "cuda" / code, "-o",
                  tmp_path / "code.o")  # fmt: skip


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_nvcc_compiles_what_the_page_calls(tmp_path):
    export_c(rbd.load_urdf(ARM), tmp_path / "out", name="ur5", kernels=["forward_dynamics"], targets=["cuda"])
    (page,) = re.findall(r"```cuda\n(.*?)```", (ROOT / "docs/export.md").read_text(), re.S)
    include, call = page.split("\n", 1)
    arrays = "ur5_real *q, ur5_real *v, ur5_real *tau, ur5_real *a, ur5_real *inertia, unsigned char *status"
    own = "__global__ void own(ur5_real *q, ur5_real *tau) { ur5_device::forward_dynamics(q, q, q, q, tau); }"
    text = f'{include}\n#include "ur5.cuh"\nint run(long long count, {arrays}, cudaStream_t stream)\n{{\n{call}'
    (tmp_path / "page.cu").write_text(f"{text}return error;\n}}\n{own}\n")
    places = ("-I", tmp_path / "out/include", "-I", tmp_path / "out/cuda")
    output_of("nvcc", "-arch", "sm_90", *places, "-c", tmp_path / "page.cu", "-o", tmp_path / "page.o")
