# SPDX-License-Identifier: Apache-2.0
"""What the controller that presses takes from the library: numbers of its laws, and the rows of its task."""

from __future__ import annotations

from typing import NamedTuple

from rbd_dynamics.algorithms import joint_speed_bound, reachable_motion
from rbd_dynamics.constraints import DIRECTIONS
from rbd_dynamics.control.hybrid import (
    checks,
    free_reading,
    governor,
    hold,
    placement,
    pressing,
    stability,
    supervisor,
    unknown_load,
)
from rbd_dynamics.control.hybrid.gains import TASK_GAINS, HybridGains
from rbd_dynamics.control.hybrid.touch import approach, contact_sense, contact_watch, letting_go, normal_speed, push
from rbd_dynamics.export.exported import Exported
from rbd_dynamics.export.laws import pressing_task
from rbd_dynamics.export.ros2_control.constants import Numbers, constants_header, declared

#: the header's place
PRESSING_CONSTANTS = "hybrid/pressing_constants.hpp"
_NUMBERS: Numbers = (
    ("approach_ramp", approach.RAMP, "s, in which the speed of an approach is reached"),
    ("approach_stuck", approach.STUCK, "s at the bound of the force"),
    ("free_way", approach.FREE_WAY, "m, after which a reading that has not changed is no contact's"),
    ("free_anyway", approach.FREE_ANYWAY, "m/N of contact_force: softer contacts are not known"),
    ("free_change", approach.FREE_CHANGE, "of contact_force"),
    ("free_smoothing", approach.SMOOTHING, "s, of what is compared"),
    ("held_up", approach.SLOW, "share of the speed: a tool that is slower is held up"),
    ("least_push_rate", approach.LEAST_RATE, "N/s, of the push that is held up"),
    ("pull_of_sensor", approach.PULL, "of contact_force: a reading that has fallen so far is not noise"),
    ("zero_settled", approach.SETTLED, "s, after which the zero is known"),
    ("zero_drift", approach.DRIFT, "of contact_force a second: the zero follows that"),
    ("blow_share", approach.BLOW, "of the joints' velocity limits that a blow may take"),
    ("zero_memory", approach.MEMORY, "s; what counts is the zero of one to two times this ago"),
    ("noise_times", contact_sense.NOISE, "times the noise that is measured: less is no contact"),
    ("noise_slowly", contact_sense.SLOWLY, "s: what changes more slowly is no noise"),
    ("noise_memory", contact_sense.MEMORY, "s, of the noise"),
    ("noise_readings", contact_sense.FEW, "before the noise is known"),
    ("noise_blow", contact_sense.BLOW, "times its square: what touches, and no noise"),
    ("speed_begins", normal_speed.BEGINS, "share of normal_speed, from where on there is less push"),
    ("push_recovery", normal_speed.RECOVERY, "s, in which the push comes back"),
    ("push_recovery_most", normal_speed.LONGEST, "s, likewise, where it came back too soon again and again"),
    ("push_again", normal_speed.AGAIN, "of the recovery: a push that is cut again within it came back too soon"),
    ("speed_growth", normal_speed.GROWTH, "s, over which growth of the speed is averaged"),
    ("normal_braking", normal_speed.BRAKING, "times the normal damping, where nothing is to push"),
    ("roughness", contact_watch.ROUGHNESS, "m"),
    ("aside_time", contact_watch.ASIDE, "s: what is felt aside of a contact that is lost is something else"),
    ("push_cut", contact_watch.CUT, "of the push, and of the wanted force"),
    ("force_steady", push.STEADY, "s, for which no other force was wished for"),
    ("pull_most", push.PULLS, "N: nothing that is pressed pulls"),
    ("sudden", pressing.SUDDEN, "s without contact, after which a tool that moves on approaches anew"),
    ("patience", pressing.PATIENCE, "of contact_timeout: after which one that stands does"),
    ("leaning_share", pressing.LEANS, "of the force: a tool that feels more beside it leans on something"),
    ("leaning_blow", pressing.BLOW, "s, for which a blow, or what it leant on, may have thrown the arm"),
    ("late_swings", pressing.SWINGS, "s, by which efforts come late: the arm swings by them, whatever it leans on"),
    ("impact_time", pressing.IMPACT, "s after contact, in which too large a force is the blow of the approach"),
    ("release_step", letting_go.STEP, "s: in such steps a loss of contact is reckoned ahead"),
    ("release_singular", letting_go.SINGULAR, "of the largest mobility there"),
    ("release_lost", letting_go.LOST, "s: a lost contact goes no farther than normal_speed does in that time"),
    ("release_looks", pressing.LOOKS, "s between two looks at what can be let go"),
    ("friction_looks", pressing.LOOKS_AT_FRICTION, "s, likewise, of what friction holds"),
    ("friction_felt", pressing.FELT, "times what tells contact from none: so much is pressed whatever friction holds"),
    ("friction_kept", letting_go.KEPT, "of how much friction holds, from one look to the next"),
    ("thrown_share", letting_go.THROWN, "of a joint's velocity limit: what friction that lets go may make of it"),
    ("frame_peak_speed", placement.PEAK_SPEED, "of the way of a task frame from rest to rest, in unit time"),
    ("frame_peak_acceleration", placement.PEAK_ACCELERATION, "likewise"),
    ("frame_ramp", placement.PlacementPath.RAMP, "s, in which a task frame may go from rest to its speed"),
    ("frame_usual_speed", governor.USUAL_SPEEDS[0], "m/s, of a task frame on its way, where nothing bounds the task"),
    ("frame_usual_turning", governor.USUAL_SPEEDS[1], "rad/s, likewise"),
    ("frame_least_lever", governor.LEAST_LEVER, "m: so far from it the tool is, at least"),
    ("zero_smoothing", free_reading.SMOOTHING, "s, of the wrench in free motion"),
    ("let_go_time", hold.FADING, "s, in which what leans on something lets go"),
    ("drawn_share", hold.DRAWN, "of the velocity limits: as fast it is drawn to where it is held"),
    ("gathered", hold.GATHERED, "of 1 / hold_damping: it is drawn by what efforts can gather in that time"),
    ("load_most", unknown_load.EFFORT, "of the effort limits: no more is made up for of a load that is not known"),
    ("load_speed", unknown_load.SPEED, "of the velocity limits: joints are as fast where it is gone at once"),
    ("load_growth", unknown_load.GROWTH, "s, in which that much may come"),
    ("load_average", unknown_load.AVERAGE, "share of a cycle in what is known of their period"),
    ("load_steps", unknown_load.STEPS, "of what is known of the period, to twice as long a one"),
    ("load_slack", unknown_load.SLACK, "of a step"),
    ("load_stiffer", stability.STIFFER, "times the stiffness of holding may be added to it"),
    ("load_spare", stability.SPARE, "times the gains are stable"),
    ("half_turn", checks.LARGEST_ANGLE, "rad, of a tool beside the task frame"),
    ("half_turn_slack", checks.ANGLE_SLACK, "rad, beyond it that control may need"),
    ("nearly_singular", checks.NEARLY_SINGULAR, "smallest singular value of the rows at which nothing begins"),
    ("least_singular_value", reachable_motion.STOPPED, "of them, at which a motion ends"),
    ("singular_turn", reachable_motion.LENGTH, "m, that a turn by 1 rad counts as there"),
    ("contact_damping", stability.Plant.contact_damping, "of contacts, share of the critical one, for checks of gains"),
    ("contact_slowest", float(stability.FREQUENCIES[0]), "rad/s: sqrt(stiffness / mass) of a contact"),
    ("contact_fastest", float(stability.FREQUENCIES[-1]), "rad/s"),
    ("stable_slack", stability.SLACK, "of an eigenvalue's size"),
    ("longest_pressing_step", supervisor.LONGEST_STEP, "s, for integrals"),
    ("stopping_time", supervisor.STOPPING * 1e-9, "s, after which what is held is held"),
    ("joint_margin", joint_speed_bound.LIMIT_MARGIN, "rad, m: from where on a joint is kept from its limit"),
)


class PressingGains(NamedTuple):
    """Gains of a tool that presses, and of holding it."""

    kp: float
    kd: float
    task_ki: float
    ki: float
    normal_damping: float
    posture_kp: float
    posture_kd: float
    hold_stiffness: float
    hold_damping: float

    def softer(self, share: float) -> PressingGains:
        """The gains with this share of damping and of integrals, of stiffness its square."""
        return PressingGains(
            *(value * (share**2 if name in _STIFFNESS else share) for name, value in self._asdict().items())
        )

    def are_stable(self, plant: stability.Plant) -> bool:
        """Whether they are stable with what stands between a command and what is felt of it."""
        *task, hold_stiffness, hold_damping = self
        gains = HybridGains(**dict(zip(self._fields, task)))
        return not (
            stability.contact_problem(gains, plant)
            or stability.task_problem(gains, "geometric", plant)
            or stability.hold_problem(hold_stiffness, hold_damping, plant)
        )


_STIFFNESS = ("kp", "posture_kp", "hold_stiffness")
USUAL = PressingGains(*TASK_GAINS["geometric"], 8.0, 5.0, 30.0, 25.0, 10.0, 400.0, 40.0)
#: periods, by which the wrench is late
LATE = 2


def gains_at(rate: float) -> PressingGains:
    """The usual gains, softer where they are not stable at this rate (Hz), a period after each state."""
    plant = stability.Plant(actuator_bandwidth=0.0, state_delay=1.0 / rate, sensor_delay=LATE / rate, period=1.0 / rate)
    softer = (USUAL.softer(10.0 ** (-0.125 * step)) for step in range(65))
    return next((gains for gains in softer if gains.are_stable(plant)), USUAL.softer(1e-9))


def pressing_header(exported: Exported, frame: str) -> str:
    """The header of numbers, in C++, for a tool on a frame."""
    controlled = pressing_task(exported.model, frame)[1].constraints[0].row_names
    places = ", ".join(str(DIRECTIONS.index(direction)) for direction in controlled)
    lines = [
        *declared(exported, _NUMBERS),
        f"constexpr std::size_t contact_frequencies = {len(stability.FREQUENCIES)};  // between these",
        f"constexpr std::size_t release_unseen = {letting_go.UNSEEN};  // steps from a loss of contact to less push",
        f"constexpr std::size_t release_longest = {letting_go.LONGEST};  // steps",
        f"constexpr std::size_t release_halvings = {letting_go.HALVINGS};",
        f"constexpr std::size_t load_halvings = {stability.HALVINGS};",
        "\n// directions along which the tool moves while it presses, of rx, ry, rz, x, y, z",
        f"constexpr std::size_t task_size = {len(controlled)};",
        f"constexpr std::size_t task_direction[task_size] = {{{places}}};",
    ]
    return constants_header(exported, PRESSING_CONSTANTS, "Numbers of its laws for a tool that presses.", lines)
