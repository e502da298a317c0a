# SPDX-License-Identifier: Apache-2.0
"""Object files for other processors run there: here, under QEMU, in Node.js and in a browser."""

from __future__ import annotations

import json
import platform
import re
import shutil
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest
from helpers.browser import needs_browser
from helpers.checks.exported import STRICT, needs, output_of, self_test
from helpers.models.arms import ARM, FLOATING_ARM
from helpers.paths import EXAMPLES

import rbd_dynamics as rbd
from rbd_dynamics.export import TARGETS, export_c
from rbd_dynamics.export.web_assembly import loadable

pytest.importorskip("llvmlite")
CHOSEN = ["inverse_dynamics", "forward_dynamics", "hybrid_dynamics_f_ext", "pose:hand", "mass_factor", "feedforward"]
COUNT = len(CHOSEN) + 2  # with the kernels of loads and wrenches
DOUBLE = [name for name, target in TARGETS.items() if not target.single]


@pytest.fixture(scope="module")
def model():
    return rbd.load_urdf(ARM)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("targets") / "arm"
    export_c(model, place, kernels=CHOSEN, friction=True, targets=DOUBLE)
    return place


@pytest.fixture(scope="module")
def single(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("targets") / "arm"
    export_c(model, place, kernels=CHOSEN, friction=True, single=True, targets=["thumbv7em", "wasm32"])
    return place


def all_right(output: str, count: int = COUNT) -> bool:
    return re.findall(r": (right|WRONG)$", output, re.MULTILINE) == ["right"] * count


def flags_of_this_processor() -> set[str]:
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return set(next((line.split() for line in text.splitlines() if line.startswith("flags")), []))


NEEDED = {"x86-64": set(), "x86-64-v2": {"sse4_2"}, "x86-64-v3": {"avx2", "fma"}, "x86-64-v4": {"avx512f", "avx512vl"}}


@needs("gcc")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="not an x86-64")
@pytest.mark.parametrize("target", NEEDED)
def test_objects_for_this_kind_of_processor(folder, target):
    if not NEEDED[target] <= flags_of_this_processor():
        pytest.skip(f"this processor is no {target}")
    assert all_right(self_test(folder, folder / target / "arm.o"))


@needs("gcc")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="not an x86-64")
def test_an_object_refuses_as_the_source_does(tmp_path):
    """And an angle that its own sine cannot take."""
    model = rbd.load_urdf(FLOATING_ARM, base="floating")
    export_c(model, tmp_path / "arm", kernels=["gravity", "forward_dynamics"], targets=["x86-64"])
    (tmp_path / "main.c").write_text(
        """
#include <stdio.h>
#include "arm.h"
int main(void)
{
    double q[10] = {0, 0, 0, 0, 0, 0, 1, 0.1, 0.2, 0.05}, v[9] = {0}, out[9] = {7, 7, 7, 7, 7, 7, 7, 7, 7};
    double nothing[10 * ARM_BODIES] = {0};
    q[7] = 1.1e6;
    printf("%d", arm_gravity(q, arm_inertia, out));
    q[7] = 0.1, q[6] = 1.1;
    printf(" %d", arm_gravity(q, arm_inertia, out));
    q[6] = 1, v[3] = NAN;
    printf(" %d", arm_forward_dynamics(q, v, v, arm_inertia, out));
    v[3] = 0;
    printf(" %d %g", arm_forward_dynamics(q, v, v, nothing, out), out[4]);
    nothing[0] = NAN;
    printf(" %d", arm_forward_dynamics(q, v, v, nothing, out));
    printf(" %d\\n", arm_forward_dynamics(q, v, v, arm_inertia, out));
    return 0;
}
"""
    )
    code = (tmp_path / "main.c", tmp_path / "arm/x86-64/arm.o")
    output_of("gcc", *STRICT, "-I", tmp_path / "arm/include", *code, "-o", tmp_path / "main", "-lm")
    assert output_of(tmp_path / "main") == "4 4 1 2 7 2 0\n"


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
@pytest.mark.parametrize("what", ["object", "source"])
def test_aarch64_under_qemu(folder, what):
    code = [folder / "aarch64/arm.o"] if what == "object" else []
    compiler = ("aarch64-linux-gnu-gcc", "-static", *STRICT)
    assert all_right(self_test(folder, *code, compiler=compiler, run=["qemu-aarch64-static"]))


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("what", ["object", "source"])
def test_the_example_on_a_cortex_m7_under_qemu(single, what):
    assert all_right(output_of(EXAMPLES / "cortex_m7/run", single, what))


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_a_wrong_result_on_the_cortex_m7_fails(single, tmp_path):
    shutil.copytree(single, tmp_path / "arm")
    test = tmp_path / "arm/test/arm_self_test.c"
    test.write_text(test.read_text().replace("worst <= TOLERANCE", "worst < 0", 1))
    assert "WRONG" in output_of(EXAMPLES / "cortex_m7/run", tmp_path / "arm", status=1)


def test_riscv64_has_calls_in_floating_point_registers(folder):
    """The flags of the ELF header that linkers compare: compressed instructions, and the double-float ABI."""
    code = (folder / "riscv64/arm.o").read_bytes()
    assert code[:5] == b"\x7fELF\x02" and int.from_bytes(code[18:20], "little") == 243
    assert int.from_bytes(code[48:52], "little") & 0x7 == 0x5


# --- WebAssembly ----------------------------------------------------------------------------------

CALLS = """
const q = [0.3, -0.4, 0.05], v = [0.1, 0.2, -0.3], a = [1, -2, 0.5];
const answers = { names: robot.jointNames, light: [...robot.inverse_dynamics(q, v, a)] };
robot.attach("hand", 2, [0, 0.1, 0.2], [0.02, 0, 0.001, 0.03, 0, 0.02]);
answers.heavy = [...robot.inverse_dynamics(q, v, a)];
const both = robot.hybrid_dynamics_f_ext(q, v, a, a, [1, 0, 1], new Float64Array(18));
answers.hybrid = [...both.a_out, ...both.tau_out];
answers.pose = [...robot.pose_hand(q)];
answers.faults = [[q, v, [NaN, 0, 0]], [[2e9, 1e7, 0], v, a], [q, v, [1, 2]]].map((given) => {
  try { return [...robot.inverse_dynamics(...given)]; } catch (error) { return error.message; }
});
try { robot.attach("hnad", 1); } catch (error) { answers.faults.push(error.message); }
"""


def check_answers(model: rbd.Model, answers: dict, tolerance: float) -> None:
    robot = rbd.Robot(model, friction=True)
    q, v, a = np.array([0.3, -0.4, 0.05]), [0.1, 0.2, -0.3], [1.0, -2.0, 0.5]
    expected = {"light": robot.inverse_dynamics(q, v, a)}
    robot.set_payload("hand", 2.0, com=(0, 0.1, 0.2), inertia=(0.02, 0, 0.001, 0.03, 0, 0.02))
    expected["heavy"] = robot.inverse_dynamics(q, v, a)
    expected["hybrid"] = np.concatenate(robot.hybrid_dynamics(q, v, a, a, [True, False, True]))
    expected["pose"] = robot.pose(q, "hand").ravel()
    assert answers["names"] == list(model.joint_names)
    for name, own in expected.items():
        np.testing.assert_allclose(answers[name], own, rtol=0, atol=tolerance * max(1, np.abs(own).max()))
    assert answers["faults"] == [
        "inverse_dynamics: an input is not finite",
        "inverse_dynamics: an angle or quaternion is out of range",
        "inverse_dynamics: a needs 3 numbers",
        "no frame named hnad",
    ]


@needs("node")
@pytest.mark.parametrize(("precision", "tolerance"), [("folder", 1e-12), ("single", 1e-4)])
def test_web_assembly_in_node(model, request, tmp_path, precision, tolerance):
    place = request.getfixturevalue(precision) / "wasm32"
    script = tmp_path / "main.mjs"
    script.write_text(
        f'import {{ load }} from "{place}/arm.mjs";\nimport {{ readFile }} from "node:fs/promises";\n'
        f'const robot = await load(await readFile("{place}/arm.wasm"));\n{CALLS}\n'
        "console.log(JSON.stringify(answers));\n"
    )
    check_answers(model, json.loads(output_of("node", script)), tolerance)


@needs_browser
def test_web_assembly_in_a_browser(model, folder, tmp_path, browser):
    place = folder / "wasm32"
    script = (place / "arm.mjs").read_text().replace("export async function load", "async function load")
    code = b64encode((place / "arm.wasm").read_bytes()).decode()
    page = tmp_path / "page.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><title>arm</title><script>{script}\nwindow.answers = (async () => {{\n"
        f'const robot = await load(Uint8Array.from(atob("{code}"), (letter) => letter.charCodeAt(0)));\n{CALLS}\n'
        "return answers;\n})();</script>"
    )
    browser.open(page)
    check_answers(model, browser.run("window.answers"), 1e-12)


@needs("gcc", "wasm-ld", "node")
def test_the_object_for_web_assembly_can_be_linked(folder, tmp_path):
    """Beside the module that is loaded as it is: for programs of which it is a part."""
    exported = "arm_inverse_dynamics"
    output_of("wasm-ld", "--no-entry", "--allow-undefined", f"--export={exported}", folder / "wasm32/arm.o", "-o",
              tmp_path / "linked.wasm")  # fmt: skip
    code = "const m = new WebAssembly.Module(require('fs').readFileSync(process.argv[1])); "
    code += "console.log(WebAssembly.Module.exports(m).map((one) => one.name).join())"
    assert exported in output_of("node", "-e", code, tmp_path / "linked.wasm")


def of_module(kind, content):
    """A section, or a part of one."""
    return bytes([kind, len(content)]) + content


@pytest.mark.parametrize("kind", [1, 3], ids=["data", "section"])
def test_an_object_for_web_assembly_with_data_is_refused(kind):
    head, version = b"\0asm\1\0\0\0", b"\2"
    symbol = bytes([kind, 0x10, 1]) + b"x"  # defined elsewhere, with its name
    symbols = of_module(0, b"\7linking" + version + of_module(8, b"\1" + symbol))
    for section in (of_module(11, b"\0"), symbols):
        with pytest.raises(RuntimeError, match="has data"):
            loadable(head + section)


def test_what_takes_long_is_told_before_it_begins(model, tmp_path):
    told = []
    export_c(model, tmp_path / "arm", kernels=["gravity"], targets=["wasm32", "aarch64"], progress=told.append)
    assert told == ["tracing", "compiling for wasm32", "compiling for aarch64"]
