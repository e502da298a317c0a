# SPDX-License-Identifier: Apache-2.0
"""`rbd_dynamics doctor`: it sees what is broken and what is merely missing, and its exit code says which."""

from __future__ import annotations

import json
import platform
import sys

import numpy as np
import pytest

from rbd_dynamics.cli import main
from rbd_dynamics.cli.doctor import kernels, real_time, ros, run, software
from rbd_dynamics.cli.doctor.findings import Looked
from rbd_dynamics.cli.doctor.kernels import a_model, largest_difference
from rbd_dynamics.common.extras import Optional
from rbd_dynamics.compiler import cache
from rbd_dynamics.robot import Robot


def report(capsys, code):
    assert main(["doctor", "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    return told["broken"], {each["name"]: each for section in told["sections"].values() for each in section}


@pytest.fixture
def without_ros(monkeypatch):
    monkeypatch.setattr(run, "look_at_ros", lambda: iter([Looked("ROS 2", "not looked at")]))


def test_nothing_is_broken_here(without_ros, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path))
    broken, found = report(capsys, 0)
    assert broken == 0
    assert found["numpy"]["value"] == np.__version__
    assert found["Python"]["value"].endswith(f"{platform.python_version()}, {sys.executable}")
    assert found["self-test"]["value"].startswith("kernels agree with the plain algorithms")
    assert found["cache"]["value"] == str(tmp_path / "kernels")
    assert not found["cache's size"]["value"].startswith("0 files")  # those of the self-test


def test_a_kernel_that_computes_something_else_is_found(without_ros, monkeypatch, capsys):
    right = Robot.mass_matrix

    def wrong(robot, q):
        return right(robot, q) * (1.0 if robot.backend == "reference" else 1.0 + 1e-6)

    monkeypatch.setattr(Robot, "mass_matrix", wrong)
    assert largest_difference("python") > 1e-8
    broken, found = report(capsys, 1)
    assert broken == 1 and found["self-test"]["state"] == "broken"
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.endswith("1 broken\n")


def test_a_kernel_that_gives_nan_is_found(monkeypatch):
    monkeypatch.setattr(Robot, "gravity", lambda robot, q: np.full((*np.shape(q)[:-1], robot.model.nv), np.nan))
    assert not largest_difference("python") < kernels.TOLERANCE


def test_a_compiler_that_fails_is_no_traceback(monkeypatch):
    def fails(backend):
        raise RuntimeError("no such target")

    monkeypatch.setattr(kernels, "largest_difference", fails)
    (found,) = (each for each in kernels.look_at_kernels() if each.name == "self-test")
    assert found.state == "broken" and "no such target" in found.value


def test_the_tested_model_has_all_that_kernels_care_for():
    model = a_model()
    assert model.nq == model.nv + 2  # two quaternions
    assert {joint.kind.name for joint in model.joints} >= {"floating", "spherical", "revolute", "prismatic"}


@pytest.mark.parametrize(("told", "advice"), [(True, "unset it"), (False, "PYTHONPYCACHEPREFIX")])
def test_modules_that_are_compiled_at_each_start_are_told(monkeypatch, tmp_path, told, advice):
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", told)
    found = {each.name: each for each in software.look_at_software()}["compiled modules"]
    assert found.state == "note" and " are not kept: " in found.value and advice in found.advice


def test_a_module_that_is_missing_is_told_with_what_it_is_for(monkeypatch):
    monkeypatch.setitem(software.OPTIONAL, "no_such_module", Optional("nonsense", "replay", "nonsense needs"))
    monkeypatch.setitem(software.NEEDED, "necessity", "no_such_necessity")
    found = {each.name: each for each in software.look_at_software()}
    assert found["nonsense"].state == "note" and "rbd_dynamics[replay]" in found["nonsense"].advice
    assert found["necessity"].state == "broken"


def test_no_ros_is_no_fault_but_half_of_one_is(monkeypatch):
    monkeypatch.setattr(ros, "find_spec", lambda name: None)
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    assert [each.state for each in ros.look_at_ros()] == ["note"]
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    assert [each.state for each in ros.look_at_ros()] == ["broken"]


@pytest.mark.ros
def test_ros_is_tried_and_its_middleware_named():
    rclpy = pytest.importorskip("rclpy")
    found = {each.name: each for each in ros.look_at_ros()}
    assert found["middleware"].value == rclpy.get_rmw_implementation_identifier()
    assert found["executor"].value in ("EventsExecutor", "SingleThreadedExecutor")
    assert (found["inputs"].value, found["inputs"].state) == ("in threads of their own", "fine")


@pytest.mark.ros
def test_public_rclpy_alone_is_told(monkeypatch):
    pytest.importorskip("rclpy")
    monkeypatch.setenv("RBD_DYNAMICS_PLAIN_RCLPY", "1")
    found = {each.name: each for each in ros.look_at_ros()}["inputs"]
    assert found.state == "note" and "RBD_DYNAMICS_PLAIN_RCLPY is set" in found.value


@pytest.mark.ros
def test_a_middleware_that_does_not_load_is_broken(monkeypatch):
    pytest.importorskip("rclpy")
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_of_nobody")
    assert any(each.state == "broken" and each.name == "a node" for each in ros.look_at_ros())


def machine(root, **files):
    for path, text in files.items():
        file = root / path.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {each.name: each for each in real_time.look_at_real_time(root)}


def test_settings_of_real_time_are_read(tmp_path):
    good = machine(
        tmp_path / "good",
        proc__version="Linux version 6.8.0-rt8 (x) #1 SMP PREEMPT_RT",
        sys__kernel__realtime="1\n",
        sys__devices__system__cpu__cpu0__cpufreq__scaling_governor="performance\n",
        sys__devices__system__cpu__isolated="2-3\n",
    )
    assert "6.8.0-rt8, PREEMPT_RT" in good["kernel"].value
    assert [good[name].state for name in ("kernel", "frequency governor", "isolated cores")] == ["fine"] * 3
    assert "taskset -c 2 " in good["isolated cores"].advice
    plain = machine(
        tmp_path / "plain",
        proc__version="Linux version 6.8.0-41-generic (x) #41 SMP PREEMPT_DYNAMIC",
        sys__devices__system__cpu__cpu0__cpufreq__scaling_governor="powersave\n",
        sys__devices__system__cpu__isolated="\n",
        proc__sys__kernel__sched_rt_runtime_us="950000",
        proc__sys__kernel__sched_rt_period_us="1000000",
    )
    assert [plain[name].state for name in ("kernel", "frequency governor", "isolated cores")] == ["note"] * 3
    assert all(plain[name].advice for name in ("kernel", "frequency governor", "isolated cores"))
    assert plain["real-time share"].value == "95% of a core"


def test_limits_of_this_user_are_told(monkeypatch, tmp_path):
    limits = {real_time.resource.RLIMIT_RTPRIO: (0, 0), real_time.resource.RLIMIT_MEMLOCK: (2**23, 2**23)}
    monkeypatch.setattr(real_time.resource, "getrlimit", limits.__getitem__)
    monkeypatch.setattr(real_time.os, "geteuid", lambda: 1000)
    found = machine(tmp_path)
    assert found["real-time priority"].state == found["locked memory"].state == "note"
    limits[real_time.resource.RLIMIT_RTPRIO] = (98, 98)
    limits[real_time.resource.RLIMIT_MEMLOCK] = (real_time.resource.RLIM_INFINITY,) * 2
    found = machine(tmp_path)
    assert found["real-time priority"].value == "up to 98" and found["locked memory"].value == "unlimited"


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "shared memory"),
        ({"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}, "UDPv4"),
        ({"FASTDDS_BUILTIN_TRANSPORTS": "LARGE_DATA"}, "shared memory"),
        ({"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, "shared memory"),
        ({"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4", "ROS_LOCALHOST_ONLY": "1"}, "shared memory"),
        ({"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4", "ROS_DISTRO": "humble"}, "shared memory"),
        ({"FASTDDS_DEFAULT_PROFILES_FILE": "x.xml"}, "as its profile says"),
    ],
)
def test_shared_memory_of_the_middleware_is_told(environment, told):
    found = ros._transport(environment)
    assert found.value == told
    assert found.state == ("note" if told == "shared memory" else "fine")
