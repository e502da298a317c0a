# SPDX-License-Identifier: Apache-2.0
"""A robot and its kernels as they are exported: what all files are written of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rbd_dynamics import __version__
from rbd_dynamics.compiler.precision import DOUBLE, Precision
from rbd_dynamics.export.c_code import CFunction, number
from rbd_dynamics.export.selection import Selected
from rbd_dynamics.model.model import Frame, Model
from rbd_dynamics.robot import Robot


@dataclass(frozen=True)
class Exported:
    """prefix: what names begin with; precision: of all numbers."""

    robot: Robot
    prefix: str
    kernels: Sequence[Selected]
    precision: Precision

    @property
    def model(self) -> Model:
        return self.robot.model

    @property
    def capital(self) -> str:
        return self.prefix.upper()

    @property
    def real(self) -> str:
        """The type of a number."""
        return f"{self.prefix}_real"

    @property
    def origin(self) -> str:
        """Origin of the files, for their first lines."""
        words = ["single precision"] if self.precision is not DOUBLE else []
        words += ["with friction"] if self.robot.friction else []
        name = " ".join(self.model.name.split()).replace("*/", "* /")  # in comments of several languages
        return f"Rigid-body dynamics of {', '.join([name, *words])}. Written by rbd_dynamics {__version__}."

    @property
    def frames(self) -> list[Frame]:
        return [self.model.frame(name) for name in dict.fromkeys(self.model.frame_names)]

    @property
    def has_wrenches(self) -> bool:
        return any(each.name == "wrench_on_body" for each in self.kernels)

    @property
    def needs_fixed_inertia(self) -> bool:
        return any(a.name == "fixed_inertia" for each in self.kernels for a in each.signature.inputs)

    @cached_property
    def functions(self) -> list[CFunction]:
        return [
            CFunction(each.program, f"{self.prefix}_{each.identifier}", self.real, self.precision)
            for each in self.kernels
        ]

    def row(self, values: Iterable[float]) -> str:
        """Literals in braces."""
        return f"{{{', '.join(map(self._literal, values))}}}"

    def _literal(self, value: float) -> str:
        if math.isinf(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        return number(float(value), self.precision)
