# SPDX-License-Identifier: Apache-2.0
"""Python's collector rests while a model is made, runs while something is waited for, and afterwards is as it was."""

from __future__ import annotations

import gc
import subprocess

import pytest

import rbd_dynamics as rbd
from rbd_dynamics.common.collector import with_collector, without_collector

ROBOT = '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><link name="${1 + 1}"/></robot>'


@pytest.fixture
def collector():
    """Enabled before, whatever a test leaves."""
    gc.enable()
    yield gc
    gc.enable()


def test_it_rests_within_and_is_as_before(collector):
    with without_collector(), without_collector():
        assert not gc.isenabled()
        with with_collector(), with_collector():
            assert gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), without_collector(), with_collector():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_who_has_disabled_it_finds_it_disabled(collector):
    gc.disable()
    with without_collector(), with_collector():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_it_runs_while_xacro_is_waited_for(collector, monkeypatch):
    pytest.importorskip("xacro")
    run, seen = subprocess.run, []
    monkeypatch.setattr(subprocess, "run", lambda *args, **kw: (seen.append(gc.isenabled()), run(*args, **kw))[1])
    assert rbd.load(ROBOT).frame_names == ["2"]
    assert seen == [True] and gc.isenabled()
    with pytest.raises(rbd.ModelError):
        rbd.load("<robot name='r'/>")
    assert gc.isenabled()
