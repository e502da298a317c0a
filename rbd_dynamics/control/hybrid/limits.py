# SPDX-License-Identifier: Apache-2.0
"""Limits at which hybrid position/force control has to stop, and how gently it begins."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True)
class HybridLimits:
    """Limits at which to stop, and how gently to begin.

    sensor_timeout, state_timeout: s without a wrench or a joint state. contact_force: N; a reading that has risen by it
    for contact_debounce s is contact, less than it for contact_timeout s is lost contact. largest_force: N or N m, of
    any multiplier. largest_side_force: N, of what the tool feels besides, as friction or a wall; 0: as largest_force.
    largest_moment: N m, likewise, about the tool's point. largest_power: W, that the tool may do on what it touches.
    normal_speed: m/s, into a surface, while pressing: the force gives way before; 0: any.
    constraint_tolerance: m or rad by which the constraints may seem violated before contact;
    press_tolerance: while pressing, where a surface may give, or be tilted. reach: m or rad, of any task row.
    force_rate: N/s at which the wanted force is approached. approach_speed: m/s towards a surface that is not touched
    yet; 0: not allowed. approach_force (N, against errors of the model), approach_distance (m), approach_timeout (s):
    bounds of that. tare: what the sensor reads in free motion, on the way to the surface, is its zero.
    hold_stiffness, hold_damping: 1/s^2 and 1/s, of holding. hold_tolerance: rad or m; a joint that is farther from
    where it is held is held where it is then; 0: it is drawn back from anywhere. hold_load: what acts on the held arm
    beside the model is made up for (`UnknownLoad`).
    """

    _: KW_ONLY
    sensor_timeout: float = 0.05
    state_timeout: float = 0.1
    contact_force: float = 1.0
    contact_debounce: float = 0.005
    contact_timeout: float = 0.1
    largest_force: float = 50.0
    largest_side_force: float = 0.0
    largest_moment: float = 10.0
    largest_power: float = 20.0
    normal_speed: float = 0.05
    constraint_tolerance: float = 0.01
    press_tolerance: float = 0.03
    reach: float = 0.5
    force_rate: float = 20.0
    approach_speed: float = 0.01
    approach_force: float = 20.0
    approach_distance: float = 0.1
    approach_timeout: float = 30.0
    tare: bool = True
    hold_stiffness: float = 400.0
    hold_damping: float = 40.0
    hold_tolerance: float = 0.2
    hold_load: bool = False
