# SPDX-License-Identifier: Apache-2.0
"""Arms that are held while they carry what the controller does not know of, are pushed by hand, or stand on brakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbd_dynamics.common.example_robots import robots

pytest.importorskip("mujoco")
pytest.importorskip("rclpy")
if "panda" not in robots():
    pytest.skip("needs the arms of example-robot-data", allow_module_level=True)

from campaigns.pressing.arms import ARMS, model_of
from campaigns.pressing.bench import Bench
from campaigns.pressing.cases import Case
from campaigns.pressing.plant import Imperfections
from campaigns.pressing.runs import START
from campaigns.pressing.scene import scene_of

MS = 1_000_000  # ns
ROTORS = {"kinova": 0.0, "panda": 0.0, "ur5": 1e-3}  # with rotors, kg m^2 for each N m


class Held:
    """An arm that is held: positions of its tool (m) and speeds of its joints, of their limits, for each ms."""

    def __init__(self, arm: str, mass: float = 0.0) -> None:
        rotors, self.arm = ROTORS[arm], arm
        given = Imperfections(mass=mass, rotors=rotors)
        scene = scene_of(Case("hold", 0, 0, arm=arm, q=ARMS[arm].q, height=0.5, reach=0.12, imperfect=given))
        self.plant, self.bench = scene.plant, Bench(model_of(arm, 0.8 * rotors), replace(scene.params, hold_load=True))
        self.limits, self.begin = np.array(model_of(arm).velocity_limit), self.plant.position
        self.k, self.away, self.speeds = 0, [], []

    def stay(self, seconds: float, *, brakes: bool = False, off: float = 0.0, push: float = 0.0) -> Held:
        """off: rad, by which brakes let all joints slip as they close. push: N, by hand at the last link but one."""
        plant = self.plant
        plant.model.dof_frictionloss[plant._v] = 1e4 if brakes else 0.0
        plant.data.qpos[plant._q] += off
        hand = plant.model.body_parentid[plant.model.body(ARMS[self.arm].tool).id]
        for _ in range(round(1e3 * seconds)):
            plant.data.xfrc_applied[hand, 2] = push
            answer = self.bench.answer(START + self.k * MS, *plant.read())
            plant.command(plant.tau if answer is None else answer)
            self.k += 1
            self.away.append(float(np.linalg.norm(plant.position - self.begin)))
            self.speeds.append(float((np.abs(plant.state[1]) / self.limits).max()))
        return self


def test_a_load_that_is_not_known_is_held_and_may_fall_off():
    """Half a kilogram on a Kinova without rotors: it sank by 157 mm in 2 s, a joint at 1.05 of its limit."""
    held = Held("kinova", 0.5).stay(2.0)
    assert max(held.away) < 0.05 and held.away[-1] < 0.03 and max(held.speeds) < 0.8
    assert "moved" not in held.bench.reason
    held.plant.load(0.0)
    held.stay(1.0)
    assert max(held.speeds) < 1.0 and held.away[-1] < 1e-3 and max(held.speeds[-100:]) < 0.01


def test_an_arm_with_rotors_is_held_where_it_is():
    """A UR5 sank by 3.3 mm."""
    held = Held("ur5", 0.5).stay(1.0)
    assert held.away[-1] < 1e-3 and max(held.speeds) < 0.02


@pytest.mark.parametrize("arm", ["kinova", "panda"])
def test_what_brakes_hold_adds_nothing_up(arm):
    """They closed 1 mrad from where it is held: once they open, it goes there slowly."""
    held = Held(arm).stay(0.1).stay(2.0, brakes=True, off=1e-3)
    held.speeds.clear()
    held.stay(0.5)
    assert max(held.speeds) < 0.02 and held.away[-1] < 1e-4


@pytest.mark.parametrize("arm, push", [("kinova", -10.0), ("panda", 20.0), ("panda", -40.0)])
def test_an_arm_that_was_pushed_by_hand_comes_back_gently(arm, push):
    """A Kinova was pushed away by 0.24 m and held there."""
    held = Held(arm).stay(0.1).stay(1.0, push=push)
    assert max(held.away) < 0.06
    held.speeds.clear()
    held.stay(0.7)
    assert max(held.speeds) < 0.8 and held.away[-1] < 1e-3
