# SPDX-License-Identifier: Apache-2.0
"""Segments kept on disk between two passes over a recording."""

from __future__ import annotations

import tempfile
from dataclasses import astuple, replace

import numpy as np
import pytest
from helpers.recorded.recordings import SETTINGS, URDF, bag

from rbd_dynamics import Robot, load_urdf
from rbd_dynamics.replay import Recording, Segments, study
from rbd_dynamics.replay.analysis import analyse
from rbd_dynamics.replay.questions import Questions
from rbd_dynamics.replay.signals.segment_store import SegmentStore


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = bag(tmp_path_factory.mktemp("segments") / "bag")
    return Segments(Recording(path), load_urdf(URDF), settings=replace(SETTINGS, block=300))


def test_a_second_pass_has_the_same_segments(found):
    store, told = SegmentStore(), []
    first = list(store.passing(found))
    assert store.complete and len(first) > 2
    second = list(store.segments(told.append))
    for one, other in zip(first, second, strict=True):
        for a, b in zip(astuple(one), astuple(other), strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
    assert told[-1] == 1.0 and not store.complete, "nothing is kept any longer"


def test_what_is_too_long_is_read_again(found):
    store = SegmentStore(20_000)
    assert len(list(store.passing(found))) > 2
    assert not store.complete


@pytest.mark.parametrize("path", ["/dev/full", None])
def test_a_full_disk_is_no_error(found, monkeypatch, path):
    def opened(**options):
        if path is None:
            raise OSError("no folder for temporary files")
        return open(path, "w+b", buffering=0)

    monkeypatch.setattr(tempfile, "TemporaryFile", opened)
    store = SegmentStore()
    assert len(list(store.passing(found))) > 2
    assert not store.complete


def test_an_analysis_reads_a_recording_once_and_says_the_same(tmp_path, monkeypatch):
    path, robot = bag(tmp_path / "bag", offset=1.0), Robot(load_urdf(URDF))
    reads, whole = [], Segments.__iter__
    monkeypatch.setattr(Segments, "__iter__", lambda self: (reads.append(1), whole(self))[1])

    def results():
        told = []
        found = analyse(path, robot, settings=SETTINGS, questions=Questions(friction=True), progress=told.append)
        assert told == sorted(told) and told[-1] == 1.0
        return found.external_torque, found.log.samples

    kept = results()
    assert len(reads) == 1
    monkeypatch.setattr(study, "SegmentStore", lambda: SegmentStore(0))
    assert results() == kept and len(reads) == 3
