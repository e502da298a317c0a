# SPDX-License-Identifier: Apache-2.0
"""Each process has a ROS domain of its own, and leaves it to others when it ends."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile

import pytest

from rbd_dynamics.demo.ros_domain import DOMAINS, lock_file, own_domain

PROCESS = """
import sys
from rbd_dynamics.demo.ros_domain import own_domain
try:
    print(own_domain(), own_domain(), flush=True)
    sys.stdin.read()
except RuntimeError as error:
    print(error, flush=True)
"""


@pytest.fixture
def two_left(tmp_path, monkeypatch):
    """A temporary folder where two domains only are free, which leaves no way to get different ones by luck."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = {7, 101}
    held = [lock_file(domain).open("w") for domain in DOMAINS if domain not in left]
    for file in held:
        fcntl.flock(file, fcntl.LOCK_EX)
    yield left
    for file in held:
        file.close()


@pytest.fixture
def start(tmp_path):
    """Start a process that takes a domain and lives until its input ends."""
    started = []

    def start():
        environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(
            [sys.executable, "-c", PROCESS], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with process:  # closes its pipes and waits
            process.kill()


def domain_of(process):
    """What it has taken, and keeps."""
    once, again = map(int, process.stdout.readline().split())
    assert once == again
    return once


def test_two_processes_never_get_the_same(two_left, start):
    processes = [start(), start()]  # at once
    assert {domain_of(process) for process in processes} == two_left
    assert "all ROS domains from 1 to 101 are taken" in start().stdout.readline()


def test_a_domain_is_free_when_its_process_is_gone_however_it_ended(two_left, start):
    staying, leaving = start(), start()
    domain_of(staying)
    domain = domain_of(leaving)
    leaving.kill()
    leaving.wait()
    again = start()
    assert domain_of(again) == domain
    again.communicate()
    assert domain_of(start()) == domain


def test_a_lock_that_cannot_be_opened_is_passed_over(two_left, start):
    unreadable = min(two_left)
    lock_file(unreadable).symlink_to(lock_file(unreadable))  # opens for nobody, root included
    assert {domain_of(start())} == two_left - {unreadable}


def test_this_process_is_in_its_own_domain():
    assert os.environ["ROS_DOMAIN_ID"] == str(own_domain())


@pytest.mark.parametrize("given", [None, "42"])
def test_the_demo_takes_its_own_unless_one_is_given(given, tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from rbd_dynamics.demo import processes as p; "
        "p.isolated_environment(Path(sys.argv[1])); print(os.environ['ROS_DOMAIN_ID'], p.own_domain())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ROS_DOMAIN_ID"}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path)} | ({"ROS_DOMAIN_ID": given} if given else {})
    command = [sys.executable, "-c", code, str(tmp_path)]
    used, own = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert used == (given or own) and own != str(own_domain())
