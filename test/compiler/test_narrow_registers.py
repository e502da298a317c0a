# SPDX-License-Identifier: Apache-2.0
"""Code for processors without AVX-512, which most have, on those that have it as well."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models.robots import load_robot, random_state
from helpers.wide import table

from rbd_dynamics import Robot
from rbd_dynamics.compiler import native
from rbd_dynamics.compiler.llvm import machine as llvm_machine

llvm = pytest.importorskip("llvmlite.binding")
FEATURES = llvm.get_host_cpu_features()
pytestmark = pytest.mark.skipif(not FEATURES.get("avx2"), reason="this processor has no AVX2")


class Narrow(dict):
    """Features of a processor that has nothing newer than AVX2."""

    def flatten(self):
        return ",".join(f"{'+' if there else '-'}{name}" for name, there in self.items())


@pytest.fixture(scope="module", autouse=True)
def narrow(tmp_path_factory):
    less = Narrow({name: there and not name.startswith(("avx10", "avx512")) for name, there in FEATURES.items()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RBD_DYNAMICS_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        patch.setattr(llvm, "get_host_cpu_features", lambda: less)
        patch.setattr(llvm, "get_host_cpu_name", lambda: "haswell")
        llvm_machine._target.cache_clear()
        yield
    llvm_machine._target.cache_clear()


def test_registers_have_four_doubles():
    assert llvm_machine._target()[1] == 4
    assert "haswell" in native.target_name()


ROBOTS = [
    ("double_pendulum", "fixed"), ("panda", "fixed"), ("ur5_robot", "fixed"), ("solo12", "floating"),
    ("talos_reduced", "floating"),
]  # fmt: skip
CASES = [(*robot, dtype) for robot in ROBOTS for dtype in (np.float64, np.float32)]


@pytest.mark.parametrize(("name", "base", "dtype"), table(CASES, CASES[1:3]))
def test_kernels_agree_with_the_algorithms(name, base, dtype):
    model = load_robot(name, base)
    rng = np.random.default_rng(4)
    states = [random_state(model, rng) for _ in range(11)]
    q, v, a = (np.array([getattr(state, part) for state in states]).astype(dtype) for part in "qva")
    compiled, plain = Robot(model, dtype=dtype), Robot(model, backend="reference")
    accuracy = 1e-12 if dtype is np.float64 else 2e-5
    methods = ["inverse_dynamics", "bias", "mass_matrix", "inverse_dynamics_derivatives"]
    if dtype is np.float64:  # as uncertain as the mass matrix is near to a singular one
        methods += ["forward_dynamics", "forward_dynamics_derivatives"]
    for method in methods:
        given = {"mass_matrix": (q,), "bias": (q, v)}.get(method, (q, v, a))
        many, right = getattr(compiled, method)(*given), getattr(plain, method)(*given)
        one = getattr(compiled, method)(*(array[3] for array in given))
        outputs = zip(*((each,) if isinstance(each, np.ndarray) else each for each in (many, one, right)))
        for found, single, expected in outputs:
            assert found.dtype == single.dtype == dtype
            scale = max(1.0, np.abs(expected).max())
            assert np.abs(found - expected).max() < accuracy * scale, method
            assert np.abs(single - expected[3]).max() < accuracy * scale, method
