# SPDX-License-Identifier: Apache-2.0
"""What a replay's page is made of, as little as there can be."""

from __future__ import annotations


def summary_of(names, **more):
    """As little as a summary can have."""
    joint = {
        "rmse": 1.0,
        "nrmse": 0.5,
        "correlation": None,
        "bias": 0.0,
        "worst": 3.0,
        "measured_rms": 2.0,
        "unit": "N m",
    }
    return {
        "rbd_dynamics": "1", "created": "now", "settings": {}, "warnings": [], "events": {},
        "robot": {"name": "arm", "joints": names, "mass": 3.0},
        "recording": {"recording": "run", "topic": "/x", "messages": 5, "duration": 1.0, "samples_per_second": 9.0,
                      "cutoff": 5.0},
        "joints": [{"name": name, **joint} for name in names], **more,
    }  # fmt: skip
