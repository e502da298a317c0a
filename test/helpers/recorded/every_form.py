# SPDX-License-Identifier: Apache-2.0
"""One motion of an arm of seven joints, in each form that docs/replay.md shows a command for."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

import rbd_dynamics as rbd
from helpers.recorded.bags import START, Content, Message, write_ros2

LINK = (
    "<link name='{0}'><inertial><origin xyz='0.02 0 0.1'/><mass value='1'/>"
    "<inertia ixx='0.02' iyy='0.02' izz='0.01' ixy='0' ixz='0' iyz='0'/></inertial></link>"
)
JOINT = (
    "<joint name='{0}' type='revolute'><parent link='{1}'/><child link='{2}'/><origin xyz='0 0 0.2'/>"
    "<axis xyz='{3}'/><limit lower='-3' upper='3' effort='200' velocity='2.5'/></joint>"
)
NAMES = ["shoulder", "elbow", *(f"joint{k}" for k in range(3, 8))]


def urdf() -> str:
    """With tool0, to which a load can be attached."""
    parts, parent = ["<link name='base'/>"], "base"
    for k, name in enumerate(NAMES):
        parts.append(LINK.format(f"link{k}") + JOINT.format(name, parent, f"link{k}", "1 0 0" if k % 2 else "0 1 0"))
        parent = f"link{k}"
    parts.append(f"<link name='tool0'/><joint name='flange' type='fixed'><parent link='{parent}'/>")
    return f"<robot name='arm'>{''.join(parts)}<child link='tool0'/></joint></robot>"


def write_all(folder: Path) -> None:
    """arm.urdf, robot.urdf, run.mcap, run.db3, free.mcap, loaded.mcap, archive, run.csv, bare.txt, demo.h5."""
    import h5py

    for name in ("arm", "robot"):
        (folder / f"{name}.urdf").write_text(urdf())
    robot, noise = rbd.Robot(rbd.load_urdf(folder / "arm.urdf")), np.random.default_rng(0)
    t, w = np.arange(2000) / 100.0, np.linspace(0.8, 2.0, 7)
    phases = w * t[:, None] + np.arange(7)
    q, v, a = 0.5 * np.sin(phases), 0.5 * w * np.cos(phases), -0.5 * w**2 * np.sin(phases)

    def torques(load: float = 0.0, friction: float = 0.0) -> np.ndarray:
        robot.set_payload("tool0", mass=load, com=(0.0, 0.0, 0.05))
        ideal = robot.inverse_dynamics(q, v, a) + friction * np.sign(v)
        return ideal + 0.05 * noise.normal(size=q.shape)

    def bag(path: Path, plugin: str = "MCAP", load: float = 0.0, friction: float = 0.0) -> Path:
        stamps = (START + 1e9 * t).astype(np.int64)
        states = [Message(int(s), NAMES, *rows) for s, *rows in zip(stamps, q, v, torques(load, friction))]
        return write_ros2(path, Content({"/joint_states": states}, {"/robot_description": urdf()}), plugin)

    for name, load in {"run.mcap": 0.0, "free.mcap": 0.0, "loaded.mcap": 2.5, "run.db3": 0.0}.items():
        ending = name.rpartition(".")[2]
        (file,) = bag(folder / "one", "MCAP" if ending == "mcap" else "SQLITE3", load).glob(f"*.{ending}")
        file.rename(folder / name)
        shutil.rmtree(folder / "one")
    for name in ("A/1", "A/2", "B/1"):  # with friction that the description lacks
        (folder / "archive" / name).parent.mkdir(parents=True, exist_ok=True)
        bag(folder / "archive" / name, friction=0.6)
    tau = torques()
    columns = {"clock": 1e3 * t, "time": t, "angle_a": q[:, 0], "angle_b": q[:, 1]}
    for k, name in enumerate(NAMES):
        columns |= {f"pos_meas{k + 1}": q[:, k], f"load{k + 1}": 1e3 * tau[:, k], f"{name}.effort": tau[:, k]}
        columns |= {f"{name}.position": q[:, k]} if k > 1 else {}
    table = np.column_stack([*columns.values()])
    np.savetxt(folder / "run.csv", table, delimiter=",", header=",".join(columns), comments="")
    np.savetxt(folder / "bare.txt", np.column_stack([q, v, tau]))
    with h5py.File(folder / "demo.h5", "w") as file:
        file["observations/qpos"], file["observations/effort"] = q[::2], tau[::2]
