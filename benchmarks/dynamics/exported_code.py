# SPDX-License-Identifier: Apache-2.0
"""Exported C against Pinocchio's C++: processor time of a call, both natively compiled into one program.

    python -m benchmarks.dynamics.exported_code [--quick] [--robots UR5 Panda] [--compiler g++] [--json FILE]

Both are compiled with the same flags for this processor, take turns, and give the same results. Pinocchio's headers
come with its wheel (`pin`), those of Eigen with libeigen3-dev or the wheel cmeel-eigen; without them a line says so.
The model is written as C++ from Pinocchio's own, so that all of Pinocchio is compiled here, for this processor, and
nothing is left to its wheel.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import rbd_dynamics as rbd
from benchmarks.measuring.quiet import Guard
from benchmarks.measuring.results import Figure, Table, deliver, parser, ratio
from rbd_dynamics.common.example_robots import robots
from rbd_dynamics.export import export_c

WANTED = 0.3
ALGORITHMS = ("inverse_dynamics", "forward_dynamics")
#: robot, and joints that are locked at zero
SUBJECTS = {
    "UR5": ("ur5_robot", ()),
    "Panda": ("panda", ("panda_finger_joint1", "panda_finger_joint2")),
    "Talos": ("talos_reduced", ()),
}
FLAGS = ("-O3", "-march=native", "-DNDEBUG", "-ffp-contract=fast")
#: what Pinocchio's own packages tell compilers
BOOST = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("dynamics.exported_code", __doc__)
    options.add_argument("--robots", nargs="+", choices=SUBJECTS, metavar="NAME")
    options.add_argument("--compiler", default="g++", help="g++ or clang++; C is compiled by the same")
    args = options.parse_args(arguments)
    if (problem := lacking(args.compiler)) is not None:
        print(f"not measured: {problem}")
        return 0
    guard = Guard.of(quick=args.quick)
    table = Table("exported", ("robot", "algorithm", "exported C, µs", "Pinocchio in C++, µs", "ratio"), labels=2)
    for title in args.robots or list(SUBJECTS)[: 1 if args.quick else None]:
        with tempfile.TemporaryDirectory() as name:
            program = built(title, args.compiler, Path(name))
            figures, trouble = guard.run(title, partial(measure, title, program))
        for algorithm, (own, theirs) in zip(ALGORITHMS, figures, strict=True):
            table.add(title, algorithm.replace("_", " "), own, theirs, ratio(own, theirs, WANTED), trouble=trouble)
    told = subprocess.run([args.compiler, "--version"], check=True, capture_output=True, text=True).stdout
    return deliver(args, [table], "pin", settings=f"{told.splitlines()[0]} {' '.join(FLAGS[:2])}")


def lacking(compiler: str) -> str | None:
    """What is missing to measure, or None."""
    if importlib.util.find_spec("pinocchio") is None:
        return "Pinocchio is not installed (pin)"
    if shutil.which(compiler) is None:
        return f"there is no {compiler}"
    if not (headers() / "pinocchio").is_dir():
        return f"Pinocchio has no headers in {headers()}"
    return (
        None if eigen().is_dir() else f"Eigen's headers are not in {eigen()} (libeigen3-dev or the wheel cmeel-eigen)"
    )


def headers() -> Path:
    import pinocchio as pin

    prefix = next(parent for parent in Path(pin.__file__).parents if parent.name == "cmeel.prefix")
    return prefix / "include"


def eigen() -> Path:
    """Of the wheel, where that is installed, or of the system."""
    try:
        return Path(str(metadata.distribution("cmeel-eigen").locate_file("cmeel.prefix/include/eigen3")))
    except metadata.PackageNotFoundError:
        return Path("/usr/include/eigen3")


def built(title: str, compiler: str, folder: Path) -> Path:
    """The program for a robot."""
    file, locked = SUBJECTS[title]
    model = rbd.load_urdf(robots()[file], locked=dict.fromkeys(locked[:1], 0.0) or None)  # one finger follows the other
    export_c(model, folder / "c", kernels=ALGORITHMS, name="ours")
    (folder / "main.cpp").write_text(program(title, model))
    c_compiler = {"g++": "gcc", "clang++": "clang"}.get(compiler, compiler)
    include, code = ["-I", folder / "c/include"], folder / "ours.o"
    compiled(c_compiler, "-std=c99", *FLAGS, *include, "-c", folder / "c/src/ours.c", "-o", code)
    include += ["-isystem", headers(), "-isystem", eigen()]
    compiled(compiler, "-std=c++17", "-w", *FLAGS, *BOOST, *include, folder / "main.cpp", code, "-o", folder / "main")
    return folder / "main"


def measure(title: str, program: Path) -> list[tuple[Figure, Figure]]:
    """For each algorithm ours and Pinocchio's."""
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    found = []
    for algorithm, line in zip(ALGORITHMS, lines, strict=True):
        difference, *times = map(float, line.split())
        assert difference < 1e-9, f"{title}, {algorithm}: results differ by {difference}"
        found.append((Figure.of(times[0::2]), Figure.of(times[1::2])))
    return found


def compiled(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True)


def program(title: str, model: rbd.Model) -> str:
    """C++ that calls both in turn and prints, a line for each algorithm, the difference and microseconds of both.

    Those come in pairs, one a round, each the best of its blocks.
    """
    rng = np.random.default_rng(3)
    q = model.random(rng)
    v, x = rng.normal(size=(2, model.nv))
    order, pinocchio_model = _model_in_cpp(title, model)
    return f"""\
#include <ctime>
#include <cstdio>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include "ours.h"

using namespace pinocchio;

static double now()
{{
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}}

template <class Call>
static double microseconds(Call call, int count)
{{
  const double start = now();
  for (int i = 0; i < count; ++i) call();
  return (now() - start) / count;
}}

int main()
{{
  Model model;
  JointIndex id;
{pinocchio_model}
  Data data(model);
  double q[] = {_list(q)}, v[] = {_list(v)}, x[] = {_list(x)}, found[OURS_NV];
  const int order[] = {_list(order)};  // their joints in our order
  Eigen::VectorXd tq(OURS_NV), tv(OURS_NV), tx(OURS_NV);
  for (int i = 0; i < OURS_NV; ++i) tq[order[i]] = q[i], tv[order[i]] = v[i], tx[order[i]] = x[i];
  volatile double sink = 0;
  for (int which = 0; which < 2; ++which) {{
    // a position changes a little from call to call, so that no call can be left out
    auto ours = [&] {{
      q[0] += 1e-12;
      sink = which ? ours_forward_dynamics(q, v, x, ours_inertia, found)
                   : ours_inverse_dynamics(q, v, x, ours_inertia, found);
    }};
    auto theirs = [&] {{
      tq[order[0]] += 1e-12;
      sink = which ? aba(model, data, tq, tv, tx, Convention::LOCAL)[0] : rnea(model, data, tq, tv, tx)[0];
    }};
    double times[30];
    for (double & time : times) time = 1e9;
    for (int round = 0; round < 15; ++round)
      for (int block = 0; block < 5; ++block) {{
        const double found[2] = {{microseconds(ours, 2000), microseconds(theirs, 2000)}};
        for (int k = 0; k < 2; ++k) times[2 * round + k] = std::fmin(times[2 * round + k], found[k]);
      }}
    const Eigen::VectorXd & expected = which ? data.ddq : data.tau;
    double difference = 0;
    tq[order[0]] = q[0];
    theirs();
    ours();
    for (int i = 0; i < OURS_NV; ++i)
      difference = std::fmax(difference, std::fabs(expected[order[i]] - found[i]) / expected.cwiseAbs().maxCoeff());
    std::printf("%.3g", difference);
    for (double time : times) std::printf(" %.6f", time);
    std::printf("\\n");
  }}
}}
"""


def _model_in_cpp(title: str, model: rbd.Model) -> tuple[list[int], str]:
    """Where our joints are in Pinocchio's order, and the statements that build its model."""
    import pinocchio as pin

    file, locked = SUBJECTS[title]
    theirs = pin.buildModelFromUrdf(str(robots()[file]))
    if locked:
        theirs = pin.buildReducedModel(theirs, [theirs.getJointId(name) for name in locked], pin.neutral(theirs))
    lines = []
    for k in range(1, theirs.njoints):
        place, inertia, joint = theirs.jointPlacements[k], theirs.inertias[k], theirs.joints[k]
        kind = joint.shortname()
        axis = joint.extract().axis if hasattr(joint, "extract") and kind.endswith("Unaligned") else None
        made = f"{kind}({', '.join(map(repr, map(float, axis)))})" if axis is not None else f"{kind}()"
        lines += [
            f"  id = model.addJoint({theirs.parents[k]}, {made}, SE3({_matrix(place.rotation)}, "
            f'{_vector(place.translation)}), "{theirs.names[k]}");',
            f"  model.appendBodyToJoint(id, Inertia({inertia.mass!r}, {_vector(inertia.lever)}, "
            f"{_matrix(inertia.inertia)}), SE3::Identity());",
        ]
    armature = ", ".join(map(repr, map(float, theirs.armature)))
    lines.append(f"  model.armature = (Eigen::VectorXd({theirs.nv}) << {armature}).finished();")
    order = [theirs.joints[theirs.getJointId(name)].idx_v for name in model.joint_names]
    return order, "\n".join(lines)


def _list(values: Any) -> str:
    return f"{{{', '.join(map(repr, np.asarray(values).tolist()))}}}"


def _vector(values: Any) -> str:
    return f"Eigen::Vector3d({', '.join(map(repr, np.asarray(values).tolist()))})"


def _matrix(values: Any) -> str:
    return f"(Eigen::Matrix3d() << {', '.join(map(repr, np.asarray(values).ravel().tolist()))}).finished()"


if __name__ == "__main__":
    raise SystemExit(main())
