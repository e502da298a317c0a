# SPDX-License-Identifier: Apache-2.0
"""One fit over many recordings: what robots share, what is their own, and what of it helps with another recording."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.stats
from helpers.models.identified import LOAD, arm, loaded
from helpers.models.robots import shared_robot
from helpers.recorded.bags import Content, Message, needs_rosbags, write_ros2
from helpers.recorded.exciting import LOW_PASS, measured, segments_of

from rbd_dynamics.cli import main
from rbd_dynamics.model import Model
from rbd_dynamics.model.dictionary import to_yaml
from rbd_dynamics.replay.command.together import names_of
from rbd_dynamics.replay.identification import Recorded, TogetherIdentifier, TogetherResult
from rbd_dynamics.replay.identification.least_squares import LEAST_BLOCKS
from rbd_dynamics.replay.identification.payload import Load
from rbd_dynamics.replay.identification.together.identifier import _Spread
from rbd_dynamics.simulation.perturbation import perturb_inertias, with_joint_friction

FRAME = "link2"
KNOWN = Load(*LOAD)
TRUE = perturb_inertias(arm(), 0.2, seed=5)  # what all robots of the kind are; the description is arm()


def rubbing(model: Model, friction: float, damping: float) -> Model:
    return with_joint_friction(
        model, friction=dict.fromkeys(model.joint_names, friction), damping=dict.fromkeys(model.joint_names, damping)
    )


PLAIN = rubbing(arm(), 0.0, 0.0)
#: Coulomb and viscous friction of robots
ROBOTS = {"one": (0.3, 0.5), "two": (1.5, 0.1), "alike": (0.3, 0.5)}


def together(*recorded: tuple[Recorded, float], true: Model = TRUE) -> TogetherResult:
    """Of recordings (what, offset), each with a motion and noise of its own."""
    found = TogetherIdentifier(shared_robot(PLAIN))
    for seed, (what, offset) in enumerate(recorded, start=1):
        model = rubbing(true, *ROBOTS[what.robot])
        model = loaded(model, what.frame) if what.frame else model
        stamps, numbers = measured(model, seed, duration=20.0, offset=offset, base=0.1 + 0.01 * seed)
        found.add(what, segments_of(stamps, numbers), low_pass=LOW_PASS)
    return found.results()


def on(name: str, robot: str = "one", **load) -> Recorded:
    return Recorded(name, robot, **load)


def test_shared_inertias_and_own_friction_lie_in_their_intervals():
    found = together((on("a"), 0.2), (on("b"), 0.2), (on("c", "two"), -0.3), (on("d", "two"), -0.3))
    truth = TogetherIdentifier(shared_robot(PLAIN))._base.base.of(shared_robot(TRUE).inertial_parameters)
    known = [(part, value) for part, value in zip(found.base, truth) if part.identifiable]
    assert len(known) > 0.6 * len(found.base)
    assert np.mean([part.covers(value) for part, value in known]) > 0.8
    assert all(abs(part.value - value) < 5.0 * part.error for part, value in known)
    assert len(found.friction) == 6
    for part in found.friction:
        coulomb, viscous = ROBOTS[part.robot]
        assert part.coulomb.value == pytest.approx(coulomb, abs=0.03)
        assert part.viscous.value == pytest.approx(viscous, abs=0.05)
        assert part.offset.value == pytest.approx(0.2 if part.robot == "one" else -0.3, abs=0.05)


def test_what_robots_have_in_common_transfers_and_what_they_have_not_does_not():
    found = together((on("a"), 0.2), (on("b"), 0.2), (on("c", "two"), -0.3), (on("d", "two"), -0.3))
    assert [transfer.name for transfer in found.transfers] == [
        "inertias", "friction of the robot", "offsets of the robot"
    ]  # fmt: skip
    assert all(transfer.transfers and transfer.helped == 4 for transfer in found.transfers)
    for held in found.held_out:
        assert held.share(held.after) < 0.05 * held.share(held.before)
        assert held.share(held.after) < 1.3 * held.share(held.own)  # about as good as friction of its own

    found = together((on("a"), 0.3), (on("c", "two"), -0.3))  # one recording of each, which differ
    assert found.transfer("inertias").transfers
    assert not found.transfer("offsets of other robots").transfers
    (one, two) = found.held_out
    assert one.share(one.after) > 2.0 * one.share(one.own)

    found = together((on("a"), 0.3), (on("b", "alike"), 0.3))  # and which do not
    assert found.transfer("friction of other robots").transfers
    assert found.transfer("offsets of other robots").transfers


def test_inertias_that_are_right_have_nothing_to_transfer():
    found = together((on("a"), 0.2), (on("b"), 0.2), true=PLAIN)
    assert not found.transfer("inertias").transfers
    assert found.transfer("friction of the robot").transfers


def test_offsets_that_differ_between_recordings_do_not_transfer():
    found = together((on("a"), 0.6), (on("b"), -0.6))
    assert found.transfer("friction of the robot").transfers
    assert not found.transfer("offsets of the robot").transfers


def test_loads_known_and_unknown_are_part_of_one_fit():
    alone = together((on("a"), 0.2), (on("b"), 0.2))
    found = together(
        (on("a"), 0.2), (on("b"), 0.2), (on("k", frame=FRAME, load=KNOWN), 0.2),
        (on("u", frame=FRAME, of="box"), 0.2), (on("w", frame=FRAME, of="box"), 0.2),
    )  # fmt: skip
    (load,) = found.loads
    assert (load.name, load.frame) == ("box", FRAME)
    assert load.mass.value == pytest.approx(LOAD[0], abs=0.03)
    assert [part.value for part in load.com] == pytest.approx(LOAD[1], abs=0.01)
    assert load.mass.covers(LOAD[0]) or abs(load.mass.value - LOAD[0]) < 4.0 * load.mass.error
    assert {held.recording: held.load for held in found.held_out} == {
        "a": "none", "b": "none", "k": "known", "u": "from others", "w": "from others"
    }  # fmt: skip
    assert found.transfer("load").transfers and found.transfer("load").recordings == 2
    narrow = [(b.error, a.error) for a, b in zip(alone.base, found.base) if a.identifiable and b.identifiable]
    assert np.median([more / less for more, less in narrow]) < 1.0
    # of its own, where no other carries it: fitted to itself, and inertias still come from the others
    found = together((on("a"), 0.2), (on("b"), 0.2), (on("u", frame=FRAME), 0.2))
    assert found.held_out[2].load == "its own" and found.transfer("load") is None
    assert found.loads[0].mass.value == pytest.approx(LOAD[0], abs=0.05)


def test_a_wrong_load_does_not_transfer():
    """Two different loads that are said to be one."""
    found = TogetherIdentifier(shared_robot(PLAIN))
    for name, sign in (("u", 1.0), ("w", -1.0)):
        stamps, numbers = measured(rubbing(TRUE, 0.3, 0.5), 1, duration=20.0)
        _, more = measured(rubbing(loaded(TRUE, FRAME), 0.3, 0.5), 1, duration=20.0)
        numbers[:, 2] += sign * (more[:, 2] - numbers[:, 2])
        found.add(on(name, frame=FRAME, of="box"), segments_of(stamps, numbers), low_pass=LOW_PASS)
    assert not found.results().transfer("load").transfers


def test_numbers_that_others_do_not_bear_out_are_none():
    """The jackknife: errors of a fit from those that leave out one part each."""
    rng = np.random.default_rng(0)
    values = np.array([2.0, 0.5, -3.0])
    for parts, known in ((LEAST_BLOCKS, True), (LEAST_BLOCKS - 1, False)):
        others = values + 1e-3 * rng.normal(size=(parts, 3))
        spread = _Spread(values, others, np.array([1.0, 1.0, 1e-3]))
        first = spread.estimate("m", 0, "kg", more=1.0)
        assert first.identifiable == known
        if known:
            error = np.sqrt((parts - 1) / parts * ((others[:, 0] - others[:, 0].mean()) ** 2).sum())
            assert first.value == 3.0 and first.error == pytest.approx(error, rel=1e-12)
            assert first.upper - first.value == pytest.approx(scipy.stats.t.ppf(0.975, parts - 1) * error)
        assert not spread.estimate("vague", 2, "kg").identifiable  # of its scale the error is all
    ratio = spread.ratio("com", 1, 0, "m", True)
    quotients = others[:, 1] / others[:, 0]
    error = np.sqrt((parts - 1) / parts * ((quotients - quotients.mean()) ** 2).sum())
    assert (ratio.value, ratio.identifiable) == (0.25, True) and ratio.error == pytest.approx(error, rel=1e-9)
    assert not spread.ratio("com", 1, 0, "m", False).identifiable


def test_what_cannot_be_is_refused_by_name():
    found = TogetherIdentifier(shared_robot(PLAIN))
    with pytest.raises(ValueError, match="no recording"):
        found.results()
    with pytest.raises(ValueError, match="'a' has no stretch of motion"):
        found.add(on("a"), [], low_pass=LOW_PASS)
    parts = segments_of(*measured(PLAIN, 1, duration=20.0))
    found.add(on("a"), parts, low_pass=LOW_PASS)
    with pytest.raises(ValueError, match="'a' is given twice"):
        found.add(on("a"), parts, low_pass=LOW_PASS)
    with pytest.raises(KeyError, match="hook"):
        found.add(on("b", frame="hook"), parts, low_pass=LOW_PASS)
    alone = found.results()
    assert alone.held_out == () == alone.transfers
    assert alone.to_dict()["recordings"] == ["a"]


@needs_rosbags
def test_the_command_tells_what_transfers(tmp_path, capsys):
    (tmp_path / "arm.yaml").write_text(to_yaml(PLAIN))
    for seed, (robot, name) in enumerate((("one", "a"), ("one", "b"), ("two", "c")), start=1):
        true = rubbing(loaded(TRUE, FRAME) if name == "b" else TRUE, *ROBOTS[robot])
        stamps, numbers = measured(true, seed, duration=20.0, base=0.1 + 0.01 * seed)
        said = [Message(int(stamp), PLAIN.joint_names, *rows) for stamp, rows in zip(stamps, numbers)]
        (tmp_path / "bags" / robot).mkdir(parents=True, exist_ok=True)
        write_ros2(tmp_path / "bags" / robot / name, Content({"/joint_states": said}))
    command = ["replay", str(tmp_path / "bags"), "--urdf", str(tmp_path / "arm.yaml"), "--together", "--cutoff", "10"]
    assert main([*command, "--load", f"one/b:{FRAME}", "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "friction of the robot" in shown and "friction of other robots" in shown and "1.2" in shown
    found = json.loads((tmp_path / "out" / "together.json").read_text())
    assert found["recordings"] == ["one/a", "one/b", "two/c"]
    assert found["loads"][0]["mass"]["value"] == pytest.approx(LOAD[0], abs=0.1)
    assert main([*command, "--load", f"one/b:{FRAME}=1.2,0.02,-0.03,0.08", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["loads"] == []
    for wrong, reason in (
        ([*command, "--load", f"one/q:{FRAME}"], "no recording named 'one/q'"),
        ([*command, "--load", "one/b:hook"], "hook"),
        ([*command[:4], "--load", f"one/b:{FRAME}"], "--load belongs to --together"),
        (["replay", str(tmp_path / "bags" / "two"), *command[2:]], "at least two recordings"),
    ):
        assert main(wrong) != 0
        assert reason in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "--load", "b"])
    assert "'b' is not BAG[,BAG]:FRAME" in capsys.readouterr().err


def test_a_load_may_name_its_recordings_by_their_paths(tmp_path, monkeypatch):
    recordings = {"one/a": tmp_path / "one" / "a", "b": tmp_path / "b"}
    monkeypatch.chdir(tmp_path)
    given = ("one/a", "b", str(tmp_path / "b"), "./one/a", "two/../b", "c")
    assert names_of(given, recordings) == ("one/a", "b", "b", "one/a", "b", "c")
