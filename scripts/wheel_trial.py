# SPDX-License-Identifier: Apache-2.0
"""What a user without ROS does with an installed wheel, in an empty folder: see scripts/wheel.

    python -I scripts/wheel_trial.py EXTRA

EXTRA: what was installed with the wheel, "none" or "all". Numbers are compared with closed forms of a planar arm. What
an extra is for must work with it alone; without it, it must end with one line that names it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np

import rbd_dynamics as rbd
from rbd_dynamics.common.extras import OPTIONAL, remedy

G, LENGTH, MASSES, COMS, INERTIAS = 9.81, 0.8, (2.0, 1.5), (0.3, 0.25), (0.05, 0.04)
LINK = """<link name="{}"><inertial><origin xyz="{} 0 0"/><mass value="{}"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="{}" iyz="0" izz="0.04"/></inertial>{}</link>"""
JOINT = """<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/>
<origin xyz="{} 0 0"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="90" velocity="6"/></joint>"""
MESH = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
Backend = Literal["reference", "python", "llvm"]
NAMES = ("shoulder", "elbow")
COMMANDS = ("info", "check", "show", "compile", "export", "doctor", "replay", "excite", "rehearse", "play", "demo")
START = 1_700_000_000_000_000_000  # ns


def arm(visual: str = "") -> str:
    links = [LINK.format(name, COMS[k], MASSES[k], INERTIAS[k], visual) for k, name in enumerate(("upper", "lower"))]
    joints = [JOINT.format("shoulder", "base", "upper", 0.0), JOINT.format("elbow", "upper", "lower", LENGTH)]
    return f'<robot name="arm"><link name="base"/>{"".join((*links, *joints))}</robot>'


# --- the arm by hand ----------------------------------------------------------------------------


def mass_matrix(q: Any) -> Any:
    (m1, m2), (c1, c2), (i1, i2) = MASSES, COMS, INERTIAS
    lower = i2 + m2 * c2**2
    both = lower + m2 * LENGTH * c2 * np.cos(q[1])
    upper = i1 + m1 * c1**2 + m2 * LENGTH**2 + 2 * both - lower
    return np.array([[upper, both], [both, lower]])


def torques(q: Any, v: Any, a: Any) -> Any:
    (m1, m2), (c1, c2) = MASSES, COMS
    h = m2 * LENGTH * c2 * np.sin(q[1])
    coriolis = np.array([-h * (2 * v[0] * v[1] + v[1] ** 2), h * v[0] ** 2])
    fore = -G * m2 * c2 * np.cos(q[0] + q[1])
    gravity = np.array([fore - G * (m1 * c1 + m2 * LENGTH) * np.cos(q[0]), fore])
    return mass_matrix(q) @ a + coriolis + gravity


def slopes(function: Callable[[Any], Any], x: Any) -> Any:
    """Columns: derivatives by each number of x."""
    steps = 1e-5 * np.eye(len(x))
    return np.stack([(function(x + step) - function(x - step)) / 2e-5 for step in steps], axis=1)


def check_dynamics(backend: Backend) -> None:
    """Against the arm by hand: single, in a batch, back again, and their derivatives."""
    robot = rbd.Robot(rbd.load_urdf(arm()), backend=backend)
    assert robot.backend == backend
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 7, 2))
    wanted = np.array([torques(*x) for x in zip(q, v, a)])
    close = np.testing.assert_allclose
    close(robot.inverse_dynamics(q, v, a), wanted, rtol=1e-11, atol=1e-11)
    close(robot.forward_dynamics(q, v, wanted), a, rtol=1e-9, atol=1e-9)
    x = q[0], v[0], a[0]
    close(robot.inverse_dynamics(*x), wanted[0], rtol=1e-11, atol=1e-11)
    close(robot.mass_matrix(q[0]), mass_matrix(q[0]), rtol=1e-12)
    by_q, by_v, by_a = robot.inverse_dynamics_derivatives(*x)
    close(by_q, slopes(lambda q: torques(q, v[0], a[0]), q[0]), rtol=1e-6, atol=1e-6)
    close(by_v, slopes(lambda v: torques(q[0], v, a[0]), v[0]), rtol=1e-6, atol=1e-6)
    close(by_a, mass_matrix(q[0]), rtol=1e-11)
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q[0], v[0], wanted[0])
    inverse = np.linalg.inv(mass_matrix(q[0]))
    close(by_tau, inverse, rtol=1e-10)
    close(by_v, -inverse @ slopes(lambda v: torques(q[0], v, a[0]), v[0]), rtol=1e-5, atol=1e-5)
    robot.set_payload("lower", mass=1.0, com=(0.5, 0.0, 0.0))
    close(robot.gravity(np.zeros(2)) - torques([0, 0], [0, 0], [0, 0]), [-G * (LENGTH + 0.5), -G * 0.5], rtol=1e-11)


# --- commands -----------------------------------------------------------------------------------


def run(*words: str, code: int = 0) -> str:
    """What a command of the installed package prints, on both streams; it ends with that exit code."""
    command = [str(Path(sysconfig.get_path("scripts"), "rbd_dynamics")), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    assert done.returncode == code, f"{' '.join(words)}: exit code {done.returncode}\n{said}"
    assert "Traceback" not in said, said
    return said


def check_commands() -> None:
    assert run("--version").split() == ["rbd_dynamics", metadata.version("rbd_dynamics")]
    for command in COMMANDS:
        assert run(command, "--help").startswith(f"usage: rbd_dynamics {command}")
    assert json.loads(run("info", "arm.urdf", "--json"))["mass"] == sum(MASSES)
    assert "shoulder" in run("info", "arm.urdf")
    run("check", "arm.urdf")
    run("compile", "arm.urdf")
    run("export", "arm.urdf", "--output", "code")
    assert "nothing is broken" in run("doctor")
    run("replay", "run.csv", "--urdf", "arm.urdf", "--output", "result", "--formats", "csv,urdf")
    joints = json.loads(Path("result", "summary.json").read_text())["joints"]
    assert [joint["name"] for joint in joints] == list(NAMES)
    assert all(joint["nrmse"] < 0.01 for joint in joints), joints
    assert "ROS" in run("play", "none.yaml", code=2)


def recorded() -> tuple[Any, Any, Any, Any]:
    """Stamps, positions, velocities and efforts of a motion."""
    t = np.arange(600) / 100.0
    speed = np.array([1.3, 2.1])
    x = speed * t[:, None] + [0.0, 1.0]
    q, v, a = np.sin(x), speed * np.cos(x), -(speed**2) * np.sin(x)
    stamps = START + np.rint(t * 1e9).astype(np.int64)
    return stamps, q, v, np.array([torques(*each) for each in zip(q, v, a)])


def write_files() -> None:
    """A description, one with a mesh, and a recording as a table."""
    Path("arm.urdf").write_text(arm())
    Path("drawn.urdf").write_text(arm(MESH.format("part.obj")))
    Path("part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    stamps, *columns = recorded()
    head = ["stamp", *(f"{name}.{field}" for field in ("position", "velocity", "effort") for name in NAMES)]
    rows = [",".join(map(repr, [stamp, *row])) for stamp, row in zip(stamps.tolist(), np.hstack(columns).tolist())]
    Path("run.csv").write_text("\n".join([",".join(head), *rows]))


# --- what extras are for ------------------------------------------------------------------------


def replayed(formats: str, *made: str, recording: str = "run.csv", code: int = 0) -> str:
    folder = Path(f"result_{formats}_{Path(recording).suffix[1:] or 'bag'}")
    said = run("replay", recording, "--urdf", "arm.urdf", "--output", str(folder), "--formats", formats, code=code)
    assert code or all((folder / name).exists() for name in made), f"{formats}: no {made}"
    return said


def use_compiled(code: int) -> str:
    if not code:
        check_dynamics("llvm")
        old = tuple(map(int, metadata.version("llvmlite").split(".")[:2])) < (0, 45)
        words = ["export", "arm.urdf", "--kernels", "gravity", "--output", "wasm", "--target", "wasm32"]
        return run(*words, code=2 if old else 0)
    try:
        check_dynamics("llvm")
    except RuntimeError as error:
        assert remedy("llvmlite") in str(error)
    return run("export", "arm.urdf", "--output", "wasm", "--target", "wasm32", code=code)


def use_plots(code: int) -> str:
    return replayed("png", "torque.png", "residual.png", code=code)


def use_show(code: int) -> str:
    said = run("show", "drawn.urdf", "--output", "arm.html", code=code)
    assert code or Path("arm.html").stat().st_size > 500_000
    return said


def use_replay(code: int) -> str:
    said = replayed("html", "report.html", code=code)
    if code:
        return said
    replayed("bag", "residuals")
    from rbd_dynamics.replay.reading.storage import zstd
    from rbd_dynamics.replay.results.joint_state_bag import JointStateBag

    bag = JointStateBag(Path("run_bag"), NAMES)
    bag.add_topic("/joint_states")
    for stamp, *each in zip(*recorded()):
        bag.write("/joint_states", int(stamp), *each)
    bag.close()
    (file,) = Path("run_bag").glob("*.mcap")
    Path("packed.mcap.zstd").write_bytes(zstd().compress(file.read_bytes()))
    for recording in ("run_bag", "packed.mcap.zstd"):
        assert "shoulder" in replayed("csv", "samples.csv", recording=recording)
    return said


def use_parquet(code: int) -> str:
    said = replayed("parquet", "samples.parquet", code=code)
    if not code:
        import pyarrow.csv
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.csv.read_csv("run.csv"), "run.parquet")
        replayed("csv", "samples.csv", recording="run.parquet")
    return said


def use_fleet(code: int) -> str:
    words = ["replay", "run.csv", "more/run.csv", "--urdf", "arm.urdf", "--output", "fleet", "--formats", "csv"]
    Path("more").mkdir()
    Path("more", "run.csv").write_bytes(Path("run.csv").read_bytes())
    if code:
        return run(*words, "--scheduler", "tcp://127.0.0.1:1", code=code)
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        return run(*words, "--scheduler", cluster.scheduler_address)


def use_models(code: int) -> str:
    xacro = arm().replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ', 1)
    Path("arm.xacro").write_text(xacro.replace(f'value="{MASSES[0]}"', 'value="${1.0 + 1.0}"'))
    Path("ball.xml").write_text(
        '<mujoco><worldbody><body name="ball"><joint name="swing" axis="0 1 0"/>'
        '<geom size="0.1" mass="2" pos="0 0 -0.5"/></body></worldbody></mujoco>'
    )
    said = run("info", "arm.xacro", "--json", code=code) + "\0" + run("info", "ball.xml", "--json", code=code)
    if not code:
        assert [json.loads(each)["mass"] for each in said.split("\0")] == [sum(MASSES), 2.0]
    return said


def use_collisions(code: int) -> str:
    from rbd_dynamics.collisions import CollisionSet, CollisionShape

    shapes = [CollisionShape("ball", "lower", "sphere", size=(0.1,)), CollisionShape("floor", "world", "plane")]
    try:
        distances = CollisionSet(rbd.load_urdf(arm()), shapes).distances([-0.5, 0.0])
    except ModuleNotFoundError as error:
        assert code
        return str(error)
    np.testing.assert_allclose(distances, [LENGTH * np.sin(0.5) - 0.1], atol=1e-6)
    return ""


def use_hdf5(code: int) -> str:
    if code:
        Path("run.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    else:
        import h5py

        stamps, *columns = recorded()
        with h5py.File("run.h5", "w") as file:
            file["t"] = (stamps - START) * 1e-9
            for name, column in zip(("q", "dq", "tau"), columns):
                file[f"arm/{name}"] = column
    return replayed("csv", "samples.csv", recording="run.h5", code=code)


def use_remote(code: int) -> str:
    """A recording from a server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        said = replayed("csv", "samples.csv", recording=f"http://127.0.0.1:{server.server_port}/run.csv", code=code)
        server.shutdown()
    return said


def use_streaming(code: int) -> str:
    """Velocities that bring the tip to a pose that is ahead."""
    from rbd_dynamics.control import VelocityInverseKinematics

    robot = rbd.Robot(rbd.load_urdf(arm()))
    try:
        follow = VelocityInverseKinematics(robot, "lower", period=0.01, gain=10.0)
    except ValueError as error:
        assert code
        return str(error)
    q, goal = np.array([0.2, 0.4]), np.array([0.3, 0.2])
    for _ in range(200):
        q = q + 0.01 * follow(q, robot.pose(goal, "lower")).v
    np.testing.assert_allclose(q, goal, atol=1e-3)
    return ""


def use_completion(code: int) -> str:
    """What the shell asks for with the tab key; without the package it is told nothing, and doctor what to install."""
    line = "rbd_dynamics chec"
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_COMP_WORDBREAKS": ""}
    asked["_ARGCOMPLETE_STDOUT_FILENAME"] = str(Path("words").resolve())
    Path("words").write_text("")
    command = [str(Path(sysconfig.get_path("scripts"), "rbd_dynamics"))]
    subprocess.run(command, env={**os.environ, **asked}, capture_output=True, timeout=300)
    assert bool(code) != ("check" in Path("words").read_text())
    return run("doctor")


def use_casadi(code: int) -> str:
    from rbd_dynamics.casadi import functions

    try:
        f = functions(rbd.Robot(rbd.load_urdf(arm())))
    except ValueError as error:
        assert code
        return str(error)
    q, v, a = np.array([[0.3, -0.5], [0.1, 0.4], [1.0, 2.0]])
    np.testing.assert_allclose(np.array(f.inverse_dynamics(q, v, a)).ravel(), torques(q, v, a), rtol=1e-9)
    return ""


def use_jax(code: int) -> str:
    from rbd_dynamics.jax import functions

    try:
        f = functions(rbd.Robot(rbd.load_urdf(arm())))
    except ValueError as error:
        assert code
        return str(error)
    import jax

    q, v, a = np.array([[0.3, -0.5], [0.1, 0.4], [1.0, 2.0]], dtype=np.float32)
    np.testing.assert_allclose(jax.jit(f.inverse_dynamics)(q, v, a), torques(q, v, a), rtol=1e-4)
    np.testing.assert_allclose(jax.jacrev(lambda a: f.inverse_dynamics(q, v, a))(a), mass_matrix(q), rtol=1e-4)
    return ""


def use_gymnasium(code: int) -> str:
    try:
        import rbd_dynamics.gymnasium as environments
    except (ImportError, ValueError) as error:
        assert code
        return str(error)
    arms = environments.Reaching(3, robot=rbd.load_urdf(arm()))
    observed, _ = arms.reset(seed=0)
    assert np.isfinite(observed).all() and len(arms.step(arms.action_space.sample())) == 5
    return ""


#: {extra: what it is for}; each is given the exit code that is expected, 2 where the extra is missing
USES: dict[str, Callable[[int], str]] = {
    "compiled": use_compiled,
    "plots": use_plots,
    "show": use_show,
    "replay": use_replay,
    "parquet": use_parquet,
    "fleet": use_fleet,
    "models": use_models,
    "collisions": use_collisions,
    "hdf5": use_hdf5,
    "remote": use_remote,
    "streaming": use_streaming,
    "completion": use_completion,
    "casadi": use_casadi,
    "jax": use_jax,
    "gymnasium": use_gymnasium,
}
LARGE = ("casadi", "jax", "gymnasium")  # not in [all]


def installed(extra: str) -> bool:
    """Whether an extra's own packages are there."""
    modules = [module for module, optional in OPTIONAL.items() if optional.extra == extra]
    assert modules
    return all(importlib.util.find_spec(module) is not None for module in modules)


def try_all(extra: str) -> None:
    assert Path(rbd.__file__).is_relative_to(sys.prefix), rbd.__file__
    assert importlib.util.find_spec("rclpy") is None
    write_files()
    best: Backend = "llvm" if extra in ("compiled", "jax", "all") else "python"
    assert rbd.Robot(rbd.load_urdf("arm.urdf")).backend == best
    check_dynamics(best)
    if extra in ("none", "all"):
        check_dynamics("reference")
        check_commands()
    for name, use in USES.items():
        if extra == "none":
            assert not installed(name)
            said = use(2)
            assert f"rbd_dynamics[{name}]" in said, said
        elif name == extra or (extra == "all" and name not in LARGE):
            assert installed(name)
            use(0)


if __name__ == "__main__":
    start = time.monotonic()
    try_all(sys.argv[1])
    versions = {each: metadata.version(each) for each in ("numpy", "scipy", "PyYAML", "rich")}
    versions |= {each.package: metadata.version(each.package) for module, each in OPTIONAL.items()
                 if importlib.util.find_spec(module)}  # fmt: skip
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    print(f"works in {time.monotonic() - start:.0f} s with {told}")
