# SPDX-License-Identifier: Apache-2.0
"""Each public method of Robot against simpler ones, whatever its joints are."""

from __future__ import annotations

from collections.abc import Callable

from helpers.checks.robot_methods import of_constraints, of_derivatives, of_dynamics
from helpers.checks.robot_methods.state import State

CHECKS: dict[str, Callable[[State], None]] = {
    name.removeprefix("check_"): check
    for module in (of_dynamics, of_derivatives, of_constraints)
    for name, check in vars(module).items()
    if name.startswith("check_")
}
