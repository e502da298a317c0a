# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured torque: simulated robots whose errors are known, and a real one."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.models.robots import shared_robot
from helpers.paths import RECORDINGS
from helpers.recorded.bags import START, Content, Message, needs_rosbags, write_ros2, write_split

from rbd_dynamics import ModelBuilder, Robot, load_urdf
from rbd_dynamics.control.terms import TERMS, inverse_dynamics_by_term, inverse_dynamics_terms
from rbd_dynamics.model import Model, ModelWarning
from rbd_dynamics.model.joints import Revolute
from rbd_dynamics.replay import Comparison, RecordingError, Settings, compare, predict
from rbd_dynamics.replay.torques.exact import ExactSums

pytestmark = needs_rosbags
NAMES = ("shoulder", "elbow", "wrist")
AXES = ((0.6, 0.0, 0.8), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
RATE = 200.0
SETTINGS = Settings(cutoff=25.0)


def arm(payload: float = 0.0) -> Model:
    builder = ModelBuilder("arm")
    for k, (name, axis) in enumerate(zip(NAMES, AXES)):
        builder.add_body(
            f"link{k}", f"link{k - 1}" if k else None, Revolute(axis), joint_name=name, placement=(0.0, 0.1, 0.3),
            mass=3.0 - k + (payload if k == 2 else 0.0), com=(0.05, 0.02, 0.2), inertia=(0.02, 0, 0, 0.03, 0, 0.02),
            damping=0.5, friction=0.3,
        )  # fmt: skip
    return builder.build()


def trajectory(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    w, phase = np.array([1.0, 1.7, 2.3]), np.array([0.0, 1.0, 2.0])
    x = w * t[:, None] + phase
    return np.sin(x), w * np.cos(x), -(w**2) * np.sin(x)


def recorded(model: Model, terms=("inertia", "coriolis", "gravity"), count=3000, error=0.0, noise=0.0, gain=1.0):
    """Joint states of the robot on its trajectory, with the efforts of these terms, an error and noise."""
    rng = np.random.default_rng(3)
    t = np.arange(count) / RATE
    q, v, a = trajectory(t)
    effort = (
        gain * inverse_dynamics_terms(shared_robot(model), q, v, a, terms) + error + noise * rng.normal(size=q.shape)
    )
    stamps = START + np.rint(t * 1e9).astype(np.int64)
    return [Message(int(s), NAMES, *numbers) for s, *numbers in zip(stamps, q, v, effort)]


def bag(path: Path, messages) -> Path:
    return write_ros2(path, Content({"/joint_states": messages}))


@pytest.fixture(scope="module")
def model() -> Model:
    return arm()


def test_a_perfect_model_leaves_nothing(tmp_path, model):
    found = compare(bag(tmp_path / "bag", recorded(model)), shared_robot(model), settings=SETTINGS)
    for result in found.comparison.results():
        assert result.rmse < 1e-4 * result.measured_rms
        assert result.correlation == pytest.approx(1.0, abs=1e-6)
        assert abs(result.bias) < 1e-4
        assert result.samples == found.log.samples == 3000 - 2 * 16


def test_known_errors_are_found(tmp_path, model):
    """An offset is bias and RMSE; the figures are those of NumPy on all samples."""
    error = np.array([0.5, -2.0, 0.0])
    messages = recorded(model, error=error, noise=0.3, gain=1.1)
    found = compare(bag(tmp_path / "bag", messages), shared_robot(model), settings=SETTINGS)
    parts = list(found.segments)
    tau = np.concatenate([part.tau for part in parts])
    predicted = np.concatenate([predict(shared_robot(model), part, terms=SETTINGS.terms).tau for part in parts])
    motion = (np.concatenate([getattr(part, name) for part in parts]) for name in "qva")
    _, by_term = inverse_dynamics_by_term(shared_robot(model), *motion, SETTINGS.terms)
    for k, result in enumerate(found.comparison.results()):
        residual = tau[:, k] - predicted[:, k]
        assert result.rmse == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-12)
        assert result.nrmse == pytest.approx(np.sqrt(np.mean(residual**2)) / tau[:, k].std(), rel=1e-9)
        assert result.correlation == pytest.approx(np.corrcoef(tau[:, k], predicted[:, k])[0, 1], rel=1e-9)
        assert result.bias == pytest.approx(residual.mean(), rel=1e-9)
        assert result.worst == pytest.approx(np.abs(residual).max(), rel=1e-12)
        assert (result.lowest, result.highest) == (tau[:, k].min(), tau[:, k].max())
        assert result.measured_rms == pytest.approx(np.sqrt(np.mean(tau[:, k] ** 2)), rel=1e-12)
        for term in TERMS:
            assert result.terms[term] == pytest.approx(np.sqrt(np.mean(by_term[term][:, k] ** 2)), rel=1e-9)
        assert result.bias == pytest.approx(error[k] + 0.1 * predicted[:, k].mean(), abs=0.02)
    # of the noise as much is left as is stated
    noise = found.segments.uncertainty().tau
    np.testing.assert_allclose(noise, 0.3 * found.segments.low_pass.noise_gain(), rtol=0.05)


@pytest.mark.parametrize(
    "terms", [("inertia", "coriolis"), ("inertia", "coriolis", "friction"), ("gravity",), ("friction",), TERMS]
)
def test_robots_that_compensate_terms_themselves(tmp_path, model, terms):
    path = bag(tmp_path / "bag", recorded(model, terms))
    settings = Settings(cutoff=25.0, terms=terms)
    matching = compare(path, shared_robot(model), settings=settings).comparison
    other = compare(path, shared_robot(model), settings=SETTINGS).comparison
    assert matching.terms == terms
    for right, wrong in zip(matching.results(), other.results()):
        # Coulomb friction jumps where a joint turns round, which no filter passes
        assert right.nrmse < (0.35 if "friction" in terms else 1e-3)
        assert right.rmse < 0.5 * wrong.rmse or terms == TERMS


@pytest.mark.parametrize("terms", [TERMS, TERMS[:3], TERMS[:2], TERMS[2:], ()])
def test_terms_add_up_to_the_torque(model, terms):
    robot = shared_robot(model)
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 50, 3))
    tau, parts = inverse_dynamics_by_term(robot, q, v, a, terms)
    np.testing.assert_allclose(tau, inverse_dynamics_terms(robot, q, v, a, terms), rtol=1e-12, atol=1e-12)
    for term in TERMS:
        np.testing.assert_allclose(parts[term], inverse_dynamics_terms(robot, q, v, a, [term]), rtol=1e-12, atol=1e-12)
        one = inverse_dynamics_by_term(robot, q[7], v[7], a[7], terms)[1][term]
        np.testing.assert_allclose(one, parts[term][7], rtol=1e-12, atol=1e-12)


def test_dropped_messages_are_not_compared(tmp_path, model):
    messages = [message for k, message in enumerate(recorded(model)) if k % 100 != 50]
    found = compare(bag(tmp_path / "bag", messages), shared_robot(model), settings=SETTINGS)
    assert found.log.events == {"dropped messages": 30}
    assert {result.samples for result in found.comparison.results()} == {found.log.samples - 30}


@pytest.mark.parametrize("efforts", [(5.0, 0.0, 1.0), (5.1, 0.0, 1.3), (0.1, 1e-3, 87.3), (-7.7, 12.34567, -3.3)])
def test_constant_torque_has_no_correlation(tmp_path, model, efforts):
    """Whatever rounding leaves of its variance; what varies by a thousandth has one."""
    recording = recorded(model)
    messages = [Message(m.stamp, m.names, m.position, m.velocity, efforts) for m in recording]
    for result in compare(bag(tmp_path / "bag", messages), shared_robot(model), settings=SETTINGS).comparison.results():
        assert np.isnan(result.nrmse) and np.isnan(result.correlation)
        assert np.isfinite(result.rmse)
    messages = [
        Message(m.stamp, m.names, m.position, m.velocity, [87.3 * (1.0 + 1e-3 * np.sin(0.02 * k))] * 3)
        for k, m in enumerate(recording)
    ]
    for result in compare(
        bag(tmp_path / "other", messages), shared_robot(model), settings=SETTINGS
    ).comparison.results():
        assert result.nrmse > 1.0 and abs(result.correlation) <= 1.0


def test_merging_is_exact_in_any_order_and_grouping(tmp_path, model):
    """Parts of a run merged in any way, also by way of JSON and pickle, give the same bits."""
    path = bag(tmp_path / "bag", recorded(model, noise=0.5))
    settings = Settings(cutoff=25.0, block=100)
    robot = shared_robot(model)
    whole = compare(path, robot, settings=settings).comparison
    parts = []
    for segment in compare(path, robot, settings=settings).segments:
        parts.append(Comparison(NAMES, settings.terms))
        parts[-1].add(segment, predict(robot, segment, terms=settings.terms))
    assert len(parts) > 10
    rng = np.random.default_rng(0)
    for _ in range(5):
        heap = [copy.deepcopy(parts[k]) for k in rng.permutation(len(parts))]
        while len(heap) > 1:
            first, second = heap.pop(rng.integers(len(heap))), heap.pop(0)
            second = pickle.loads(pickle.dumps(second))
            first.merge(Comparison.from_dict(json.loads(json.dumps(second.to_dict()))))
            heap.append(first)
        assert heap[0].to_dict() == whole.to_dict()


def test_many_recordings_merge_into_one(tmp_path, model):
    messages = recorded(model, noise=0.2)
    split = compare(
        write_split(tmp_path / "split", Content({"/joint_states": messages})), shared_robot(model), settings=SETTINGS
    )
    one = compare(bag(tmp_path / "bag", messages), shared_robot(model), settings=SETTINGS)
    assert split.comparison.to_dict() == one.comparison.to_dict()
    one.comparison.merge(split.comparison)
    one.log.merge(split.log)
    assert one.log.messages == 6000
    for once, twice in zip(split.comparison.results(), one.comparison.results()):
        assert twice.samples == 2 * once.samples
        assert twice.rmse == pytest.approx(once.rmse, rel=1e-14)
    with pytest.raises(ValueError, match="cannot merge"):
        one.comparison.merge(Comparison(NAMES, ["gravity"]))


def test_exact_sums_round_once():
    numbers = [1e16, 1.0, -1e16, 1e-17] * 3
    sums = ExactSums((1,))
    for number in numbers:
        sums.add([number])
    assert sums.values[0] == 3.0
    assert ExactSums.from_list(sums.to_list()).values[0] == 3.0
    with pytest.raises(ValueError, match="cannot add"):
        sums.add([np.nan])


def test_what_cannot_be_compared_is_refused(tmp_path, model):
    silent = [Message(m.stamp, m.names, m.position, m.velocity) for m in recorded(model, count=100)]
    path = bag(tmp_path / "bag", silent)
    with pytest.raises(RecordingError, match="no efforts on topic /joint_states"):
        compare(path, shared_robot(model), settings=SETTINGS)
    with pytest.raises(ValueError, match="without friction"):
        compare(path, Robot(model, friction=True), settings=SETTINGS)


def test_progress_is_told(tmp_path, model):
    told: list[float] = []
    compare(
        bag(tmp_path / "bag", recorded(model)), shared_robot(model), settings=Settings(block=500), progress=told.append
    )
    assert told == sorted(told) and len(told) > 3 and told[-1] == 1.0


# --- a real robot -----------------------------------------------------------------------------------------------------

BAG = RECORDINGS / "panda_exciting_trajectory.db3"
#: N m, of another implementation, with all samples to the very ends, where the filter passes noise undamped
PUBLISHED = [0.56, 0.75, 0.36, 0.68, 0.50, 0.33, 0.27]
WITHOUT_HAND = [1.94, 1.84, 2.62]  # of joints 2 to 4


def panda(file: str) -> Robot:
    if not BAG.exists():
        pytest.skip(f"needs {BAG.name} and {file} in {RECORDINGS}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return Robot(load_urdf(RECORDINGS / file))


def test_a_real_panda_is_predicted_as_well_as_elsewhere():
    robot = panda("fer_hand.urdf")
    whole = [result.rmse for result in compare(BAG, robot, settings=Settings(edge=0.0)).comparison.results()]
    np.testing.assert_allclose(whole, PUBLISHED, rtol=0.03)
    settled = compare(BAG, robot)
    assert settled.segments.summary()["cutoff"] == 5.0
    assert (np.array([result.rmse for result in settled.comparison.results()]) < 1.02 * np.array(PUBLISHED)).all()
    assert settled.log.warnings == ["fer_finger_joint1 is not recorded: held at 0, and not compared"]


def test_the_missing_hand_of_a_real_panda_shows():
    results = compare(BAG, panda("fer.urdf")).comparison.results()
    np.testing.assert_allclose([result.rmse for result in results[1:4]], WITHOUT_HAND, rtol=0.03)


def test_friction_explains_more_of_a_real_panda():
    robot = panda("fer_hand.urdf")
    without = compare(BAG, robot).comparison.results()
    with_friction = compare(BAG, robot, settings=Settings(terms=TERMS)).comparison.results()
    assert all(after.rmse < before.rmse for before, after in zip(without, with_friction))


def test_a_missing_load_shows_in_the_joints_that_carry_it(tmp_path, model):
    """As with the real robot's hand, where everything is known: half a kilogram that the model does not have."""
    path = bag(tmp_path / "bag", recorded(arm(payload=0.5), noise=0.05))
    right = compare(path, shared_robot(arm(payload=0.5)), settings=SETTINGS).comparison.results()
    wrong = compare(path, shared_robot(model), settings=SETTINGS).comparison.results()
    for joint, (with_load, without) in enumerate(zip(right, wrong)):
        assert with_load.rmse < 0.05
        assert without.rmse > (10 if joint else 1.5) * with_load.rmse
