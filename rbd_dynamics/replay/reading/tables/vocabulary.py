# SPDX-License-Identifier: Apache-2.0
"""Words of columns: what times, positions, velocities and efforts are called, and their units."""

from __future__ import annotations

import numpy as np

TIME = "time"
#: what columns of each field are called, without a qualifier
WORDS = {
    "position": ("position", "positions", "pos", "angle", "angles", "q", "qpos", "theta"),
    "velocity": (
        "velocity", "velocities", "vel", "speed", "speeds", "v", "qd", "dq", "qvel", "qdot", "q_dot", "dotq", "omega",
    ),
    "effort": (
        "effort", "efforts", "eff", "torque", "torques", "tau", "trq", "force", "moment", "current", "currents",
        "current_as_torque",
    ),
}  # fmt: skip
#: efforts that are no torques: taken only where there are no torques
CURRENTS = ("current", "currents")
#: qualifiers beside such a word that leave it what it is
MEASURED = (
    "actual", "act", "measured", "meas", "msr", "present", "real", "state", "fb", "feedback", "raw", "filtered", "j",
    "current",
)  # fmt: skip
#: and those of what was not measured at the joint
COMMANDED = (
    "desired", "des", "d", "ref", "reference", "target", "tgt", "cmd", "command", "commanded", "goal", "set",
    "setpoint", "sp", "sent", "nominal", "ff", "feedforward",
)  # fmt: skip
DERIVED = (
    "error", "err", "ext", "external", "hat", "max", "min", "limit", "lower", "upper", "std", "var", "cov", "offset",
    "predicted", "pred", "model", "residual", "gravity", "friction", "coriolis", "inertia", "tcp", "tool",
)  # fmt: skip
#: efforts that a controller asked for, which stand in for those of robots that measure none
STAND_INS = ("target_moment",)

#: names of times, the first that is there counts
TIMES = (
    "__time", "header.stamp", "stamp", "timestamp", "time_stamp", "t", "time", "receive time", "elapsed time",
    "duration",
)  # fmt: skip
SECONDS, NANOSECONDS = ("sec", "secs"), ("nanosec", "nanosecs", "nsec", "nsecs")

DEGREE = np.pi / 180.0
#: {unit: factor to s, rad or m, rad/s or m/s, N m or N}
UNITS = {
    TIME: {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    "position": {"rad": 1.0, "deg": DEGREE, "°": DEGREE, "m": 1.0, "mm": 1e-3},
    "velocity": {
        "rad/s": 1.0, "deg/s": DEGREE, "°/s": DEGREE, "rpm": np.pi / 30.0, "m/s": 1.0, "mm/s": 1e-3,
    },
    "effort": {
        "nm": 1.0, "n m": 1.0, "n*m": 1.0, "n·m": 1.0, "n.m": 1.0, "n-m": 1.0, "n": 1.0, "mnm": 1e-3, "knm": 1e3,
        "a": 1.0, "ma": 1e-3,
    },
}  # fmt: skip
#: units by other names
SPELT = {
    "second": "s", "seconds": "s", "millisecond": "ms", "milliseconds": "ms", "microseconds": "us",
    "nanoseconds": "ns", "msec": "ms", "usec": "us", "nsec": "ns", "radian": "rad", "radians": "rad",
    "degree": "deg", "degrees": "deg", "rad/sec": "rad/s", "deg/sec": "deg/s", "degree/s": "deg/s",
    "degrees/s": "deg/s", "rad·s⁻¹": "rad/s", "newton meter": "nm", "newton metre": "nm",
}  # fmt: skip
#: in SI, as a mapping writes it
PLAIN = {TIME: "s", "position": "rad", "velocity": "rad/s", "effort": "Nm"}


def factor_of(field: str, unit: str) -> float | None:
    """The factor to SI; None for a unit that this field does not have."""
    text = " ".join(unit.lower().split())
    return UNITS[field].get(SPELT.get(text, text))


def is_unit(text: str) -> bool:
    """Whether a cell is nothing but a unit of something, in brackets or not."""
    bare = text.strip().strip("[]()").strip()
    return bare in ("", "-", "1") or any(factor_of(field, bare) is not None for field in UNITS)
